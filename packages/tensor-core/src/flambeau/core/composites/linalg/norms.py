"""Composite operators of norms and distances.

Where a norm is zero its gradient is zero too: a value that would make it infinite is replaced
by another before the root is taken, and the result masked.
"""
from math import prod

from flambeau.core import _core
from flambeau.core.composites.shape.joins import broadcast_shape

_op = _core.operators()
_INF = float("inf")


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _expect_floating(what, x):
    if not x.is_floating_point() and not x.is_complex():
        raise RuntimeError(f"{what}: Expected a floating point or complex tensor as input. Got "
                           f"{x.dtype}; convert it with x.float()")


def _in_dtype(what, x, dtype):
    """Computed in another dtype: at least as wide, and complex if the input is."""
    if dtype is None or dtype is x.dtype:
        return x
    if dtype.is_complex != x.is_complex():
        raise RuntimeError(f"{what}: dtype should be {'complex' if x.is_complex() else 'real'} for "
                           f"{x.dtype} input, got {dtype}")
    return _op["cast"](x, dtype)


# ---- vectors -----------------------------------------------------------------------------------
def _safe_root(total, exponent):
    """``total ** exponent``, with gradient zero where it is zero."""
    zero = _op["eq"](total, 0)
    inside = _op["where"](zero, 1, total)
    root = _op["sqrt"](inside) if exponent == 0.5 else _op["pow"](inside, exponent)
    return _op["where"](zero, 0 if exponent > 0 else _INF, root)


def _powers(size, p):
    """``size ** p``, with gradient zero where it would be infinite."""
    if p > 1:
        return _op["pow"](size, p)
    zero = _op["eq"](size, 0)
    power = _op["pow"](_op["where"](zero, 1, size), p)
    return _op["where"](zero, 0 if p > 0 else _INF, power)


def _count(x, dim, keepdim):
    """How many elements are not zero; its gradient is zero."""
    size = _op["abs"](x)
    flat = _op["mul"](_op["sign"](size), 0)
    return _op["sum"](_op["add"](_op["cast"](_op["ne"](x, 0), size.dtype), flat), dim, keepdim)


def _squares(x):
    """``|x|^2``"""
    if not x.is_complex():
        return _op["square"](x)
    parts = _op["square"](_op["view_as_real"](x))
    return _op["sum"](parts, -1)


def _euclidean(x, dim, keepdim):
    return _safe_root(_op["sum"](_squares(x), dim, keepdim), 0.5)


def _vector_norm(x, p, dim, keepdim):
    if p not in (0, _INF, -_INF):
        if _reduces_ones(x, dim):     # as exact as the element, however large
            return _op["amax"](_op["abs"](x), dim, keepdim)
        if x.dtype.name in ("float16", "bfloat16"):
            return _op["norm_of"](x, float(p), dim, keepdim)    # powers and sums in double
    if p == 2 and not x.is_complex():
        return _op["norm_of"](x, 2.0, dim, keepdim)
    if p == 2:
        return _euclidean(x, dim, keepdim)
    if p == 0:
        return _count(x, dim, keepdim)
    size = _op["abs"](x)
    if p == _INF:
        return _op["amax"](size, dim, keepdim)
    if p == -_INF:
        return _op["amin"](size, dim, keepdim)
    if p == 1:
        return _op["sum"](size, dim, keepdim)
    return _safe_root(_op["sum"](_powers(size, p), dim, keepdim), 1.0 / p)


def _reduces_ones(x, dim):
    """Whether each result is made of one element."""
    if dim is None:
        return x.numel() == 1
    shape = x.shape
    return all(shape[d] == 1 for d in ((dim,) if isinstance(dim, int) else dim))


def linalg_vector_norm(x, ord, dim, keepdim, dtype):
    what = "linalg.vector_norm"
    _expect_floating(what, x)
    x = _in_dtype(what, x, dtype)
    dims = None if dim is None or len(dim) == 0 else _distinct_dims(what, x, dim)
    if x.numel() == 0 and (ord < 0 or ord == _INF) and _reduces_nothing(x, dims):
        raise RuntimeError(f"{what} cannot compute the {ord} norm on an empty tensor because the "
                           "operation does not have an identity")
    if x.ndim == 0:
        dims = None
    return _vector_norm(x, ord, dims, keepdim)


def _distinct_dims(what, x, dim):
    """Dimensions counted from 0."""
    n = max(x.ndim, 1)
    for d in dim:
        if not -n <= d < n:
            raise IndexError(f"{what}: Dimension out of range (expected to be in range of "
                             f"[{-n}, {n - 1}], but got {d})")
    dims = [d % n for d in dim]
    if len(set(dims)) < len(dims):
        raise RuntimeError(f"{what}: dim {list(dim)} names a dimension twice; name each once")
    return dims


def _reduces_nothing(x, dims):
    return dims is None or any(x.shape[d] == 0 for d in dims)


