"""Composite operators of statistics, norms, quantiles, differences and integrals."""
from flambeau.core import _core
from flambeau.core.composites._halves import in_float32, is_half, rounded
from flambeau.core.composites.shape.shapes import _wrap

_op = _core.operators()
_PARTIAL = ("lower", "higher", "midpoint", "nearest", "linear")


def _dtype(name):
    return _core._dtype_named(name)


def _is_integral(x):
    """Whether elements are integers or bools."""
    return not x.is_floating_point() and not x.is_complex()


def _default_float(x):
    """The tensor in a dtype that can hold fractions."""
    return _op["cast"](x, _core.get_default_dtype()) if _is_integral(x) else x


# ---- moments -----------------------------------------------------------------------------------
def var__unbiased(x, unbiased):
    return _op["var"](x, None, correction=int(unbiased))


def var__dim(x, dim, unbiased, keepdim):
    return _op["var"](x, dim, correction=int(unbiased), keepdim=keepdim)


def std__unbiased(x, unbiased):
    return _op["std"](x, None, correction=int(unbiased))


def std__dim(x, dim, unbiased, keepdim):
    return _op["std"](x, dim, correction=int(unbiased), keepdim=keepdim)


def var_mean__unbiased(x, unbiased):
    return _op["var_mean"](x, None, correction=int(unbiased))


def var_mean__dim(x, dim, unbiased, keepdim):
    return _op["var_mean"](x, dim, correction=int(unbiased), keepdim=keepdim)


def std_mean__unbiased(x, unbiased):
    return _op["std_mean"](x, None, correction=int(unbiased))


def std_mean__dim(x, dim, unbiased, keepdim):
    return _op["std_mean"](x, dim, correction=int(unbiased), keepdim=keepdim)


def nanmean(x, dim, keepdim, dtype):
    if _is_integral(x) and (dtype is None or not dtype.is_floating_point):
        raise RuntimeError(f"nanmean(): expected input to have floating point dtype but got "
                           f"{x.dtype}; write x.float() first")
    if x.is_complex():
        numbers = _op["eq"](x, x)
        total = _op["sum"](_op["where"](numbers, x, 0), dim, keepdim, dtype=dtype)
        return _op["div"](total, _op["sum"](numbers, dim, keepdim))
    count = _op["sum"](_op["eq"](x, x), dim, keepdim)
    own = x.dtype if dtype is None else dtype
    wide = _dtype("float32") if is_half(x) and own.itemsize == 2 else dtype
    return rounded(_op["div"](_op["nansum"](x, dim, keepdim, dtype=wide), count), own)


def _check_weights(name, weights, observations, is_integral):
    if weights.ndim > 1 or weights.numel() != observations:
        raise RuntimeError(f"cov(): {name} must be a vector of {observations} numbers, one for "
                           f"each observation, but has shape {list(weights.shape)}")
    if _is_integral(weights) != is_integral:
        kind = "an integer" if is_integral else "a floating"
        raise RuntimeError(f"cov(): {name} must have {kind} dtype, not {weights.dtype}")
    if _core.may_read(weights) and _op["any"](_op["lt"](weights, 0)).item():
        raise RuntimeError(f"cov(): {name} cannot be negative, but the least is "
                           f"{_op['amin'](weights).item()}: a weight counts how often, or how "
                           "much, an observation is seen")


def _weights(fweights, aweights):
    if fweights is None or aweights is None:
        return aweights if fweights is None else fweights
    return _op["mul"](fweights, aweights)


@in_float32
def cov(x, correction, fweights, aweights):
    if x.ndim > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an "
                           f"input with {x.ndim} dimensions (shape {list(x.shape)})")
    if x.dtype is _dtype("bool"):
        raise RuntimeError("cov(): bool dtype is not supported for input; write x.int() first")
    x = _op["reshape"](x, (1, -1)) if x.ndim < 2 else x
    count = x.shape[1]
    for name, weights, is_integral in (("fweights", fweights, True), ("aweights", aweights, False)):
        if weights is not None:
            _check_weights(name, weights, count, is_integral)
    w = _weights(fweights, aweights)
    if w is None:
        norm = max(count - correction, 0)
        x = _op["sub"](x, _mean_or_nan(x, count))
        product = _op["matmul"](x, _conjugate(_op["t"](x)))
    else:
        total = _op["sum"](w)
        x = _op["sub"](x, _op["div"](_op["sum"](_op["mul"](x, w), 1, True), total))
        product = _op["matmul"](_op["mul"](x, w), _conjugate(_op["t"](x)))
        norm = _op["clamp_min"](_weight_norm(total, correction, fweights, aweights, w), 0)
    return _op["squeeze"](_op["div"](product, norm))


