"""Operators that arrange elements."""

from __future__ import annotations

import math
from typing import Any

import flambeau as fl
from flambeau.nn import functional as F
from flambeau.onnx.importing.table import Call, computes, given_axes
from flambeau.onnx.importing.values import Host, numbers_of, sizes


@computes("Shape", raw=True)
def shape(call: Call, x: Any) -> Host:
    """The sizes, or some of them."""
    found = x.array.shape if isinstance(x, Host) else x.shape
    return sizes(tuple(found)[call.get("start", 0):call.get("end")])


@computes("Size", raw=True)
def size(call: Call, x: Any) -> Host:
    """The number of elements."""
    whole: Any = 1
    for n in x.array.shape if isinstance(x, Host) else x.shape:
        whole = whole * n
    return Host(sizes([whole]).array.reshape(()), fl.int64)


@computes("Reshape", host=(1,))
def reshape(call: Call, x: fl.Tensor, shape: list[int] | None = None) -> fl.Tensor:
    """The same elements in another shape; 0 keeps a size."""
    wanted = list(call.get("shape") if shape is None else shape)
    if not call.get("allowzero"):
        wanted = [x.shape[d] if isinstance(n, int) and n == 0 else n
                  for d, n in enumerate(wanted)]
    return fl.reshape(x, wanted)


