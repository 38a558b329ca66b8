"""Composite operators of matrix products."""
from flambeau.core import _core

_op = _core.operators()
_matmul = _op["matmul"]


def _expect(what, x, ndim, name):
    if x.ndim != ndim:
        kind = {1: "a vector", 2: "a matrix", 3: "a stack of matrices"}[ndim]
        raise RuntimeError(f"{what}(): argument '{name}' must be {kind} ({ndim} dimensions), got "
                           f"shape {list(x.shape)}; use matmul for other shapes")


def mm(x, mat2):
    _expect("mm", x, 2, "self")
    _expect("mm", mat2, 2, "mat2")
    return _matmul(x, mat2)


def bmm(x, mat2):
    _expect("bmm", x, 3, "self")
    _expect("bmm", mat2, 3, "mat2")
    return _matmul(x, mat2)


def mv(x, vec):
    _expect("mv", x, 2, "self")
    _expect("mv", vec, 1, "vec")
    return _matmul(x, vec)


def dot(x, tensor):
    _expect("dot", x, 1, "self")
    _expect("dot", tensor, 1, "tensor")
    if x.shape != tensor.shape:
        raise RuntimeError(f"dot(): inconsistent tensor size, expected tensors of the same number "
                           f"of elements, got {x.shape[0]} and {tensor.shape[0]}")
    return _matmul(x, tensor)


def vdot(x, other):
    return dot(_op["conj"](x) if x.is_complex() else x, other)


def inner(x, other):
    if x.ndim == 0 or other.ndim == 0:
        return _op["mul"](x, other)
    if x.shape[-1] != other.shape[-1]:
        raise RuntimeError(f"inner() the last dimension must match on both input tensors but got "
                           f"shapes {list(x.shape)} and {list(other.shape)}")
    return tensordot(x, other, ((-1,), (-1,)))


def outer(x, vec2):
    _expect("outer", x, 1, "self")
    _expect("outer", vec2, 1, "vec2")
    return _op["mul"](_op["unsqueeze"](x, 1), vec2)


def kron(x, other):
    """Every element of ``x`` times ``other``: dimensions interleaved, then merged in pairs."""
    ndim = max(x.ndim, other.ndim)
    first = [1] * (ndim - x.ndim) + list(x.shape)
    second = [1] * (ndim - other.ndim) + list(other.shape)
    left, right, merged = [], [], []
    for a, b in zip(first, second, strict=True):
        left += [a, 1]
        right += [1, b]
        merged.append(a * b)
    x, other = _op["reshape"](x, left), _op["reshape"](other, right)
    if ndim > 1:
        x, other = _whole_rows(x, other)
    return _op["reshape"](_op["mul"](x, other), merged)


def _whole_rows(x, other):
    """The last two dimensions merged in both operands: the product then runs along whole rows."""
    cols, width = x.shape[-2], other.shape[-1]
    spread = [_op["expand"](t, [*t.shape[:-2], cols, width]) for t in (x, other)]
    return [_op["reshape"](t, [*t.shape[:-2], cols * width]) for t in spread]


# ---- beta * self + alpha * product -------------------------------------------------------------
_HALVES = ("float16", "bfloat16")


def _scaled_product(what, x, product, left, right, beta, alpha):
    """``beta * x + alpha * product(left, right)``; half precision is rounded once, at the end."""
    if what != "addr" and not x.dtype is left.dtype is right.dtype:
        raise RuntimeError(f"{what}(): Input dtypes must be the same, for products do not promote, "
                           f"got {x.dtype}, {left.dtype} and {right.dtype}; convert with .to()")
    if left.dtype.name not in _HALVES or x.dtype is not left.dtype or right.dtype is not x.dtype:
        return _scaled_sum(what, x, product(left, right), beta, alpha)
    wide, cast = _core._dtype_named("float32"), _op["cast"]
    result = product(cast(left, wide), cast(right, wide))
    return cast(_scaled_sum(what, cast(x, wide), result, beta, alpha), left.dtype)


def _scaled_sum(what, x, product, beta, alpha):
    """``beta * x + alpha * product``; x is not read where beta is zero."""
    shape = product.shape
    if not _expands(x.shape, shape):
        raise RuntimeError(f"{what}(): self of shape {list(x.shape)} cannot be expanded to the "
                           f"shape of the product, {list(shape)}")
    if isinstance(alpha, bool) or not (_is_inexact(x) or _is_inexact(product)):
        alpha = int(alpha)
    if not (_is_inexact(x) or _is_inexact(product)):
        beta = int(beta)  # integers stay integers, as in PyTorch
    if beta == 0:
        return product if alpha == 1 else _op["mul"](product, alpha)
    if beta != 1:
        x = _op["mul"](x, beta)
    return _op["add"](x, product, alpha=alpha)


