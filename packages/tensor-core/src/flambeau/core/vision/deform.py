"""Convolution whose points are moved by offsets."""
from __future__ import annotations

import flambeau
from flambeau.core import Tensor


def _points(offset: Tensor, kernel: tuple[int, int], stride: tuple[int, int],
            padding: tuple[int, int], dilation: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """Rows and columns that are read: shapes ``(N * groups, points, OH, OW)``."""
    images, both, down, across = offset.shape
    points = kernel[0] * kernel[1]
    moved = offset.reshape(images * (both // (2 * points)), points, 2, down, across)

    def numbers(count: int, step: int, shape: tuple[int, ...]) -> Tensor:
        return (flambeau.arange(count, dtype=offset.dtype, device=offset.device) * step
                ).reshape(shape)

    taps_y = numbers(kernel[0], dilation[0], (-1, 1)).expand(kernel).reshape(-1, 1, 1)
    taps_x = numbers(kernel[1], dilation[1], (1, -1)).expand(kernel).reshape(-1, 1, 1)
    y = moved[:, :, 0] + (taps_y + numbers(down, stride[0], (1, -1, 1)) - padding[0])
    x = moved[:, :, 1] + (taps_x + numbers(across, stride[1], (1, 1, -1)) - padding[1])
    return y, x


def _interpolated(maps: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """Interpolate between pixels, those outside being zero, exactly at integers.

    Args:
        maps: Shape ``(M, C, H, W)``.
        y: Rows of the points, shape ``(M, P)``.
        x: Columns of the points, shape ``(M, P)``.

    Returns:
        Shape ``(M, C, P)``.
    """
    height, width = maps.shape[2:]
    flat = maps.flatten(2)
    top, left = y.detach().floor(), x.detach().floor()
    below, right = y - top, x - left
    found = flat.new_zeros(())
    for row, down in ((top, 1 - below), (top + 1, below)):
        for column, across in ((left, 1 - right), (left + 1, right)):
            held = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            place = row.clamp(0, height - 1) * width + column.clamp(0, width - 1)
            index = place.to(flambeau.int64).unsqueeze(1).expand(-1, maps.size(1), -1)
            found = found + flat.gather(2, index) * (down * across * held).unsqueeze(1)
    return found


def deform_conv2d(input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor,
                  stride_h: int, stride_w: int, pad_h: int, pad_w: int, dilation_h: int,
                  dilation_w: int, groups: int, offset_groups: int, use_mask: bool) -> Tensor:
    """Convolution whose points are moved by offsets, and weighed by a mask.

    Args:
        input: Shape ``(N, C, H, W)``.
        weight: Shape ``(O, C / groups, KH, KW)``.
        offset: Shape ``(N, 2 * offset_groups * KH * KW, OH, OW)``: of each point, down and across.
        mask: Shape ``(N, offset_groups * KH * KW, OH, OW)``, if `use_mask`.
        bias: Shape ``(O,)``.
        stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w: As in a convolution.
        groups: Of channels, as in a convolution.
        offset_groups: Of channels that are moved alike.
        use_mask: Whether there is a mask.

    Returns:
        Shape ``(N, O, OH, OW)``; differentiable in all tensors.
    """
    images, channels, height, width = input.shape
    out, _, kh, kw = weight.shape
    down = (height + 2 * pad_h - dilation_h * (kh - 1) - 1) // stride_h + 1
    across = (width + 2 * pad_w - dilation_w * (kw - 1) - 1) // stride_w + 1
    expected = (images, 2 * offset_groups * kh * kw, down, across)
    if tuple(offset.shape) != expected:
        raise RuntimeError(f"deform_conv2d: offset should have shape {expected}, (images, 2 * "
                           "offset groups * taps of the kernel, rows and columns of the result), "
                           f"got {tuple(offset.shape)}")
    points = (images, offset_groups * kh * kw, down, across)
    if use_mask and tuple(mask.shape) != points:
        wrong = next((i for i in range(4) if mask.shape[i] != points[i]), 0)
        raise RuntimeError(f"deform_conv2d: mask.shape[{wrong}] is not valid: mask should have "
                           f"shape {points}, got {tuple(mask.shape)}")
    if channels % offset_groups:
        raise RuntimeError(f"deform_conv2d: {channels} channels cannot be in {offset_groups} "
                           "offset groups alike")
    y, x = _points(offset, (kh, kw), (stride_h, stride_w), (pad_h, pad_w), (dilation_h, dilation_w))
    alike = channels // offset_groups
    found = _interpolated(input.reshape(images * offset_groups, alike, height, width),
                          y.flatten(1), x.flatten(1))
    found = found.reshape(images, offset_groups, alike, kh * kw, down * across)
    if use_mask:
        found = found * mask.reshape(images, offset_groups, 1, kh * kw, down * across)
    columns = found.reshape(images, groups, channels // groups * kh * kw, down * across)
    result = weight.reshape(1, groups, out // groups, -1) @ columns
    return result.reshape(images, out, down, across) + bias.reshape(-1, 1, 1)
