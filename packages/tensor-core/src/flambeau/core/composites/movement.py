"""Composite rows of views in other shapes, their copies, joins, splits, borders and grids."""
from itertools import combinations as _choices
from itertools import combinations_with_replacement as _choices_again

from flambeau.core import _core
from flambeau.core.composites.shapes import _wrap

_op = _core.operators()
Tensor = _core.Tensor


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


def broadcast_to(x, size):
    return _op["expand"](x, size)


def ravel(x):
    return _op["reshape"](x, (-1,))


def sum_to_size(x, size):
    extra = x.ndim - len(size)
    fits = extra >= 0 and all([want in (1, have) for want, have
                               in zip(size, x.shape[extra:], strict=True)])
    if not fits:
        raise RuntimeError(f"sum_to_size(): size {list(size)} is not expandable to size "
                           f"{list(x.shape)}")
    if len(size) == 0:
        return _op["sum"](x)
    dims = [d for d in range(x.ndim) if d < extra or (size[d - extra] == 1 and x.shape[d] != 1)]
    if not dims:
        return x
    return _op["view"](_op["sum"](x, dims, True), size)


def diag(x, diagonal):
    if x.ndim == 1:
        return diag_embed(x, diagonal, 0, 1)
    if x.ndim != 2:
        raise RuntimeError(f"diag(): supports 1-d and 2-d tensors, got shape {list(x.shape)}; use "
                           "diagonal() or diag_embed() for stacks")
    return _copied(_op["diagonal"](x, diagonal))


def diagflat(x, offset):
    return diag_embed(_op["reshape"](x, (-1,)), offset, 0, 1)


def diag_embed(x, offset, dim1, dim2):
    dim1, dim2 = _wrap(dim1, x.ndim + 1, "diag_embed"), _wrap(dim2, x.ndim + 1, "diag_embed")
    if dim1 == dim2:
        raise RuntimeError(f"diag_embed(): diagonal dimensions cannot be identical {dim1}, {dim2}")
    shape = list(x.shape[:-1])
    length = x.shape[-1] + abs(offset)
    for dim in sorted((dim1, dim2)):
        shape.insert(dim, length)
    whole = _op["full_of"](shape, 0, dtype=x.dtype, device=x.device)
    _op["copy_"](_op["diagonal"](whole, offset, dim1, dim2), x)
    return whole


# ---- copies of views -----------------------------------------------------------------------------
def _copier(name):
    def copy(*args):
        return _copied(_op[name](*args))

    return copy


for _name in ("alias", "t", "view_as_real", "view_as_complex", "as_strided", "diagonal", "narrow",
              "permute", "select", "slice", "squeeze", "transpose", "unfold", "unsqueeze", "view"):
    globals()[f"{_name}_copy"] = _copier(_name)


def detach_copy(x):
    return _copied(x.detach())


def expand_copy(x, size, implicit):
    return _copied(_op["expand"](x, size))


def split_copy(x, split_size, dim):
    return tuple([_copied(piece) for piece in _op["split"](x, split_size, dim)])


def split_with_sizes_copy(x, split_sizes, dim):
    return tuple([_copied(piece) for piece in split_with_sizes(x, split_sizes, dim)])


def unbind_copy(x, dim):
    return tuple([_copied(piece) for piece in _op["unbind"](x, dim)])


# ---- copies with a view written ------------------------------------------------------------------
def _scattered(what, x, src, view):
    result = _op["clone"](x)
    place = view(result)
    if place.shape != src.shape:
        raise RuntimeError(f"{what}(): expected src to have the shape of the view it replaces, "
                           f"{list(place.shape)}, but got {list(src.shape)}")
    _op["copy_"](place, src)
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


# ---- splits --------------------------------------------------------------------------------------
def split_with_sizes(x, split_sizes, dim):
    return _op["split"](x, split_sizes, dim)


def tensor_split(x, indices_or_sections, dim):
    if x.ndim == 0:
        raise RuntimeError("tensor_split(): expected at least a 1-dimensional tensor, got 0-d")
    dim = _wrap(dim, x.ndim, "tensor_split")
    size = x.shape[dim]
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, int):
        n = indices_or_sections
        if n <= 0:
            raise RuntimeError(f"tensor_split(): number of sections must be larger than 0, got {n}")
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
    _some("block_diag", tensors)
    blocks, dtype = [], tensors[0].dtype
    for i, t in enumerate(tensors):
        if t.ndim > 2:
            raise RuntimeError(f"block_diag(): tensors must have 2 or fewer dimensions, got shape "
                               f"{list(t.shape)} at position {i}")
        blocks.append(atleast_2d(t))
        dtype = _core.promote_types(dtype, t.dtype)
    shape = [sum([b.shape[d] for b in blocks]) for d in (0, 1)]
    whole = _op["full_of"](shape, 0, dtype=dtype, device=tensors[0].device)
    row = column = 0
    for b in blocks:
        place = _op["narrow"](_op["narrow"](whole, 0, row, b.shape[0]), 1, column, b.shape[1])
        _op["copy_"](place, b)
        row, column = row + b.shape[0], column + b.shape[1]
    return whole


