"""Regions of interest as means of points between pixels: `roi_align` and `ps_roi_align`."""
from __future__ import annotations

from collections.abc import Iterator

import flambeau
from flambeau import rooms
from flambeau.core import Tensor
from flambeau.core._core import may_read
from flambeau.core.vision.checks import check_channels, check_rois
from flambeau.core.vision.recording import recorded

#: Elements that are sampled at once.
BLOCK = 1 << 24


def sample(features: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """Interpolate between pixels, zero further than one pixel outside.

    Args:
        features: Shape ``(1, C, H, W)``.
        y: Rows of the points, shape ``(K, P)``.
        x: Columns of the points, shape ``(K, Q)``.

    Returns:
        Shape ``(C, K, P, Q)``.
    """
    height, width = features.shape[2:]
    inside = ((y >= -1) & (y <= height)).unsqueeze(2) & ((x >= -1) & (x <= width)).unsqueeze(1)
    # grid_sample counts from -1 at the first pixel to 1 at the last.
    rows = y.clamp(0, height - 1) * (2 / max(height - 1, 1)) - 1
    columns = x.clamp(0, width - 1) * (2 / max(width - 1, 1)) - 1
    count, p, q = *y.shape, x.size(1)
    grid = flambeau.stack((columns.unsqueeze(1).expand(count, p, q),
                           rows.unsqueeze(2).expand(count, p, q)), -1)
    found = rooms.enter("nn").functional.grid_sample(
        features, grid.reshape(1, count * p, q, 2), padding_mode="border", align_corners=True)
    return found.reshape(-1, count, p, q) * inside


def gather_points(features: Tensor, images: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """Like `sample` for regions of any images, by indices: nothing is asked of their values.

    Args:
        features: Shape ``(N, C, H, W)``.
        images: The image of each region, shape ``(K,)``.
        y: Rows of the points, shape ``(K, P)``.
        x: Columns of the points, shape ``(K, Q)``.

    Returns:
        Shape ``(K, P, Q, C)``.
    """
    height, width = features.shape[2:]
    inside = ((y >= -1) & (y <= height)).unsqueeze(2) & ((x >= -1) & (x <= width)).unsqueeze(1)
    y, x = y.clamp(0, height - 1), x.clamp(0, width - 1)
    top, left = y.floor(), x.floor()
    down, right = (y - top)[:, :, None, None], (x - left)[:, None, :, None]
    rows = top.to(flambeau.int64), (top + 1).clamp(max=height - 1).to(flambeau.int64)
    columns = left.to(flambeau.int64), (left + 1).clamp(max=width - 1).to(flambeau.int64)
    pixels, images = features.permute(0, 2, 3, 1), images[:, None, None]
    upper, lower = (
        pixels[images, row[:, :, None], columns[0][:, None]] * (1 - right)
        + pixels[images, row[:, :, None], columns[1][:, None]] * right for row in rows)
    return (upper * (1 - down) + lower * down) * inside.unsqueeze(-1)


def _positions(start: Tensor, size: Tensor, bins: int, points: int) -> Tensor:
    """Where the points of each bin lie in one direction: shape ``(K, bins * points)``."""
    fraction = (flambeau.arange(points, dtype=start.dtype, device=start.device) + 0.5) / points
    steps = flambeau.arange(bins, dtype=start.dtype, device=start.device)
    return start[:, None] + (steps[:, None] + fraction).flatten() * (size / bins)[:, None]


def _groups(rois: Tensor, counts: list[tuple[int, int]], channels: int,
            bins: int) -> Iterator[tuple[int, int, int, Tensor]]:
    """Regions of one image with as many points, in blocks: image, points down, across, indices."""
    images = rois[:, 0].to(flambeau.int64).tolist()
    groups: dict[tuple[int, int, int], list[int]] = {}
    for index, key in enumerate(zip(images, counts, strict=True)):
        groups.setdefault((key[0], *key[1]), []).append(index)
    for (image, down, across), members in groups.items():
        size = max(1, BLOCK // max(1, channels * bins * down * across))
        for first in range(0, len(members), size):
            yield image, down, across, flambeau.tensor(members[first:first + size],
                                                       device=rois.device)


def _align(features: Tensor, rois: Tensor, scale: float, height: int, width: int, ratio: int,
           offset: float, smallest: float | None, dealt: bool) -> Tensor:
    """Means of the points of each bin; if `dealt`, each bin has channels of its own."""
    rois = rois.detach()
    x1, y1, x2, y2 = (rois[:, 1:] * scale - offset).unbind(1)
    w, h = x2 - x1, y2 - y1
    if smallest is not None:
        w, h = w.clamp(min=smallest), h.clamp(min=smallest)
    if ratio > 0 and not dealt:
        y, x = _positions(y1, h, height, ratio), _positions(x1, w, width, ratio)
        numbers = flambeau.arange(features.size(0), device=features.device)
        images = numbers.index_select(0, rois[:, 0].to(flambeau.int64))     # refuses -1
        return _of_any_image(features, images, y, x, (height, width, ratio))
    if ratio > 0:
        counts = [(ratio, ratio)] * rois.size(0)
    else:
        down, across = ((h / height).ceil().tolist(), (w / width).ceil().tolist())
        counts = [(max(int(a), 0), max(int(b), 0)) for a, b in zip(down, across, strict=True)]
    channels, bins = features.size(1), height * width
    parts, order = [], []
    for image, a, b, members in _groups(rois, counts, channels, bins):
        order.append(members)
        kept = channels // bins if dealt else channels
        if not a or not b:      # a region without an area has no points
            parts.append(features.new_zeros((members.numel(), kept, height, width)))
            continue
        y = _positions(y1[members], h[members], height, a)
        x = _positions(x1[members], w[members], width, b)
        parts.append(_means(features[image:image + 1], y, x, (height, a), (width, b), dealt))
    if not parts:
        kept = channels // bins if dealt else channels
        return features.new_zeros((0, kept, height, width)) + 0 * features.sum()
    return flambeau.cat(parts)[flambeau.cat(order).argsort()]


def _of_any_image(features: Tensor, images: Tensor, y: Tensor, x: Tensor,
                  bins: tuple[int, int, int]) -> Tensor:
    """Means of bins of as many points each, in blocks unless a trace records them."""
    (height, width, ratio), channels = bins, features.size(1)
    if may_read(y):
        size = max(1, BLOCK // max(1, channels * y.size(1) * x.size(1)))
        if y.size(0) > size:
            parts = zip(images.split(size), y.split(size), x.split(size), strict=True)
            return flambeau.cat([_of_any_image(features, i, a, b, bins) for i, a, b in parts])
    found = gather_points(features, images, y, x)
    found = found.reshape(y.size(0), height, ratio, width, ratio, channels)
    return found.mean((2, 4)).permute(0, 3, 1, 2)


def _means(image: Tensor, y: Tensor, x: Tensor, down: tuple[int, int], across: tuple[int, int],
           dealt: bool) -> Tensor:
    """The bins of regions that have as many points each: shape ``(K, C, height, width)``."""
    (height, a), (width, b) = down, across
    if not dealt:
        found = sample(image, y, x).reshape(-1, y.size(0), height, a, width, b)
        return found.mean((3, 5)).transpose(0, 1)
    bins = []
    for i in range(height):
        for j in range(width):
            found = sample(image[:, i * width + j::height * width],
                           y[:, i * a:(i + 1) * a], x[:, j * b:(j + 1) * b])
            bins.append(found.mean((2, 3)))
    return flambeau.stack(bins, 2).reshape(-1, y.size(0), height, width).transpose(0, 1)


def roi_align(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int,
              pooled_width: int, sampling_ratio: int, aligned: bool) -> Tensor:
    """Regions of feature maps at one size: each bin the mean of interpolated points in it.

    Args:
        input: Shape ``(N, C, H, W)``.
        rois: Shape ``(K, 5)``: the image, and x1, y1, x2, y2.
        spatial_scale: From the coordinates of `rois` to those of the maps.
        pooled_height: Bins of a region from top to bottom.
        pooled_width: From left to right.
        sampling_ratio: Points of a bin in each direction; not above 0: as many as it has pixels,
            which a trace does not know.
        aligned: Pixels are at their centres, half a pixel from their corners.

    Returns:
        Shape ``(K, C, pooled_height, pooled_width)``; differentiable in `input`.
    """
    check_rois("roi_align", input, rois)
    if sampling_ratio <= 0:
        found: Tensor | None = recorded("roi_align", input, rois, spatial_scale, pooled_height,
                                        pooled_width, sampling_ratio, aligned)
        if found is not None:
            return found
    return _align(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio,
                  0.5 if aligned else 0.0, None if aligned else 1.0, False)


def ps_roi_align(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int,
                 pooled_width: int, sampling_ratio: int) -> tuple[Tensor, Tensor]:
    """`roi_align` in which each bin has channels of its own (position-sensitive).

    Returns:
        Shape ``(K, C / bins, pooled_height, pooled_width)``, and the channel of each, int32.
    """
    check_rois("ps_roi_align", input, rois)
    check_channels("ps_roi_align", input, pooled_height, pooled_width)
    found = _align(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio,
                   0.5, None, True)
    return found, channel_mapping(found)


def channel_mapping(found: Tensor) -> Tensor:
    """Which channel each bin comes from: they are counted through."""
    numbers = flambeau.arange(found[:1].numel(), dtype=flambeau.int32, device=found.device)
    return numbers.reshape(1, *found.shape[1:]).repeat(found.size(0), 1, 1, 1)
