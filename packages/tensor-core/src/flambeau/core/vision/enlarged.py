"""Maps of regions enlarged to the regions' sizes, all at once: nothing is asked of values.

Sizes depend on values, so rows and columns are weighted by matrices instead: in one direction, a
pixel is a sum of the map's pixels, with weights that are 0 but for its neighbours'.
"""
from __future__ import annotations

import operator

import flambeau
from flambeau import rooms
from flambeau.core import Tensor


def paste_masks(masks: Tensor, boxes: Tensor, height: Tensor, width: Tensor) -> Tensor:
    """Masks at the size of their boxes, in images that are zero elsewhere.

    Args:
        masks: Shape ``(N, 1, M, M)``.
        boxes: First and last pixels as integers, shape ``(N, 4)``.
        height: The images' height, one integer.
        width: Their width.

    Returns:
        Shape ``(N, height, width)``.
    """
    x1, y1, x2, y2 = boxes.unbind(1)
    size = masks.shape[-1]
    rows = _linear(y1, (y2 - y1 + 1).clamp(min=1), operator.index(height), size)
    columns = _linear(x1, (x2 - x1 + 1).clamp(min=1), operator.index(width), size)
    return rows @ masks[:, 0] @ columns.transpose(1, 2)


def _linear(first: Tensor, count: Tensor, pixels: int, size: int) -> Tensor:
    """Weights of a map's pixels for those of an image: shape ``(N, pixels, size)``."""
    at = flambeau.arange(pixels) - first[:, None]
    inside = (at >= 0) & (at < count[:, None])
    places = (at + 0.5) * (size / count.float())[:, None] - 0.5
    apart = (places.clamp(0, size - 1)[..., None] - flambeau.arange(size)).abs()
    return (1 - apart).clamp(min=0) * inside[..., None]


def find_keypoints(maps: Tensor, rois: Tensor, widths_ceil: Tensor, heights_ceil: Tensor,
                   widths: Tensor, heights: Tensor, offset_x: Tensor, offset_y: Tensor,
                   num_keypoints: Tensor) -> tuple[Tensor, Tensor]:
    """Where the heatmaps of regions are greatest, enlarged to the regions.

    Args:
        maps: Shape ``(N, K, M, M)``.
        rois: Shape ``(N, 4)``.
        widths_ceil: Whole pixels of each region from left to right; the next, from top to bottom.
        widths: The regions' widths; the next, their heights.
        offset_x: Left edges; the next, upper edges.
        num_keypoints: Has no effect: ``K`` is a size of ``maps``.

    Returns:
        x, y and 1, shape ``(N, 3, K)``, and the greatest numbers, shape ``(N, K)``.
    """
    across = operator.index(widths_ceil.max().clamp(min=1).long())
    down = operator.index(heights_ceil.max().clamp(min=1).long())
    count, kinds, size = maps.shape[:3]
    rows, below = _cubic(heights_ceil, down, size)
    columns, beside = _cubic(widths_ceil, across, size)
    numbers = flambeau.arange(count)

    def step(i: Tensor, places: Tensor, most: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        one = i.reshape(1)
        found = rows.index_select(0, one) @ maps.index_select(0, one)[0] @ columns.index_select(
            0, one).transpose(1, 2)
        inside = below.index_select(0, one)[0, :, None] & beside.index_select(0, one)
        flat = found.masked_fill(~inside, float("-inf")).reshape(kinds, -1)
        where = flat.argmax(1)
        is_this = (numbers == i)[:, None]
        return (i + 1, flambeau.where(is_this, where, places),
                flambeau.where(is_this, flat.gather(1, where[:, None])[:, 0], most))

    start = (flambeau.zeros((), dtype=flambeau.int64),
             flambeau.zeros(count, kinds, dtype=flambeau.int64), maps.new_zeros(count, kinds))
    _, places, most = rooms.enter("jit").while_loop(
        lambda i, *_: i < flambeau.full((), count, dtype=flambeau.int64), step, start)
    x = ((places % across).float() + 0.5) * (widths / widths_ceil)[:, None] + offset_x[:, None]
    y = ((places // across).float() + 0.5) * (heights / heights_ceil)[:, None] + offset_y[:, None]
    return flambeau.stack((x, y, flambeau.ones_like(x)), 1), most


def _cubic(counts: Tensor, pixels: int, size: int) -> tuple[Tensor, Tensor]:
    """Weights, shape ``(N, pixels, size)``, and which pixels are within the count."""
    at = flambeau.arange(pixels).float()
    places = (at + 0.5) * (size / counts)[:, None] - 0.5
    first = places.floor()
    weights = flambeau.zeros((), dtype=counts.dtype)
    for tap in (-1, 0, 1, 2):
        pixel = (first + tap).clamp(0, size - 1)
        apart = (places - first - tap).abs()
        near = ((1.25 * apart - 2.25) * apart) * apart + 1
        far = ((-0.75 * apart + 3.75) * apart - 6) * apart + 3
        weight = near if tap in (0, 1) else far
        weights = weights + weight[..., None] * (pixel[..., None] == flambeau.arange(size))
    return weights, at < counts[:, None]