def broadcast_shape(what, shapes):
    """The shape that shapes broadcast to."""
    result = []
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
    for t in tensors:
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


def combinations(x, r, with_replacement):
    if x.ndim != 1:
        raise RuntimeError(f"combinations(): expect a 1D vector, but got shape {list(x.shape)}")
    if r < 0:
        raise RuntimeError(f"combinations(): expect a non-negative number, but got {r}")
    if r == 0:
        return _op["empty"]((0,), dtype=x.dtype, device=x.device)
    choose = _choices_again if with_replacement else _choices
    rows = list(choose(range(x.numel()), r))
    places = _core.tensor([i for row in rows for i in row], dtype=_core._dtype_named("int64"),
                          device=x.device)
    return _op["view"](_op["index_select"](x, 0, places), (len(rows), r))


# ---- order ---------------------------------------------------------------------------------------
def tile(x, dims):
    return _op["repeat"](x, (1,) * (x.ndim - len(dims)) + tuple(dims))


def fliplr(x):
    if x.ndim < 2:
        raise RuntimeError(f"fliplr(): Input must be >= 2-d, got shape {list(x.shape)}")
    return _op["flip"](x, (1,))


def flipud(x):
    if x.ndim < 1:
        raise RuntimeError("flipud(): Input must be >= 1-d, got a 0-d tensor")
    return _op["flip"](x, (0,))


def roll(x, shifts, dims):
    if not shifts:
        raise RuntimeError("roll(): `shifts` required")
    if not dims:
        if len(shifts) != 1:
            raise RuntimeError(f"roll(): shifts and dimensions must align. shifts: {len(shifts)}, "
                               "dims: 0")
        return _op["view"](roll(_op["reshape"](x, (-1,)), shifts, (0,)), x.shape)
    if len(shifts) != len(dims):
        raise RuntimeError(f"roll(): shifts and dimensions must align. shifts: {len(shifts)}, "
                           f"dims: {len(dims)}")
    result = x
    for shift, dim in zip(shifts, dims, strict=True):
        result = _roll_one(result, shift, _wrap(dim, x.ndim, "roll"))
    return _op["clone"](x) if result is x else result


def _roll_one(x, shift, dim):
    size = x.shape[dim] if x.ndim else 1
    shift = shift % size if size else 0
    if shift == 0:
        return x
    return _op["cat"]([_op["narrow"](x, dim, size - shift, shift),
                       _op["narrow"](x, dim, 0, size - shift)], dim)


def rot90(x, k, dims):
    if len(dims) != 2:
        raise RuntimeError(f"rot90(): expected total rotation dims == 2, but got dims = "
                           f"{list(dims)}")
    if x.ndim < 2:
        raise RuntimeError(f"rot90(): expected total dims >= 2, but got shape {list(x.shape)}")
    a, b = _wrap(dims[0], x.ndim, "rot90"), _wrap(dims[1], x.ndim, "rot90")
    if a == b:
        raise RuntimeError(f"rot90(): expected rotation dims to be different, but got {list(dims)}")
    k %= 4
    if k == 0:
        return _op["clone"](x)
    if k == 2:
        return _op["flip"](x, (a, b))
    x = _op["flip"](x, (b,) if k == 1 else (a,))
    return _op["transpose"](x, a, b)


def msort(x):
    return _op["sort"](x, 0)[0]


def repeat_interleave(x, repeats, dim, output_size):
    if dim is None:
        x, dim = _op["reshape"](x, (-1,)), 0
    dim = _wrap(dim, x.ndim, "repeat_interleave")
    if x.ndim == 0:
        x = _op["reshape"](x, (1,))
    size = x.shape[dim]
    if isinstance(repeats, int):
        return _repeat_all(x, repeats, dim, output_size)
    if not isinstance(repeats, Tensor):
        repeats = _core.as_tensor(repeats, device=x.device)
    if repeats.numel() == 1 and repeats.ndim <= 1:
        repeats = _op["expand"](_op["reshape"](repeats, (1,)), (size,))
    elif repeats.ndim == 1 and repeats.numel() != size:
        raise RuntimeError(f"repeat_interleave(): repeats must have the same size as input along "
                           f"dim, but got repeats.size(0) = {repeats.numel()} and input.size("
                           f"{dim}) = {size}")
    return _op["index_select"](x, dim, repeat_interleave__places(repeats, output_size))


