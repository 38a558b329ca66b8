"""Composite operators of views in other shapes, their copies, and copies with a view written."""
from flambeau.core import _core

_op = _core.operators()


def _copied(x):
    """Memory of its own, in C order."""
    return _op["contiguous_copy"](x)


# ---- views ---------------------------------------------------------------------------------------
def adjoint(x):
    if x.ndim < 2:
        raise RuntimeError(f"adjoint(): expected a matrix or a stack of matrices (2 dimensions or "
                           f"more), got shape {list(x.shape)}")
    x = _op["transpose"](x, -2, -1)
    return _op["conj"](x) if x.is_complex() else x


# ---- copies of views -----------------------------------------------------------------------------
def view_copy(x, size):
    return _copied(_op["view"](x, size))


def detach_copy(x):
    return _copied(x.detach())


def split_copy(x, split_size, dim):
    return tuple([_copied(piece) for piece in _op["split"](x, split_size, dim)])


def split_with_sizes_copy(x, split_sizes, dim):
    return tuple([_copied(piece) for piece in _op["split"](x, split_sizes, dim)])


# ---- copies with a view written ------------------------------------------------------------------
def _own_copy(x, src):
    """A copy of ``x`` that ``src`` can be written to, for each sample of a vmap if it must."""
    if not _core.level_of(src):
        return _op["clone"](x)
    return _op["copy_"](_core.blank_at_levels((x, src), x.shape, None, x.dtype, x.device), x)


def _scattered(what, x, src, view):
    result = _own_copy(x, src)
    target = view(result)
    if target.shape != src.shape:
        raise RuntimeError(f"{what}(): expected src to have the shape of the view it replaces, "
                           f"{list(target.shape)}, but got {list(src.shape)}")
    _op["copy_"](target, src)
    return result


def diagonal_scatter(x, src, offset, dim1, dim2):
    return _scattered("diagonal_scatter", x, src,
                      lambda t: _op["diagonal"](t, offset, dim1, dim2))


def select_scatter(x, src, dim, index):
    return _scattered("select_scatter", x, src, lambda t: _op["select"](t, dim, index))


def slice_scatter(x, src, dim, start, end, step):
    return _scattered("slice_scatter", x, src, lambda t: _op["slice"](t, dim, start, end, step))


def as_strided_scatter(x, src, size, stride, storage_offset):
    if not x.is_contiguous() or x.storage_offset():
        x = _copied(x)
    return _scattered("as_strided_scatter", x, src,
                      lambda t: _op["as_strided"](t, size, stride, storage_offset))
