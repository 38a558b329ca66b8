"""Composite operators of writing and reading by position."""
from flambeau.core import _core
from flambeau.core.composites.shape.shapes import _wrap

_op = _core.operators()
Tensor = _core.Tensor
_WHOLE = ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64")


# ---- along a dimension ---------------------------------------------------------------------------
def gather__sparse_grad(x, dim, index, sparse_grad):
    """Sparse gradients save memory in PyTorch; the values are the same."""
    return _op["gather"](x, dim, index)


def index_reduce(x, dim, index, source, reduce, include_self):
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): reduce argument must be either prod, mean, amax or "
                           f"amin, got {reduce}; index_add() sums")
    dim = _wrap(dim, x.ndim, "index_reduce")
    if index.ndim > 1:
        raise IndexError(f"index_reduce(): index is supposed to be a vector, got shape "
                         f"{list(index.shape)}")
    if x.ndim == 0:
        index, source = _op["reshape"](index, (-1,)), _op["reshape"](source, (-1,))
        whole = _op["reshape"](x, (1,))
        reduced = _op["scatter_reduce"](whole, 0, index, source, reduce, include_self=include_self)
        return _op["reshape"](reduced, ())
    wanted = list(x.shape)
    wanted[dim] = index.numel()
    if list(source.shape) != wanted:
        raise RuntimeError(f"index_reduce(): source must have shape {wanted}, that of self with "
                           f"one slice per index along dim {dim}, but got {list(source.shape)}")
    lined = [1] * x.ndim
    lined[dim] = index.numel()
    index = _op["expand"](_op["reshape"](index, lined), wanted)
    return _op["scatter_reduce"](x, dim, index, source, reduce, include_self=include_self)


# ---- the flattened tensor ------------------------------------------------------------------------
def take(x, index):
    if x.numel() == 0 and index.numel() > 0:
        raise IndexError(f"take(): tried to take from an empty tensor of shape {list(x.shape)}")
    index = _positions("take", index)
    if x.is_contiguous() or index.numel() * _TAKEN > x.numel():
        return _op["index"](_op["reshape"](x, (-1,)), [index])
    return _op["index"](x, _coordinates(index, x.shape))


#: Elements of a strided tensor for each that is taken, from which on it is not flattened first.
_TAKEN = 16


def _coordinates(index, shape):
    """Flat positions as one tensor per dimension. What lies outside, and the sign of positions that
    count from the end, show in the first."""
    positions = []
    for size in shape[:0:-1]:
        positions.append(_op["remainder"](index, size))
        index = _op["floor_divide"](index, size)
    return [index, *positions[::-1]]


def _positions(what, index):
    if index.dtype.name not in ("int64", "int32"):
        raise RuntimeError(f"{what}(): Expected a long tensor for index, but got {index.dtype}; "
                           "convert it with index.long()")
    return index


# ---- where the non-zero elements are -------------------------------------------------------------
def argwhere(x):
    return _op["nonzero"](x)


def nonzero_static(x, size, fill_value):
    """Every element writes its place to the row that its rank names, others to one row more."""
    if size < 0:
        raise RuntimeError(f"nonzero_static(): 'size' must be an non-negative integer, got {size}")
    holds = _op["reshape"](_op["ne"](x, 0), (-1,))
    rank = _op["sub"](_op["cumsum"](holds, 0, dtype=_core._dtype_named("int64")), 1)
    row = _op["where"](_op["logical_and"](holds, _op["lt"](rank, size)), rank, size)
    places = _op["arange_of"](0, x.numel(), 1, dtype=rank.dtype, device=x.device)
    none = _op["full_of"]((size + 1,), -1, dtype=places.dtype, device=x.device)
    place = _op["narrow"](_op["scatter"](none, 0, row, places), 0, 0, size)
    columns = unravel_index(_op["clamp"](place, 0), tuple(x.shape)) if x.numel() else \
        (place,) * x.ndim
    if not columns:
        return _op["full_of"]((size, 0), 0, dtype=places.dtype, device=x.device)
    found = _op["stack"](list(columns), 1)
    return _op["where"](_op["unsqueeze"](_op["ge"](place, 0), 1), found, fill_value)


def nonzero__tuple(x, as_tuple):
    if not as_tuple:
        return _op["nonzero"](x)
    if x.ndim == 0:
        x = _op["reshape"](x, (1,))
    return _op["unbind"](_op["nonzero"](x), 1)


def where__indices(condition):
    return nonzero__tuple(condition, True)


# ---- indices as coordinates ----------------------------------------------------------------------
def unravel_index(indices, shape):
    """From the last dimension on: the remainder by its size, and what is left goes on."""
    sizes = _sizes(shape)
    if indices.dtype.name not in _WHOLE:
        raise TypeError(f"unravel_index(): expected 'indices' to be integer dtype, but got "
                        f"{indices.dtype}; convert with .long()")
    rest = _op["cast"](indices, _core._dtype_named("int64"))
    positions = []
    for size in reversed(sizes):
        positions.append(_op["remainder"](rest, size))
        rest = _op["floor_divide"](rest, size)
    return tuple(positions[::-1])


def _sizes(shape):
    if isinstance(shape, Tensor):
        shape = shape.tolist()
    sizes = [shape] if isinstance(shape, int) else list(shape)
    for size in sizes:
        if isinstance(size, bool) or not isinstance(size, int):
            raise TypeError(f"unravel_index(): 'shape' must be an int or ints, got {size!r} in "
                            f"{shape!r}")
        if not 0 < size < 1 << 63:
            raise ValueError(f"unravel_index(): 'shape' cannot have negative values or zeros, nor "
                             f"values beyond 64 bits, but got {size} in {shape!r}")
    return sizes
