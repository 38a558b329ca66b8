"""Composite operators of statistics and norms."""
from flambeau.core import _core
from flambeau.core.composites._halves import in_float32, is_half, rounded
from flambeau.core.composites.shape.shapes import _wrap

_op = _core.operators()


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