# ---- matrices ----------------------------------------------------------------------------------
def _matrix_dims(what, x, dim):
    if len(dim) != 2:
        raise RuntimeError(f"{what}: dim must be a 2-tuple, got {tuple(dim)}")
    if x.ndim < 2:
        raise RuntimeError(f"{what}: The input tensor A must have at least 2 dimensions, got shape "
                           f"{list(x.shape)}")
    first, second = (d + x.ndim if d < 0 else d for d in dim)
    for given, d in zip(dim, (first, second), strict=True):
        if not 0 <= d < x.ndim:
            raise IndexError(f"{what}: Dimension out of range (expected to be in range of "
                             f"[{-x.ndim}, {x.ndim - 1}], but got {given})")
    if first == second:
        raise RuntimeError(f"{what}: dims must be different. Got {tuple(dim)}")
    return first, second


def _matrix_norm(what, x, ord, dim, keepdim):
    first, second = _matrix_dims(what, x, dim)
    if ord == "fro":
        return _vector_norm(x, 2, (first, second), keepdim)
    if ord == "nuc" or (_is_number(ord) and abs(ord) == 2):
        values = _op["linalg_svdvals"](_op["movedim"](x, (first, second), (-2, -1)))
        if ord == "nuc":
            result = _op["sum"](values, -1)
        else:
            result = _extreme(what, x, values, ord, -1, False)
        return _restore(result, first, second) if keepdim else result
    if not _is_number(ord) or abs(ord) not in (1, _INF):
        raise RuntimeError(f"{what}: Order {ord!r} not supported; it is 'fro', 'nuc', 1, -1, 2, "
                           "-2, inf or -inf")
    summed, compared = (first, second) if abs(ord) == 1 else (second, first)
    sums = _op["sum"](_op["abs"](x), summed, True)
    result = _extreme(what, x, sums, ord, compared, True)
    return result if keepdim else _op["squeeze"](result, (first, second))


def _extreme(what, x, sizes, ord, dim, keepdim):
    """The greatest or least of sizes. The greatest of none is 0, as no size is less."""
    if sizes.shape[dim] > 0:
        return _op["amax" if ord > 0 else "amin"](sizes, dim, keepdim)
    if ord > 0:
        return _op["sum"](sizes, dim, keepdim)
    raise IndexError(f"{what}: ord={ord} is the least of no values: x has shape {list(x.shape)}; "
                     "give a matrix that is not empty")


def _restore(result, first, second):
    low, high = sorted((first, second))
    return _op["unsqueeze"](_op["unsqueeze"](result, low), high)


def linalg_matrix_norm(x, ord, dim, keepdim, dtype):
    what = "linalg.matrix_norm"
    _expect_floating(what, x)
    return _matrix_norm(what, _in_dtype(what, x, dtype), ord, dim, keepdim)


# ---- either ------------------------------------------------------------------------------------
def linalg_norm(x, ord, dim, keepdim, dtype):
    what = "linalg.norm"
    _expect_floating(what, x)
    if dim is not None and len(dim) not in (1, 2):
        raise RuntimeError(f"{what}: If dim is specified, it must be of length 1 or 2. Got "
                           f"{list(dim)}; linalg.vector_norm takes any number")
    if ord is None:
        flat = _op["reshape"](x, (-1,)) if dim is None and not keepdim else x
        return linalg_vector_norm(flat, 2, dim, keepdim, dtype)
    if dim is None:
        if x.ndim not in (1, 2):
            raise RuntimeError(f"{what}: If dim is not specified but ord is, the input must be 1D "
                               f"or 2D. Got {x.ndim}D.")
        dim = tuple(range(x.ndim))
    if len(dim) == 2:
        return _matrix_norm(what, _in_dtype(what, x, dtype), ord, dim, keepdim)
    if not _is_number(ord):
        raise RuntimeError(f"{what}: ord={ord!r} is for matrices; dim={tuple(dim)} names a vector")
    return linalg_vector_norm(x, ord, dim, keepdim, dtype)


def linalg_cond(A, p):
    if A.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor A must have at least 2 dimensions, got "
                           f"shape {list(A.shape)}")
    if p is None or (_is_number(p) and abs(p) == 2):
        values = _op["linalg_svdvals"](A)
        if A.numel() == 0:
            return _op["full_of"](A.shape[:-2], 0, dtype=values.dtype, device=A.device)
        greatest, least = _op["amax"](values, -1), _op["amin"](values, -1)
        ratio = (least, greatest) if p == -2 else (greatest, least)
        return _op["div"](*ratio)
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(f"linalg.cond with norms other than 2 needs square matrices, got shape "
                           f"{list(A.shape)}")
    if A.numel() == 0:
        real = _op["abs"](A).dtype
        return _op["full_of"](A.shape[:-2], 0, dtype=real, device=A.device)
    inverse, info = _op["linalg_inv_ex"](A)
    singular = _op["gt"](info, 0)   # what its inverse holds is no number for a norm
    inverse = _op["masked_fill"](inverse, _op["unsqueeze"](_op["unsqueeze"](singular, -1), -1), 0)
    size = _matrix_norm("linalg.cond", A, p, (-2, -1), False)
    other = _matrix_norm("linalg.cond", inverse, p, (-2, -1), False)
    return _op["where"](singular, _INF, _op["mul"](size, other))