@computes("Flatten")
def flatten(call: Call, x: fl.Tensor) -> fl.Tensor:
    """A matrix."""
    axis = call.get("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    if axis == 0:
        return x.reshape(1, -1) if x.numel() else x.reshape(1, 0)
    rows: Any = 1
    for n in x.shape[:axis]:
        rows = rows * n
    columns: Any = 1
    for n in x.shape[axis:]:
        columns = columns * n
    return x.reshape(rows, columns)


@computes("Transpose")
def transpose(call: Call, x: fl.Tensor) -> fl.Tensor:
    """Dimensions in another order."""
    return x.permute(call.get("perm", list(range(x.ndim))[::-1]))


@computes("Squeeze", host=(1,))
def squeeze(call: Call, x: fl.Tensor, axes: list[int] | None = None) -> fl.Tensor:
    """Without dimensions of one element."""
    found = given_axes(call, axes)
    if found is None:
        return x.squeeze()
    for axis in found:
        if x.shape[axis] != 1:
            raise call.refuse(f"dimension {axis} of shape {list(x.shape)} is not 1")
    return x.squeeze(tuple(found))


@computes("Unsqueeze", host=(1,))
def unsqueeze(call: Call, x: fl.Tensor, axes: Any = None) -> fl.Tensor:
    """Further dimensions of one element."""
    found = call.get("axes") if axes is None else axes if isinstance(axes, list) else [axes]
    ndim = x.ndim + len(found)
    for axis in sorted(axis % ndim for axis in found):
        x = x.unsqueeze(axis)
    return x


@computes("Expand", host=(1,))
def expand(call: Call, x: fl.Tensor, shape: list[int]) -> fl.Tensor:
    """Broadcast with a shape."""
    n = max(x.ndim, len(shape))
    own = [1] * (n - x.ndim) + list(x.shape)
    other = [1] * (n - len(shape)) + list(shape)
    return x.expand([b if a == 1 else a for a, b in zip(own, other, strict=True)])


@computes("Concat")
def concat(call: Call, *values: fl.Tensor) -> fl.Tensor:
    """One after the other."""
    return fl.cat(values, call.get("axis", 1 if call.opset < 4 else None))


@computes("Split", host=(1,))
def split(call: Call, x: fl.Tensor, lengths: list[int] | None = None) -> tuple[fl.Tensor, ...]:
    """Parts along a dimension; the last may be smaller."""
    axis = call.get("axis", 0)
    lengths = call.get("split") if lengths is None else lengths
    if lengths is None:
        count = call.get("num_outputs") or len(call.outputs)
        length = -(-x.shape[axis] // count)
        lengths = [length] * (count - 1) + [x.shape[axis] - length * (count - 1)]
    return tuple(fl.split(x, lengths, axis))


@computes("Slice", host=(1, 2, 3, 4))
def cut(call: Call, x: fl.Tensor, starts: Any = None, ends: Any = None, axes: Any = None,
        steps: Any = None) -> fl.Tensor:
    """Parts with a step, which may go backwards."""
    starts = call.get("starts") if starts is None else starts
    ends = call.get("ends") if ends is None else ends
    axes = given_axes(call, axes) or list(range(len(starts)))
    for first, last, axis, step in zip(starts, ends, axes, steps or [1] * len(starts),
                                       strict=True):
        index: list[Any] = [slice(None)] * x.ndim
        if step > 0:
            index[axis] = slice(first, last, step)
            x = x[tuple(index)]
            continue
        taken = range(*slice(first, max(last, -2**62), step).indices(x.shape[axis]))
        if last < -x.shape[axis]:
            taken = range(*slice(first, None, step).indices(x.shape[axis]))
        index[axis] = slice(taken[-1], taken[0] + 1, -step) if len(taken) else slice(0, 0)
        x = x[tuple(index)].flip(axis)
    return x


@computes("Tile", host=(1,))
def tile(call: Call, x: fl.Tensor, repeats: list[int]) -> fl.Tensor:
    """Copies side by side."""
    return x.repeat(repeats)


@computes("ConstantOfShape", host=(0,), placed=True)
def constant_of_shape(call: Call, shape: list[int]) -> fl.Tensor:
    """A number everywhere."""
    value = call.get("value")
    if value is None:
        return fl.zeros(shape, device=call.device)
    number = numbers_of(value)
    dtype = value.dtype
    return fl.full(shape, number[0] if isinstance(number, list) else number, dtype=dtype,
                   device=call.device)


@computes("EyeLike")
def eye_like(call: Call, x: fl.Tensor) -> fl.Tensor:
    """Ones on a diagonal."""
    from flambeau.onnx.importing.reading import dtype_of

    rows, columns = x.shape
    dtype = dtype_of(call.get("dtype")) if call.get("dtype") else x.dtype
    k = call.get("k", 0)
    row = fl.arange(rows, device=x.device).unsqueeze(1)
    return (fl.arange(columns, device=x.device) - row == k).to(dtype)


@computes("Range", raw=True, placed=True)
def arange(call: Call, start: Any, limit: Any, delta: Any) -> fl.Tensor:
    """Numbers at equal distances."""
    first, last, step = (each[0] if isinstance(each, list) else each
                         for each in map(numbers_of, (start, limit, delta)))
    wide = fl.float64 if start.dtype.is_floating_point else fl.int64
    return fl.arange(first, last, step, dtype=wide, device=call.device).to(start.dtype)


@computes("Trilu", host=(1,))
def trilu(call: Call, x: fl.Tensor, k: Any = None) -> fl.Tensor:
    """The upper or lower triangle."""
    diagonal = k[0] if isinstance(k, list) else k or 0
    return fl.triu(x, diagonal) if call.get("upper", 1) else fl.tril(x, diagonal)


@computes("DepthToSpace")
def depth_to_space(call: Call, x: fl.Tensor) -> fl.Tensor:
    """Channels to blocks of the image."""
    n, c, h, w = x.shape
    b = call.get("blocksize")
    if call.get("mode", "DCR") == "DCR":
        x = x.reshape(n, b, b, c // (b * b), h, w).permute(0, 3, 4, 1, 5, 2)
    else:
        x = x.reshape(n, c // (b * b), b, b, h, w).permute(0, 1, 4, 2, 5, 3)
    return x.reshape(n, c // (b * b), h * b, w * b)


@computes("SpaceToDepth")
def space_to_depth(call: Call, x: fl.Tensor) -> fl.Tensor:
    """Blocks of the image to channels."""
    n, c, h, w = x.shape
    b = call.get("blocksize")
    x = x.reshape(n, c, h // b, b, w // b, b)
    order = (0, 3, 5, 1, 2, 4) if call.get("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    return x.permute(order).reshape(n, c * b * b, h // b, w // b)


@computes("Pad", host=(1, 3))
def pad(call: Call, x: fl.Tensor, pads: list[int] | None = None,
        value: fl.Tensor | None = None, axes: list[int] | None = None) -> fl.Tensor:
    """Elements added at the ends of dimensions, or taken away where negative."""
    pads = (call.get("pads") or call.get("paddings")) if pads is None else pads
    assert pads is not None
    axes = list(range(x.ndim)) if axes is None else axes
    mode = call.get("mode", "constant")
    ends = {axis % x.ndim: (pads[k], pads[k + len(axes)]) for k, axis in enumerate(axes)}
    if mode == "constant":
        number = call.get("value", 0.0) if value is None else value.item()
        number = number if x.is_floating_point() else int(number)
        flat = [n for d in reversed(range(x.ndim)) for n in ends.get(d, (0, 0))]
        return F.pad(x, flat, value=number)
    for axis, (before, after) in ends.items():
        if before or after:
            n = x.shape[axis]
            index = fl.arange(-before, n + after, device=x.device)
            x = x.index_select(axis, _inside(call, index, n, mode))
    return x


def _inside(call: Call, index: fl.Tensor, n: int, mode: str) -> fl.Tensor:
    if mode == "edge":
        return fl.clamp(index, 0, n - 1)
    if mode == "wrap":
        return fl.remainder(index, n)
    if mode != "reflect":
        raise call.refuse(f"mode {mode!r} is none of constant, edge, reflect and wrap")
    period = max(2 * (n - 1), 1)
    return (n - 1) - fl.abs((n - 1) - fl.remainder(index, period))


@computes("ReverseSequence", host=(1,))
def reverse_sequence(call: Call, x: fl.Tensor, lengths: list[int]) -> fl.Tensor:
    """The first elements of each sequence the other way round."""
    time, batch = call.get("time_axis", 0), call.get("batch_axis", 1)
    order = x.transpose(0, batch) if batch else x
    rows = []
    for row, length in zip(order.unbind(0), lengths, strict=True):
        axis = time if batch == 0 else 0
        axis = axis - 1 if axis > 0 else 0
        rows.append(fl.cat([row.narrow(axis, 0, length).flip(axis),
                            row.narrow(axis, length, row.shape[axis] - length)], axis))
    found = fl.stack(rows)
    return found.transpose(0, batch) if batch else found


@computes("CenterCropPad", host=(1,))
def center_crop_pad(call: Call, x: fl.Tensor, shape: list[int]) -> fl.Tensor:
    """The middle of each dimension, with zeros around where it is too small."""
    axes = call.get("axes", range(x.ndim))
    for axis, wanted in zip(axes, shape, strict=True):
        n = x.shape[axis]
        if n > wanted:
            x = x.narrow(axis, (n - wanted) // 2, wanted)
        elif n < wanted:
            before = (wanted - n) // 2
            flat = [0, 0] * (x.ndim - 1 - axis % x.ndim) + [before, wanted - n - before]
            x = F.pad(x, flat)
    return x


@computes("Col2Im", host=(1, 2))
def col2im(call: Call, x: fl.Tensor, image: list[int], block: list[int]) -> fl.Tensor:
    """Blocks added where they overlap in an image."""
    d = len(image)
    strides, dilations = call.get("strides", [1] * d), call.get("dilations", [1] * d)
    pads = call.get("pads", [0] * 2 * d)
    padded = [n + pads[k] + pads[k + d] for k, n in enumerate(image)]
    index = fl.zeros(1, 1, dtype=fl.int64)
    for n, b, s, w in zip(padded, block, strides, dilations, strict=True):
        steps = (n - w * (b - 1) - 1) // s + 1
        here = fl.arange(b).unsqueeze(1) * w + fl.arange(steps) * s
        index = (index.reshape(index.shape[0], 1, index.shape[1], 1) * n
                 + here.reshape(1, b, 1, steps)).reshape(index.shape[0] * b, -1)
    batch, channels = x.shape[0], x.shape[1] // math.prod(block)
    flat = x.reshape(batch, channels, -1)
    out = fl.zeros(batch, channels, math.prod(padded), dtype=x.dtype, device=x.device)
    out = out.index_add(2, index.reshape(-1).to(x.device), flat).reshape(batch, channels, *padded)
    for k, n in enumerate(image):
        out = out.narrow(k + 2, pads[k], n)
    return out
