"""Convolutions."""

from __future__ import annotations

from typing import Any

import flambeau as fl
from flambeau.core.vision.deform import deform_conv2d
from flambeau.nn import functional as F
from flambeau.onnx.importing.operators.products import requantized
from flambeau.onnx.importing.operators.windows import Windows, padded, windows_of
from flambeau.onnx.importing.table import Call, computes

_FORWARD = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def _convolve(call: Call, x: fl.Tensor, w: fl.Tensor, bias: fl.Tensor | None = None) -> fl.Tensor:
    d = w.ndim - 2
    if d not in _FORWARD:
        raise call.refuse(f"images of {d} dimensions are not convolved; 1 to 3 are")
    windows = windows_of(call, x.shape[2:], list(w.shape[2:]))
    padding: Any = windows.before if windows.is_even else 0
    x = x if windows.is_even else padded(x, windows, 0)
    return _FORWARD[d](x, w, bias, windows.strides, padding, windows.dilations,
                       call.get("group", 1))


@computes("Conv")
def conv(call: Call, x: fl.Tensor, w: fl.Tensor, bias: fl.Tensor | None = None) -> fl.Tensor:
    """A convolution."""
    return _convolve(call, x, w, bias)


@computes("ConvInteger")
def conv_integer(call: Call, x: fl.Tensor, w: fl.Tensor, x_zero: fl.Tensor | None = None,
                 w_zero: fl.Tensor | None = None) -> fl.Tensor:
    """A convolution of bytes, in int32; sums of float64 are exact."""
    return _convolve(call, _less(x, x_zero), _less(w, w_zero)).to(fl.int32)


@computes("QLinearConv")
def qlinear_conv(call: Call, x: fl.Tensor, x_scale: fl.Tensor, x_zero: fl.Tensor, w: fl.Tensor,
                 w_scale: fl.Tensor, w_zero: fl.Tensor, y_scale: fl.Tensor, y_zero: fl.Tensor,
                 bias: fl.Tensor | None = None) -> fl.Tensor:
    """A convolution of bytes, rounded to bytes."""
    whole = _convolve(call, _less(x, x_zero), _less(w, w_zero),
                      None if bias is None else bias.double())
    scale = (x_scale * w_scale / y_scale).reshape(-1, *[1] * (w.ndim - 2))
    return requantized(whole.float() * scale, y_zero)


def _less(x: fl.Tensor, zero: fl.Tensor | None) -> fl.Tensor:
    if zero is None:
        return x.double()
    shape = [-1, *[1] * (x.ndim - 1)] if zero.numel() > 1 else []
    return x.double() - zero.double().reshape(shape)


@computes("ConvTranspose")
def conv_transpose(call: Call, x: fl.Tensor, w: fl.Tensor, bias: fl.Tensor | None = None
                   ) -> fl.Tensor:
    """The derivative of a convolution by its image."""
    d = w.ndim - 2
    if d not in _TRANSPOSED:
        raise call.refuse(f"images of {d} dimensions are not convolved; 1 to 3 are")
    kernel = list(w.shape[2:])
    strides, dilations = call.get("strides") or [1] * d, call.get("dilations") or [1] * d
    extra = call.get("output_padding") or [0] * d
    before, after = _cut(call, x, kernel, strides, dilations, extra)
    if before == after and all(n >= 0 for n in before) and all(
            e < max(s, w) for e, s, w in zip(extra, strides, dilations, strict=True)):
        return _TRANSPOSED[d](x, w, bias, strides, before, extra, call.get("group", 1), dilations)
    y = _TRANSPOSED[d](x, w, bias, strides, 0, 0, call.get("group", 1), dilations)
    flat = [n for k in reversed(range(d)) for n in (-before[k], extra[k] - after[k])]
    return F.pad(y, flat) if bias is None else _padded_with(y, flat, bias)


def _padded_with(y: fl.Tensor, flat: list[int], bias: fl.Tensor) -> fl.Tensor:
    """Elements that no window reaches are the bias."""
    shape = (-1, *[1] * (y.ndim - 2))
    return F.pad(y - bias.reshape(shape), flat) + bias.reshape(shape)


def _cut(call: Call, x: fl.Tensor, kernel: list[int], strides: list[int], dilations: list[int],
         extra: list[int]) -> tuple[list[int], list[int]]:
    """How many elements are taken from the start and the end of each dimension."""
    d = len(kernel)
    auto = call.get("auto_pad", "NOTSET")
    wanted = call.get("output_shape")
    if wanted is None and auto not in ("SAME_UPPER", "SAME_LOWER"):
        pads = call.get("pads") or [0] * 2 * d
        return (list(pads[:d]), list(pads[d:])) if auto == "NOTSET" else ([0] * d, [0] * d)
    image = list(x.shape[2:])
    wanted = [n * s for n, s in zip(image, strides, strict=True)] if wanted is None else wanted
    total = [s * (n - 1) + e + (k - 1) * w + 1 - out for n, s, e, k, w, out in zip(
        image, strides, extra, kernel, dilations, wanted[-d:], strict=True)]
    less, more = [n // 2 for n in total], [n - n // 2 for n in total]
    return (less, more) if auto == "SAME_UPPER" else (more, less)


@computes("DeformConv")
def deform_conv(call: Call, x: fl.Tensor, w: fl.Tensor, offset: fl.Tensor,
                bias: fl.Tensor | None = None, mask: fl.Tensor | None = None) -> fl.Tensor:
    """A convolution whose windows' elements are moved."""
    windows: Windows = windows_of(call, x.shape[2:], list(w.shape[2:]))
    if w.ndim != 4:
        raise call.refuse(f"only images of 2 dimensions are convolved so, not of {w.ndim - 2}")
    if not windows.is_even:
        x = padded(x, windows, 0)
    pads = windows.before if windows.is_even else [0, 0]
    groups, parts = call.get("group", 1), call.get("offset_group", 1)
    given = fl.ones(0, 1, dtype=x.dtype, device=x.device) if mask is None else mask
    biased = fl.zeros(w.shape[0], dtype=x.dtype, device=x.device) if bias is None else bias
    (sh, sw), (ph, pw), (dh, dw) = windows.strides, pads, windows.dilations
    return deform_conv2d(x, w, offset, given, biased, sh, sw, ph, pw, dh, dw, groups, parts,
                         mask is not None)
