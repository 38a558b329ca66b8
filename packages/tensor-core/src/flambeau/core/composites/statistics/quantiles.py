"""Quantiles: elements of sorted lines, and what lies between them."""
from flambeau.core import _core
from flambeau.core.composites.shape.shapes import _wrap

_op = _core.operators()
_PARTIAL = ("lower", "higher", "midpoint", "nearest", "linear")


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
    long = _core._dtype_named("int64")
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