def _mean_or_nan(x, count):
    x = _default_float(x)
    return _op["div"](_op["sum"](x, 1, True), count)


def _weight_norm(total, correction, fweights, aweights, w):
    if aweights is None or correction == 0:
        return _op["sub"](total, correction)
    squares = _op["sum"](_op["mul"](w, aweights))
    return _op["sub"](total, _op["mul"](_op["div"](squares, total), correction))


def _conjugate(x):
    return _op["conj"](x) if x.is_complex() else x


@in_float32
def corrcoef(x):
    if x.ndim > 2:
        raise RuntimeError(f"corrcoef(): expected input to have two or fewer dimensions but got "
                           f"an input with {x.ndim} dimensions (shape {list(x.shape)})")
    c = cov(x, 1, None, None)
    if c.ndim == 0:
        return _op["div"](c, c)
    diagonal = _op["diagonal"](c)
    spread = _op["sqrt"](_op["real_part"](diagonal) if c.is_complex() else diagonal)
    c = _op["div"](_op["div"](c, _op["unsqueeze"](spread, 1)), _op["unsqueeze"](spread, 0))
    if not c.is_complex():
        return _op["clamp_both"](c, -1, 1)
    pair = _op["clamp_both"](_op["view_as_real"](c), -1, 1)
    return _op["view_as_complex"](pair)


# ---- counts and extremes -----------------------------------------------------------------------
# ---- norms and distances -----------------------------------------------------------------------
def norm(x, p, dim, keepdim, dtype):
    """``sum(|x|^p)^(1/p)``; the Euclidean norm for ``'fro'`` and None."""
    if isinstance(p, str):
        if p == "nuc":
            return _nuclear(x if dtype is None else x.to(dtype), dim, keepdim)
        if p != "fro":
            raise RuntimeError(f"norm(): p must be a number, 'fro' or 'nuc', got {p!r}")
        p = 2
    if _is_integral(x) and dtype is None:
        raise RuntimeError(f"norm(): expected a floating point or complex tensor as input. Got "
                           f"{x.dtype}; write x.float() first, or give dtype=")
    return _op["norm_of"](x if dtype is None else x.to(dtype), 2 if p is None else float(p), dim,
                          keepdim)


def _nuclear(x, dim, keepdim):
    dims = tuple(range(x.ndim)) if dim is None else tuple(dim)
    if len(dims) != 2:
        raise RuntimeError(f"norm(): the nuclear norm is one of matrices: dim must name two "
                           f"dimensions, got {list(dims)} for shape {list(x.shape)}")
    rows, cols = (_wrap(d, x.ndim, "norm") for d in dims)
    rest = [d for d in range(x.ndim) if d not in (rows, cols)]
    values = _core.namespaces["linalg"]["svdvals"](_op["permute"](x, [*rest, rows, cols]))
    result = _op["sum"](values, -1)
    for d in sorted((rows, cols)) if keepdim else ():
        result = _op["unsqueeze"](result, d)
    return result


def dist(x, other, p):
    return _op["norm_of"](_op["sub"](x, other), float(p))


def renorm(x, p, dim, maxnorm):
    if isinstance(p, complex) or p <= 0:
        raise RuntimeError(f"renorm(): p must be a positive number, got {p}")
    if isinstance(maxnorm, complex) or maxnorm < 0:
        raise RuntimeError(f"renorm(): expected maxnorm to be >= 0 but got {maxnorm}")
    if x.ndim < 2:
        raise RuntimeError(f"renorm(): expected at least two dimensions, got shape "
                           f"{list(x.shape)}")
    dim = _wrap(dim, x.ndim, "renorm")
    size = _op["norm_of"](x, float(p), [d for d in range(x.ndim) if d != dim], True)
    factor = _op["where"](_op["gt"](size, maxnorm),
                          _op["div"](maxnorm, _op["add"](size, 1e-7)), 1.0)
    return _op["mul"](x, factor)


