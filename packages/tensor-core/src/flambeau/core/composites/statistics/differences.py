"""Areas under samples, and their slopes."""
from flambeau.core import _core
from flambeau.core.composites.shape.shapes import _wrap
from flambeau.core.composites.statistics.moments import _default_float, _is_integral

_op = _core.operators()


def _pairs(y, dim):
    """Elements with a neighbour before, and with one after."""
    size = y.shape[dim]
    count = max(size - 1, 0)
    return _op["narrow"](y, dim, min(size, 1), count), _op["narrow"](y, dim, 0, count)


def _steps(y, x, dim, what):
    """Distances of points, shaped to go along a dimension of the values."""
    if x.ndim == 0:
        raise RuntimeError(f"{what}(): x must have at least one dimension")
    if x.ndim == 1:
        if x.shape[0] != y.shape[dim]:
            raise RuntimeError(f"{what}(): there must be one x value for each sample point, got "
                               f"{x.shape[0]} for shape {list(y.shape)} along dim {dim}")
        step = _op["diff"](x)
        return _op["reshape"](step, [-1] + [1] * (y.ndim - 1 - dim))
    if x.ndim < y.ndim:
        x = _op["reshape"](x, [1] * (y.ndim - x.ndim) + list(x.shape))
    return _op["diff"](x, 1, dim - y.ndim)


def _areas(y, x, dim, what):
    if y.ndim == 0:
        raise RuntimeError(f"{what}(): y must have at least one dimension")
    if _core._dtype_named("bool") in (y.dtype, x.dtype):
        raise RuntimeError(f"{what}(): received a bool input; write y.int() first")
    dim = _wrap(dim, y.ndim, what)
    high, low = _pairs(y, dim)
    return _op["mul"](_op["add"](high, low), _steps(y, x, dim, what)), dim


def trapezoid__x(y, x, dim):
    if y.ndim and y.shape[_wrap(dim, y.ndim, "trapezoid")] == 0:
        return _op["sum"](y, dim)
    areas, dim = _areas(y, x, dim, "trapezoid")
    return _op["div"](_op["sum"](areas, dim), 2)


def cumulative_trapezoid__x(y, x, dim):
    areas, dim = _areas(y, x, dim, "cumulative_trapezoid")
    return _op["div"](_op["cumsum"](areas, dim), 2)


def gradient(x, spacing, dim, edge_order):
    dims = range(x.ndim) if dim is None else [_wrap(d, x.ndim, "gradient") for d in dim]
    if edge_order not in (1, 2):
        raise RuntimeError(f"gradient(): only supports edge_order=1 and edge_order=2, got "
                           f"{edge_order}")
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"gradient(): dim {list(dims)} names a dimension twice")
    if _is_integral(x):
        x = _default_float(x)
    steps = _spacings(1 if spacing is None else spacing, len(dims))
    return tuple([_slope(x, d, step, edge_order) for d, step in zip(dims, steps, strict=True)])


def _spacings(spacing, count):
    """A number or a tensor of coordinates for each dimension."""
    if not isinstance(spacing, (tuple, list)):
        if isinstance(spacing, _core.Tensor) and spacing.ndim and count != 1:
            raise RuntimeError("gradient(): one tensor of coordinates is given for several "
                               "dimensions; give a list with one tensor for each")
        return [spacing] * count
    if len(spacing) != count:
        raise RuntimeError(f"gradient(): expected spacing to be unspecified, a scalar or a list "
                           f"of length {count}, but got a list of length {len(spacing)}")
    return list(spacing)


def _slope(x, dim, step, edge_order):
    """Second-order differences inside, of the order asked for at both ends."""
    size = x.shape[dim]
    if size < edge_order + 1:
        raise RuntimeError(f"gradient(): expected each dimension size to be at least "
                           f"edge_order+1 = {edge_order + 1}, but dimension {dim} of shape "
                           f"{list(x.shape)} has {size}")
    if isinstance(step, _core.Tensor) and step.ndim:
        if step.ndim != 1 or step.shape[0] != size:
            raise RuntimeError(f"gradient(): expected one coordinate for each of the {size} "
                               f"points along dimension {dim}, got shape {list(step.shape)}")
        gaps = _op["reshape"](_op["diff"](step), [-1] + [1] * (x.ndim - 1 - dim))
    else:
        gaps = None

    def at(first, count=1):
        return _op["narrow"](x, dim, first, count)

    def gap(first, count=1):
        return step if gaps is None else _op["narrow"](gaps, -x.ndim + dim, first, count)

    parts = [_edge(at, gap, edge_order, False, size)]
    if size > 2:
        parts.append(_inner(at, gap, size))
    parts.append(_edge(at, gap, edge_order, True, size))
    return _op["cat"](parts, dim)


def _inner(at, gap, size):
    """Weighted differences of the neighbours, exact for parabolas."""
    n = size - 2
    before, after = gap(0, n), gap(1, n)
    if before is after:
        return _op["div"](_op["sub"](at(2, n), at(0, n)), before * 2)
    both = before + after
    left = _op["mul"](at(0, n), -after / (before * both))
    middle = _op["mul"](at(1, n), (after - before) / (before * after))
    right = _op["mul"](at(2, n), before / (after * both))
    return _op["add"](_op["add"](left, middle), right)


def _edge(at, gap, order, at_end, size):
    """One-sided differences at an end."""
    if order == 1:
        i = size - 2 if at_end else 0
        return _op["div"](_op["sub"](at(i + 1), at(i)), gap(i))
    i = size - 3 if at_end else 0
    one, two = gap(i), gap(i + 1)
    both = one + two
    if at_end:
        weights = (two / (one * both), -both / (one * two), (2 * two + one) / (two * both))
    else:
        weights = (-(2 * one + two) / (one * both), both / (one * two), -one / (two * both))
    terms = [_op["mul"](at(i + k), w) for k, w in enumerate(weights)]
    return _op["add"](_op["add"](terms[0], terms[1]), terms[2])
