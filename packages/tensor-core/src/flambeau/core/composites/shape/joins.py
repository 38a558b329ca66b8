"""Composite operators that join and split tensors, and grids of them."""
import warnings
from itertools import combinations as _choices
from itertools import combinations_with_replacement as _choices_again

from flambeau.core import _core
from flambeau.core.composites.shape.shapes import _wrap

_op = _core.operators()
Tensor = _core.Tensor


# ---- splits --------------------------------------------------------------------------------------
def split_with_sizes(x, split_sizes, dim):
    return _op["split"](x, split_sizes, dim)


def unsafe_split_with_sizes(x, split_sizes, dim):
    return _op["unsafe_split"](x, split_sizes, dim)


#: Sections beyond the elements of a dimension are empty tensors; more than this is a mistake.
_MOST_SECTIONS = 1 << 20


def tensor_split(x, indices_or_sections, dim):
    if x.ndim == 0:
        raise RuntimeError("tensor_split(): expected at least a 1-dimensional tensor, got 0-d")
    dim = _wrap(dim, x.ndim, "tensor_split")
    size = x.shape[dim]
    if isinstance(indices_or_sections, Tensor):
        if indices_or_sections.dtype.name != "int64":
            raise RuntimeError("tensor_split(): expected tensor_indices_or_sections to have dtype "
                               f"int64, but got {indices_or_sections.dtype}; convert it with "
                               ".long()")
        if indices_or_sections.ndim > 1:
            raise RuntimeError("tensor_split(): expected tensor_indices_or_sections to be a "
                               "zero-dimensional or one-dimensional tensor, but got a tensor with "
                               f"{indices_or_sections.ndim} dims; flatten it")
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, bool):
        raise TypeError("tensor_split(): argument 'indices_or_sections' must be int or list of "
                        "ints, not bool")
    if isinstance(indices_or_sections, int):
        n = indices_or_sections
        if n <= 0:
            raise RuntimeError(f"tensor_split(): number of sections must be larger than 0, got {n}")
        if n > max(size, _MOST_SECTIONS):
            raise RuntimeError(f"tensor_split(): {n} sections of a dimension of size {size} are "
                               f"more than the {_MOST_SECTIONS} that may be empty")
        cuts = [i * (size // n) + min(i, size % n) for i in range(1, n)]
    else:
        cuts = list(indices_or_sections)
    pieces, start = [], 0
    for end in (*cuts, size):
        pieces.append(_op["slice"](x, dim, start, end))
        start = end
    return tuple(pieces)


def _split_dim(what, x, sections, dim, least):
    if x.ndim < least:
        raise RuntimeError(f"{what}(): requires a tensor with at least {least} dimension(s), got "
                           f"shape {list(x.shape)}")
    if isinstance(sections, int) and (sections <= 0 or x.shape[dim] % sections):
        raise RuntimeError(f"{what}(): attempted to split along dimension {dim}, but the size of "
                           f"the dimension {x.shape[dim]} is not divisible by the split_size "
                           f"{sections}; tensor_split() makes pieces of different sizes")
    if isinstance(sections, int) and sections is not True and x.shape[dim]:
        return _op["split"](x, x.shape[dim] // sections, dim)
    return tensor_split(x, sections, dim)


def hsplit(x, indices_or_sections):
    return _split_dim("hsplit", x, indices_or_sections, 0 if x.ndim == 1 else 1, 1)


def vsplit(x, indices_or_sections):
    return _split_dim("vsplit", x, indices_or_sections, 0, 2)


def dsplit(x, indices_or_sections):
    return _split_dim("dsplit", x, indices_or_sections, 2, 3)


# ---- joins ---------------------------------------------------------------------------------------
def atleast_1d(x):
    return _op["reshape"](x, (1,)) if x.ndim == 0 else x


def atleast_2d(x):
    if x.ndim == 0:
        return _op["reshape"](x, (1, 1))
    return _op["unsqueeze"](x, 0) if x.ndim == 1 else x


def atleast_3d(x):
    if x.ndim == 0:
        return _op["reshape"](x, (1, 1, 1))
    if x.ndim == 1:
        return _op["unsqueeze"](_op["unsqueeze"](x, 0), -1)
    return _op["unsqueeze"](x, -1) if x.ndim == 2 else x


def atleast_1d__list(tensors):
    return tuple([atleast_1d(t) for t in tensors])


def atleast_2d__list(tensors):
    return tuple([atleast_2d(t) for t in tensors])


def atleast_3d__list(tensors):
    return tuple([atleast_3d(t) for t in tensors])


def _some(what, tensors):
    if not tensors:
        raise RuntimeError(f"{what}(): expected a non-empty list of tensors")


def hstack(tensors):
    _some("hstack", tensors)
    tensors = [atleast_1d(t) for t in tensors]
    return _op["cat"](tensors, 0 if tensors[0].ndim == 1 else 1)


def vstack(tensors):
    _some("vstack", tensors)
    return _op["cat"]([atleast_2d(t) for t in tensors], 0)


def dstack(tensors):
    _some("dstack", tensors)
    return _op["cat"]([atleast_3d(t) for t in tensors], 2)


def column_stack(tensors):
    _some("column_stack", tensors)
    return hstack([_op["reshape"](t, (-1, 1)) if t.ndim <= 1 else t for t in tensors])


def block_diag(tensors):
    # Not at the top: it needs the table of operators, which takes 10 ms to import.
    from flambeau.core.promotion import promoted

    if not tensors:
        return _op["empty"]((1, 0))
    blocks = []
    for i, t in enumerate(tensors):
        if t.ndim > 2:
            raise RuntimeError(f"block_diag(): tensors must have 2 or fewer dimensions, got shape "
                               f"{list(t.shape)} at position {i}")
        blocks.append(atleast_2d(t))
    shape = [sum([b.shape[d] for b in blocks]) for d in (0, 1)]
    dtype, device = promoted(tensors), tensors[0].device
    if any(_core.level_of(t) for t in tensors):
        whole = _op["fill_"](_core.blank_at_levels(tensors, shape, None, dtype, device), 0)
    else:
        whole = _op["full_of"](shape, 0, dtype=dtype, device=device)
    row = column = 0
    for b in blocks:
        target = _op["narrow"](_op["narrow"](whole, 0, row, b.shape[0]), 1, column, b.shape[1])
        _op["copy_"](target, b)
        row, column = row + b.shape[0], column + b.shape[1]
    return whole


def broadcast_shape(what, shapes):
    """The shape that shapes broadcast to."""
    result: list = []
    for shape in shapes:
        result = [1] * (len(shape) - len(result)) + result
        for i in range(1, len(shape) + 1):
            if result[-i] == 1:
                result[-i] = shape[-i]
            elif shape[-i] not in (1, result[-i]):
                raise RuntimeError(f"{what}(): Shape mismatch: objects cannot be broadcast to a "
                                   f"single shape: {[list(s) for s in shapes]}")
    return tuple(result)


def broadcast_tensors(tensors):
    shape = broadcast_shape("broadcast_tensors", [t.shape for t in tensors])
    return tuple([_op["expand"](t, shape) for t in tensors])


def meshgrid(tensors, indexing):
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f"meshgrid(): indexing must be one of 'ij' or 'xy', but received: "
                           f"{indexing!r}")
    _some("meshgrid", tensors)
    if indexing is None:
        warnings.warn("meshgrid(): in an upcoming release, it will be required to pass the "
                      "indexing argument.; write indexing='ij', which is what leaving it out means",
                      stacklevel=1)
    for t in tensors:
        if t.device != tensors[0].device:
            raise RuntimeError(f"meshgrid(): expects all tensors to have the same device, got "
                               f"{tensors[0].device} and {t.device}; write t.to(device)")
        if t.ndim > 1 or t.dtype is not tensors[0].dtype:
            raise RuntimeError(f"meshgrid(): expects 0-d or 1-d tensors of one dtype, got "
                               f"{t.dtype} of shape {list(t.shape)}")
    swapped = indexing == "xy" and len(tensors) >= 2
    if swapped:
        tensors = (tensors[1], tensors[0], *tensors[2:])
    sizes = [t.numel() for t in tensors]
    grids = []
    for i, t in enumerate(tensors):
        shape = [1] * len(sizes)
        shape[i] = sizes[i]
        grids.append(_op["expand"](_op["reshape"](t, shape), sizes))
    if swapped:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def cartesian_prod(tensors):
    _some("cartesian_prod", tensors)
    for t in tensors:
        if t.ndim != 1:
            raise RuntimeError(f"cartesian_prod(): expect a 1D vector, but got shape "
                               f"{list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    grids = meshgrid(tensors, "ij")
    return _op["stack"]([_op["reshape"](g, (-1,)) for g in grids], 1)


def _pairs_of(x, least):
    """Pairs of elements, the second at least so far behind the first."""
    n = x.shape[0]
    kept = _op["triu"](_op["full_of"]((n, n), 1, dtype=_core._dtype_named("bool"),
                                      device=x.device), least)
    indices = _op["nonzero"](kept)
    return _op["view"](_op["index_select"](x, 0, _op["view"](indices, (-1,))), (-1, 2))


def combinations(x, r, with_replacement):
    if x.ndim != 1:
        raise RuntimeError(f"combinations(): expect a 1D vector, but got shape {list(x.shape)}")
    if r < 0:
        raise RuntimeError(f"combinations(): expect a non-negative number, but got {r}")
    if r == 0:
        return _op["empty"]((0,), dtype=x.dtype, device=x.device)
    if r == 2:
        return _pairs_of(x, 0 if with_replacement else 1)
    choose = _choices_again if with_replacement else _choices
    rows = list(choose(range(x.numel()), r))
    indices = _core.tensor([i for row in rows for i in row], dtype=_core._dtype_named("int64"),
                          device=x.device)
    return _op["view"](_op["index_select"](x, 0, indices), (len(rows), r))