def _is_inexact(x):
    return x.is_floating_point() or x.is_complex()


def _expands(shape, wanted):
    if len(shape) > len(wanted):
        return False
    return all(a in (1, b) for a, b in zip(reversed(shape), reversed(wanted), strict=False))


def addmm(x, mat1, mat2, beta, alpha):
    return _scaled_product("addmm", x, mm, mat1, mat2, beta, alpha)


def addmv(x, mat, vec, beta, alpha):
    return _scaled_product("addmv", x, mv, mat, vec, beta, alpha)


def addr(x, vec1, vec2, beta, alpha):
    if x.dtype.name == "bool" and vec1.dtype.name == "bool" and vec2.dtype.name == "bool":
        product = outer(vec1, vec2)
        product = product if alpha else _op["zeros_like"](product)
        return _op["logical_or"](product, x) if beta else product
    for name, number in (("beta", beta), ("alpha", alpha)):
        if isinstance(number, bool):
            raise RuntimeError(f"addr(): Boolean {name} only supported for Boolean results.; write "
                               f"{name}={int(number)}")
    if not (_is_inexact(x) or _is_inexact(vec1) or _is_inexact(vec2)):
        _expect_whole("addr", "beta", beta)
        _expect_whole("addr", "alpha", alpha)
    return _scaled_product("addr", x, outer, vec1, vec2, beta, alpha)


def _expect_whole(what, name, number):
    if isinstance(number, float):
        raise RuntimeError(f"{what}(): For integral input tensors, argument {name} must not be a "
                           f"floating point number; got {number} (write an int, or x.float())")


def baddbmm(x, batch1, batch2, beta, alpha):
    return _scaled_product("baddbmm", x, bmm, batch1, batch2, beta, alpha)


def addbmm(x, batch1, batch2, beta, alpha):
    return _scaled_product("addbmm", x, _sum_of_products, batch1, batch2, beta, alpha)


def _sum_of_products(batch1, batch2):
    """The sum over the stack is one product: the stack joins the inner dimension."""
    _expect("addbmm", batch1, 3, "batch1")
    _expect("addbmm", batch2, 3, "batch2")
    count, n, m = batch1.shape
    if batch2.shape[0] != count or batch2.shape[1] != m:
        raise RuntimeError(f"addbmm(): batch1 of shape {list(batch1.shape)} and batch2 of shape "
                           f"{list(batch2.shape)} do not match: expected batch2 of shape "
                           f"[{count}, {m}, any]")
    wide = _op["reshape"](_op["transpose"](batch1, 0, 1), (n, count * m))
    tall = _op["reshape"](batch2, (count * m, batch2.shape[2]))
    return _matmul(wide, tall)


# ---- contractions ------------------------------------------------------------------------------
def _contracted_dims(x, other, dims):
    if _core.is_tensor(dims):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0 or dims > x.ndim or dims > other.ndim:
            raise RuntimeError(f"tensordot(): expects dims >= 0 and at most the number of "
                               f"dimensions, got dims={dims} for shapes {list(x.shape)} and "
                               f"{list(other.shape)}")
        return list(range(x.ndim - dims, x.ndim)), list(range(dims))
    first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    if len(first) != len(second):
        raise RuntimeError(f"tensordot(): both dimension lists should have same length, got "
                           f"{first} and {second}")
    return ([_in_range(d, x.ndim) for d in first], [_in_range(d, other.ndim) for d in second])


def _in_range(d, ndim):
    if not -ndim <= d < ndim:
        raise IndexError(f"tensordot(): Dimension out of range (expected to be in range of "
                         f"[{-ndim}, {ndim - 1}], but got {d})")
    return d % ndim


def _size(shape, dims):
    count = 1
    for d in dims:
        count *= shape[d]
    return count


def tensordot(x, other, dims):
    first, second = _contracted_dims(x, other, dims)
    for i, j in zip(first, second, strict=True):
        if x.shape[i] != other.shape[j]:
            if x.shape[i] != 1 and other.shape[j] != 1:
                raise RuntimeError(f"tensordot(): contracted dimensions need to match, but first "
                                   f"has size {x.shape[i]} in dim {i} and second has size "
                                   f"{other.shape[j]} in dim {j}")
            x = _op["sum"](x, i, True, dtype=x.dtype) if other.shape[j] == 1 else x
            other = _op["sum"](other, j, True, dtype=other.dtype) if x.shape[i] == 1 else other
    left = [d for d in range(x.ndim) if d not in first]
    right = [d for d in range(other.ndim) if d not in second]
    inside = _size(x.shape, first)
    a = _op["reshape"](_op["permute"](x, left + first), (_size(x.shape, left), inside))
    b = _op["reshape"](_op["permute"](other, second + right), (inside, _size(other.shape, right)))
    shape = [x.shape[d] for d in left] + [other.shape[d] for d in right]
    return _op["reshape"](_matmul(a, b), shape)