# ---- quantiles ---------------------------------------------------------------------------------
def quantile(x, q, dim, keepdim, interpolation):
    return _quantile("quantile", x, q, dim, keepdim, interpolation, False)


def nanquantile(x, q, dim, keepdim, interpolation):
    return _quantile("nanquantile", x, q, dim, keepdim, interpolation, True)


def _quantile_argument(what, x, q):
    if isinstance(q, _core.Tensor):
        if q.dtype is not x.dtype:
            raise RuntimeError(f"{what}(): q tensor must be same dtype as the input tensor "
                               f"({x.dtype}), not {q.dtype}")
        if q.ndim > 1:
            raise RuntimeError(f"{what}(): q must be a scalar or 1D tensor, got shape "
                               f"{list(q.shape)}")
        inside = _op["logical_and"](_op["ge"](q, 0), _op["le"](q, 1))
        if _core.may_read(q) and not _op["all"](inside).item():
            raise RuntimeError(f"{what}(): q values must be in the range [0, 1], got {q}")
        # Where it is traced, no element is found at the rank of what is outside.
        return _op["where"](inside, q, float("nan"))
    if not 0 <= q <= 1:
        raise RuntimeError(f"{what}(): q must be in the range [0, 1] but got {q}")
    return _op["full_of"]((), q, dtype=x.dtype, device=x.device)


def _quantile(what, x, q, dim, keepdim, interpolation, pass_nan):
    if x.dtype.name not in ("float32", "float64"):
        raise RuntimeError(f"{what}(): input tensor must be either float or double dtype, got "
                           f"{x.dtype}; write x.float() first")
    if interpolation not in _PARTIAL:
        raise RuntimeError(f"{what}(): interpolation must be one of linear, lower, higher, "
                           f"midpoint or nearest, but got {interpolation!r}")
    if x.numel() == 0:
        raise RuntimeError(f"{what}(): input tensor must be non-empty, got shape "
                           f"{list(x.shape)}")
    q = _quantile_argument(what, x, q)
    kept = [1] * x.ndim if dim is None else list(x.shape)
    if dim is None:
        line = _op["reshape"](x, (-1,))
    else:
        dim = _wrap(dim, x.ndim, what)
        if x.ndim:
            kept[dim] = 1
        line = _op["transpose"](_op["unsqueeze"](x, -1), dim, -1) if x.ndim else \
            _op["reshape"](x, (1,))
    values = _at_quantiles(_op["sort"](line, -1)[0], q, interpolation, pass_nan)
    values = _op["movedim"](values, -1, 0) if values.ndim > 1 else values
    if x.ndim == 0 or dim is None or keepdim:
        shape = kept if keepdim else []
    else:
        shape = [n for i, n in enumerate(x.shape) if i != dim]
    return _op["reshape"](values, [*q.shape, *shape])


def _at_quantiles(line, q, interpolation, pass_nan):
    """Elements of sorted lines [..., n] at quantiles, as [..., number of q]."""
    ranks = _quantile_ranks(line, q, pass_nan)
    long = _dtype("int64")
    if interpolation in ("lower", "higher", "nearest"):
        ranks = _op[{"lower": "floor", "higher": "ceil", "nearest": "round"}[interpolation]](ranks)
        return _op["gather"](line, -1, _op["cast"](ranks, long))
    below = _op["floor"](ranks)
    low = _op["gather"](line, -1, _op["cast"](below, long))
    high = _op["gather"](line, -1, _op["cast"](_op["ceil"](ranks), long))
    weight = 0.5 if interpolation == "midpoint" else _op["sub"](ranks, below)
    return _op["lerp"](low, high, weight)


def _quantile_ranks(line, q, pass_nan):
    """Positions in a sorted line; NaN lies at its end."""
    last = line.shape[-1] - 1
    q = _op["reshape"](q, (-1,))
    if pass_nan:
        numbers = _op["sum"](_op["logical_not"](_op["isnan"](line)), -1, True)
        ranks = _op["mul"](q, _op["cast"](_op["sub"](numbers, 1), line.dtype))
        return _op["clamp_min"](ranks, 0)
    odd = _op["isnan"](_op["narrow"](line, -1, last, 1))
    return _op["where"](odd, float(last), _op["mul"](q, float(last)))


# ---- differences and integrals -----------------------------------------------------------------
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
    if y.dtype is _dtype("bool") or x.dtype is _dtype("bool"):
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
