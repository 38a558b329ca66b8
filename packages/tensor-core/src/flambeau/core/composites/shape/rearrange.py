"""Composite operators of another order and of borders."""
from flambeau.core import _core
from flambeau.core.composites.shape.shapes import _wrap

_op = _core.operators()
Tensor = _core.Tensor


# ---- order ---------------------------------------------------------------------------------------


def fliplr(x):
    if x.ndim < 2:
        raise RuntimeError(f"fliplr(): Input must be >= 2-d, got shape {list(x.shape)}")
    return _op["flip"](x, (1,))


def flipud(x):
    if x.ndim < 1:
        raise RuntimeError("flipud(): Input must be >= 1-d, got a 0-d tensor")
    return _op["flip"](x, (0,))


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
    return _op["index_select"](x, dim, repeat_interleave__indices(repeats, output_size))


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
    return _op["view"](_op["contiguous_copy"](wide), (*shape[:dim], total, *shape[dim + 1:]))


def repeat_interleave__indices(repeats, output_size):
    if repeats.dtype.name not in ("int32", "int64"):
        raise _core.ArgumentError(f"repeat_interleave(): expected 'repeats' to have dtype int32 or "
                                  f"int64, got {repeats.dtype}; write repeats.long()")
    if output_size is None:
        output_size = _op["sum"](repeats).item()
    if output_size < 0:
        raise RuntimeError("repeat_interleave(): repeats can not be negative")
    return _op["repeat_indices"](repeats, output_size)


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
    if mode != "circular" and 0 in x.shape[-(len(widths) // 2) - 1:]:
        raise RuntimeError(f"pad(): mode {mode!r} has nothing to repeat where shape "
                           f"{list(x.shape)} is empty; only the batch may be empty")
    if mode == "circular" and min(widths) < 0:
        x = _op["constant_pad_nd"](x, [w if w < 0 else 0 for w in widths])
        widths = [w if w > 0 else 0 for w in widths]
    return _op["pad_by"](x, widths, _PAD_MODES[mode])