def linalg_multi_dot(tensors):
    """The order with the fewest multiplications, by dynamic programming over the sizes."""
    what = "linalg.multi_dot"
    if len(tensors) < 2:
        raise RuntimeError(f"{what}(): expected at least 2 tensors but got {len(tensors)}")
    for i, t in enumerate(tensors):
        if not (t.ndim == 2 or (t.ndim == 1 and i in (0, len(tensors) - 1))):
            raise RuntimeError(f"{what}(): expected matrices, and vectors at the ends only; tensor "
                               f"{i} has shape {list(t.shape)}")
    matrices = list(tensors)
    if matrices[0].ndim == 1:
        matrices[0] = _op["unsqueeze"](matrices[0], 0)
    if matrices[-1].ndim == 1:
        matrices[-1] = _op["unsqueeze"](matrices[-1], 1)
    if len(matrices) == 3:
        result = _three(*matrices)
    else:
        result = _in_order(matrices, _best_splits(matrices), 0, len(matrices) - 1)
    if tensors[0].ndim == 1:
        result = _op["squeeze"](result, 0)
    return _op["squeeze"](result, -1) if tensors[-1].ndim == 1 else result


def _best_splits(matrices):
    sizes = [m.shape[0] for m in matrices] + [matrices[-1].shape[1]]
    n = len(matrices)
    cost = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [(cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                       for k in range(i, j)]
            cost[i][j], split[i][j] = min(options)
    return split


def _three(a, b, c):
    """Three matrices: the pair first that costs fewer multiplications."""
    (rows, inner), (next_, columns) = a.shape, c.shape
    if inner * columns * (next_ + rows) <= rows * next_ * (inner + columns):
        return _matmul(a, _matmul(b, c))
    return _matmul(_matmul(a, b), c)


def _in_order(matrices, split, i, j):
    if i == j:
        return matrices[i]
    k = split[i][j]
    return _matmul(_in_order(matrices, split, i, k), _in_order(matrices, split, k + 1, j))


def linalg_vecdot(x, y, dim):
    if not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError(f"linalg.vecdot: Expected a floating point or complex tensor as input. "
                           f"Got {x.dtype}")
    return _op["sum"](_op["mul"](_op["conj"](x) if x.is_complex() else x, y), dim)


# ---- cross product -----------------------------------------------------------------------------
def _turned(x, dim, by):
    """The three components in the order (y, z, x) or (z, x, y)."""
    parts = [_op["narrow"](x, dim, (i + by) % 3, 1) for i in range(3)]
    return _op["cat"](parts, dim)


def linalg_cross(x, other, dim):
    if x.ndim != other.ndim:
        raise RuntimeError(f"linalg.cross: inputs must have the same number of dimensions, got "
                           f"shapes {list(x.shape)} and {list(other.shape)}")
    if x.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got "
                           f"{x.shape[dim]} and {other.shape[dim]}")
    dim %= x.ndim
    return _op["sub"](_op["mul"](_turned(x, dim, 1), _turned(other, dim, 2)),
                      _op["mul"](_turned(x, dim, 2), _turned(other, dim, 1)))


def cross(x, other, dim):
    if dim is None:
        shape = [max(a, b) for a, b in zip(x.shape, other.shape, strict=False)]
        if 3 not in shape:
            raise RuntimeError(f"cross(): no dimension of size 3 in input of shape "
                               f"{list(x.shape)}")
        dim = shape.index(3)
    return linalg_cross(x, other, dim)


def linalg_diagonal(A, offset, dim1, dim2):
    return _op["diagonal"](A, offset, dim1, dim2)


def bilinear(first, second, weight, bias):
    if weight.ndim != 3 or first.shape[-1] != weight.shape[1] or \
            second.shape[-1] != weight.shape[2] or first.shape[:-1] != second.shape[:-1]:
        raise RuntimeError(f"bilinear(): weight must have shape [out, in1, in2] and the inputs the "
                           f"same shape up to their last sizes in1 and in2; got "
                           f"{list(first.shape)}, {list(second.shape)} and weight "
                           f"{list(weight.shape)}")
    out, n, m = weight.shape
    batch = list(first.shape[:-1])
    count = _size(batch, range(len(batch)))
    rows = _op["reshape"](first, (count, n))
    table = _op["reshape"](_op["permute"](weight, (1, 0, 2)), (n, out * m))
    half = _op["reshape"](_matmul(rows, table), (count, out, m))
    whole = _matmul(half, _op["reshape"](second, (count, m, 1)))
    result = _op["reshape"](whole, (*batch, out))
    return result if bias is None else _op["add"](result, bias)
