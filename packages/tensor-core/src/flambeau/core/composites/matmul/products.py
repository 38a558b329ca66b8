"""Composite operators of contractions and of several products."""
from flambeau.core import _core

_op = _core.operators()
_matmul = _op["matmul"]


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
    if isinstance(dims, int) and 0 < dims <= min(x.ndim, other.ndim) and \
            x.shape[-dims:] == other.shape[:dims]:
        return _joined_at(x, other, dims)
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


def _joined_at(x, other, count):
    """The last dimensions of ``x`` and the first of ``other``, which are alike, summed over."""
    if x.ndim == other.ndim == 2 and count == 1:
        return _matmul(x, other)
    inside = _size(other.shape, range(count))
    left, right = x.shape[:-count], other.shape[count:]
    a = _op["reshape"](x, (_size(left, range(len(left))), inside))
    b = _op["reshape"](other, (inside, _size(right, range(len(right)))))
    return _op["reshape"](_matmul(a, b), (*left, *right))


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