def _repeat_all(x, repeats, dim, output_size):
    if repeats < 0:
        raise RuntimeError(f"repeat_interleave(): repeats can not be negative, got {repeats}")
    shape = list(x.shape)
    total = shape[dim] * repeats
    if output_size is not None and output_size != total:
        raise RuntimeError(f"repeat_interleave(): allocated size does not match required size: "
                           f"output_size is {output_size}, but {total} slices are needed")
    wide = _op["expand"](_op["unsqueeze"](x, dim + 1),
                         (*shape[:dim + 1], repeats, *shape[dim + 1:]))
    return _op["view"](_copied(wide), (*shape[:dim], total, *shape[dim + 1:]))


def repeat_interleave__places(repeats, output_size):
    if output_size is None:
        output_size = _op["sum"](repeats).item()
    if output_size < 0:
        raise RuntimeError("repeat_interleave(): repeats can not be negative")
    return _op["repeat_places"](repeats, output_size)


# ---- borders and pixels --------------------------------------------------------------------------
_PAD_MODES = {"reflect": 0, "replicate": 1, "circular": 2}


def pad(x, widths, mode, value):
    if mode == "constant":
        return _op["constant_pad_nd"](x, widths, 0 if value is None else value)
    if mode not in _PAD_MODES:
        raise NotImplementedError(f"pad(): mode {mode!r} is not known; use 'constant', 'reflect', "
                                  "'replicate' or 'circular'")
    if value not in (None, 0):
        raise ValueError(f'pad(): Padding mode "{mode}" doesn\'t take in value argument')
    if len(widths) not in (2, 4, 6) or x.ndim not in (len(widths) // 2 + 1, len(widths) // 2 + 2):
        raise NotImplementedError(
            "pad(): Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now: 2 "
            "widths for 2 or 3 dimensions, 4 for 3 or 4, 6 for 4 or 5; got "
            f"{list(widths)} for shape {list(x.shape)}")
    if mode == "circular" and any([w < 0 for w in widths]):
        x = _op["constant_pad_nd"](x, [w if w < 0 else 0 for w in widths])
        widths = [w if w > 0 else 0 for w in widths]
    return _op["pad_by"](x, widths, _PAD_MODES[mode])


def _factor(what, factor, x, least):
    if factor <= 0:
        raise RuntimeError(f"{what}(): expects a positive factor, but got {factor}")
    if x.ndim < least:
        raise RuntimeError(f"{what}(): expects input to have at least {least} dimensions, but got "
                           f"shape {list(x.shape)}")


def pixel_shuffle(x, r):
    _factor("pixel_shuffle", r, x, 3)
    *batch, c, h, w = x.shape
    if c % (r * r):
        raise RuntimeError(f"pixel_shuffle(): expects its input's 'channel' dimension to be "
                           f"divisible by the square of upscale_factor, but input.size(-3)={c} is "
                           f"not divisible by {r * r}")
    n = len(batch)
    x = _op["reshape"](x, (*batch, c // (r * r), r, r, h, w))
    x = _op["permute"](x, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return _op["reshape"](x, (*batch, c // (r * r), h * r, w * r))


def pixel_unshuffle(x, r):
    _factor("pixel_unshuffle", r, x, 3)
    *batch, c, h, w = x.shape
    if h % r or w % r:
        raise RuntimeError(f"pixel_unshuffle(): expects height and width to be divisible by "
                           f"downscale_factor {r}, but got shape {list(x.shape)}")
    n = len(batch)
    x = _op["reshape"](x, (*batch, c, h // r, r, w // r, r))
    x = _op["permute"](x, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return _op["reshape"](x, (*batch, c * r * r, h // r, w // r))


def channel_shuffle(x, groups):
    _factor("channel_shuffle", groups, x, 3)
    batch, c, *rest = x.shape
    if c % groups:
        raise RuntimeError(f"channel_shuffle(): number of channels must be divisible by groups. Got "
                           f"{c} channels and {groups} groups.")
    x = _op["reshape"](x, (batch, groups, c // groups, *rest))
    return _op["reshape"](_op["transpose"](x, 1, 2), (batch, c, *rest))