# ---- distances ---------------------------------------------------------------------------------
def _distances_by_product(x, y):
    """``sqrt(|x|^2 + |y|^2 - 2 x.y)`` of all pairs."""
    squares = _op["sum"](_op["square"](x), -1, True)
    others = _op["transpose"](_op["sum"](_op["square"](y), -1, True), -2, -1)
    product = _op["matmul"](_op["mul"](x, -2), _op["transpose"](y, -2, -1))
    total = _op["add"](_op["add"](product, squares), others)
    return _safe_root(_op["clamp_min"](total, 0), 0.5)


def _distances_of_stacks(x, y, p):
    """Both broadcast to one stack of matrices."""
    batch, other, rows, columns = x.shape[:-2], y.shape[:-2], x.shape[-2:], y.shape[-2:]
    if batch != other:
        batch = broadcast_shape("cdist", [batch, other])
        x, y = _op["expand"](x, (*batch, *rows)), _op["expand"](y, (*batch, *columns))
    count = prod(batch)
    distances = _op["cdist_of"](_op["reshape"](x, (count, *rows)),
                                _op["reshape"](y, (count, *columns)), p)
    return _op["reshape"](distances, (*batch, rows[0], columns[0]))


_MODES = {None: "auto", "use_mm_for_euclid_dist_if_necessary": "auto",
          "use_mm_for_euclid_dist": "always", "donot_use_mm_for_euclid_dist": "never",
          0: "auto", 1: "always", 2: "never"}


def cdist(x1, x2, p, compute_mode):
    one, other = x1.shape, x2.shape
    if len(one) < 2 or len(other) < 2:
        raise RuntimeError(f"cdist only supports at least 2D tensors, got shapes {list(one)} and "
                           f"{list(other)}")
    if one[-1] != other[-1]:
        raise RuntimeError("cdist(): X1 and X2 must have the same number of columns. X1: "
                           f"{one[-1]} X2: {other[-1]}")
    if p < 0:
        raise RuntimeError(f"cdist only supports non-negative p values, got {p}")
    if compute_mode not in _MODES:
        raise RuntimeError(f"cdist: {compute_mode!r} is not a valid value for compute_mode; it is "
                           f"one of {[m for m in _MODES if isinstance(m, str)]}")
    mode = _MODES[compute_mode]
    large = one[-2] > 25 or other[-2] > 25
    if p == 2 and one[-1] and (mode == "always" or (mode == "auto" and large)):
        return _distances_by_product(x1, x2)
    if p in (1, 2, _INF) and x1.dtype is x2.dtype and x1.is_floating_point():
        return _distances_of_stacks(x1, x2, p)
    gaps = _op["sub"](_op["unsqueeze"](x1, -2), _op["unsqueeze"](x2, -3))
    return _distance(gaps, p, -1, False)


def _distance(gaps, p, dim, keepdim):
    if gaps.shape[dim] == 0:
        return _op["sum"](gaps, dim, keepdim)
    return _vector_norm(gaps, p, dim, keepdim)


def pdist(x, p):
    if x.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {x.ndim}D")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    if p == 2 and x.is_floating_point():
        return _op["pdist_euclidean"](x)
    n = x.shape[0]
    pairs = _op["nonzero"](_op["triu"](_op["full_of"]((n, n), 1, dtype=x.dtype, device=x.device),
                                       1))
    first, second = _op["select"](pairs, 1, 0), _op["select"](pairs, 1, 1)
    gaps = _op["sub"](_op["index_select"](x, 0, first), _op["index_select"](x, 0, second))
    return _distance(gaps, p, -1, False)


def pairwise_distance(x1, x2, p, eps, keepdim):
    gaps = _op["add"](_op["sub"](x1, x2), eps)
    return _vector_norm(gaps, p, -1, keepdim)


def _broadcast(x, y):
    """Both in their common shape: a norm along a broadcast dimension counts its copies."""
    ndim = max(x.ndim, y.ndim)
    first = [1] * (ndim - x.ndim) + list(x.shape)
    second = [1] * (ndim - y.ndim) + list(y.shape)
    shape = [b if a == 1 else a for a, b in zip(first, second, strict=True)]
    return _op["expand"](x, shape), _op["expand"](y, shape)


def cosine_similarity(x1, x2, dim, eps):
    if not (x1.is_floating_point() or x1.is_complex()) or x1.dtype is not x2.dtype:
        common = _core.promote_types(x1.dtype, x2.dtype)
        x1, x2 = _op["cast"](x1, common), _op["cast"](x2, common)
        _expect_floating("cosine_similarity", x1)
    if x1.shape != x2.shape:
        x1, x2 = _broadcast(x1, x2)
    return _op["sum"](_op["mul"](_unit(x1, dim, eps), _unit(x2, dim, eps)), dim)


def _unit(x, dim, eps):
    """Vectors of length 1, or shorter where the length is less than eps."""
    length = (_euclidean(x, dim, True) if x.is_complex()
              else _op["norm_of"](x, 2.0, (dim,), True))
    return _op["div"](x, _op["clamp_min"](length, eps))
