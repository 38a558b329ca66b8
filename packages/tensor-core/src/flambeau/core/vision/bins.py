"""Regions of interest as maxima or means of whole pixels: `roi_pool` and `ps_roi_pool`."""
from __future__ import annotations

import math
from collections.abc import Iterator

import flambeau
from flambeau.core import Tensor
from flambeau.core.vision.checks import check_channels, check_rois
from flambeau.core.vision.points import channel_mapping
from flambeau.core.vision.recording import recorded


def _rounded(value: float) -> int:
    """The nearest integer, halves away from zero."""
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def _edges(start: int, size: int, bins: int, limit: int, like: Tensor) -> list[tuple[int, int]]:
    """Where the bins of a region begin and end in one direction, in the features' own rounding."""
    step = like.new_tensor(size) / bins
    numbers = flambeau.arange(bins + 1, dtype=like.dtype)
    first, last = (numbers * step).floor().tolist(), (numbers * step).ceil().tolist()
    return [(min(max(int(a) + start, 0), limit), min(max(int(b) + start, 0), limit))
            for a, b in zip(first[:-1], last[1:], strict=True)]


def _regions(rois: Tensor, scale: float, bins: tuple[int, int], limits: tuple[int, int],
             more: int) -> Iterator[tuple[int, list[tuple[int, int]], list[tuple[int, int]]]]:
    """Of each region: its image, and the edges of its bins from top to bottom and across."""
    rois = rois.detach().cpu()
    like = rois.new_empty(0)
    for row, scaled in zip(rois.tolist(), (rois[:, 1:] * scale).tolist(), strict=True):
        x1, y1, x2, y2 = map(_rounded, scaled)
        yield (int(row[0]), _edges(y1, max(y2 - y1 + more, 1), bins[0], limits[0], like),
               _edges(x1, max(x2 - x1 + more, 1), bins[1], limits[1], like))


def roi_pool(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int,
             pooled_width: int) -> tuple[Tensor, Tensor]:
    """Regions of feature maps at one size: each bin the maximum of its pixels.

    Args:
        input: Shape ``(N, C, H, W)``.
        rois: Shape ``(K, 5)``: the image, and x1, y1, x2, y2.
        spatial_scale: From the coordinates of `rois` to those of the maps.
        pooled_height: Bins of a region from top to bottom.
        pooled_width: From left to right.

    Returns:
        Shape ``(K, C, pooled_height, pooled_width)``, differentiable in `input`, and where in its
        map each maximum is, int32; -1 where a bin is empty and its value 0.
    """
    check_rois("roi_pool", input, rois)
    found = recorded("roi_pool", input, rois, spatial_scale, pooled_height, pooled_width)
    if found is not None:
        return found
    channels, height, width = input.shape[1:]
    places, images = [], []
    plain = input.detach()
    for image, rows, columns in _regions(rois, spatial_scale, (pooled_height, pooled_width),
                                         (height, width), 1):
        images.append(image)
        for top, bottom in rows:
            for left, right in columns:
                if bottom <= top or right <= left:
                    places.append(flambeau.full((channels,), -1, device=input.device))
                    continue
                inner = plain[image, :, top:bottom, left:right].flatten(1).argmax(1)
                across = right - left
                places.append((inner // across + top) * width + inner % across + left)
    shape = (len(images), channels, pooled_height, pooled_width)
    if not places:
        return (input.new_zeros(shape) + 0 * input.sum(),
                flambeau.zeros(shape, dtype=flambeau.int32, device=input.device))
    argmax = flambeau.stack(places).reshape(len(images), -1, channels).transpose(1, 2)
    maps = input.flatten(2)[flambeau.tensor(images, device=input.device)]
    most = maps.gather(2, argmax.clamp(min=0)).masked_fill(argmax < 0, 0)
    return most.reshape(shape), argmax.reshape(shape).to(flambeau.int32)


def ps_roi_pool(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int,
                pooled_width: int) -> tuple[Tensor, Tensor]:
    """Means of the pixels of bins, each of which has channels of its own (position-sensitive).

    Returns:
        Shape ``(K, C / bins, pooled_height, pooled_width)``, and the channel of each, int32.
    """
    check_rois("ps_roi_pool", input, rois)
    check_channels("ps_roi_pool", input, pooled_height, pooled_width)
    channels, height, width = input.shape[1:]
    bins, means = pooled_height * pooled_width, []
    # The last row and column are left out of bins that end there, as torchvision does.
    for image, rows, columns in _regions(rois, spatial_scale, (pooled_height, pooled_width),
                                         (height - 1, width - 1), 0):
        for i, (top, bottom) in enumerate(rows):
            for j, (left, right) in enumerate(columns):
                part = input[image, i * pooled_width + j::bins, top:bottom, left:right]
                empty = bottom <= top or right <= left
                means.append(input.new_zeros(channels // bins) if empty else part.mean((1, 2)))
    shape = (rois.size(0), channels // bins, pooled_height, pooled_width)
    if not means:
        found = input.new_zeros(shape) + 0 * input.sum()
    else:
        found = flambeau.stack(means).reshape(rois.size(0), bins, -1).transpose(1, 2)
        found = found.reshape(shape)
    return found, channel_mapping(found)
