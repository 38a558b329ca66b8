"""Operators of images and boxes."""

from __future__ import annotations

from typing import Any

import flambeau as fl
from flambeau.core.vision import points
from flambeau.core.vision.boxes import nms
from flambeau.nn import functional as F
from flambeau.onnx.importing.table import Call, computes

_MODES = {"linear": "bilinear", "bilinear": "bilinear", "nearest": "nearest", "cubic": "bicubic",
          "bicubic": "bicubic"}


@computes("GridSample")
def grid_sample(call: Call, x: fl.Tensor, grid: fl.Tensor) -> fl.Tensor:
    """Images read at given places."""
    mode = _MODES[call.get("mode", "linear")]
    return F.grid_sample(x, grid.to(x.dtype), mode, call.get("padding_mode", "zeros"),
                         bool(call.get("align_corners", 0)))


@computes("AffineGrid", host=(1,))
def affine_grid(call: Call, theta: fl.Tensor, size: list[int]) -> fl.Tensor:
    """The places of an image moved by a matrix."""
    return F.affine_grid(theta, size, bool(call.get("align_corners", 0)))


@computes("RoiAlign")
def roi_align(call: Call, x: fl.Tensor, rois: fl.Tensor, batch: fl.Tensor) -> fl.Tensor:
    """Boxes of images at one size, of points between pixels."""
    half = call.get("coordinate_transformation_mode",
                    "half_pixel" if call.opset >= 16 else "output_half_pixel") == "half_pixel"
    height, width = call.get("output_height", 1), call.get("output_width", 1)
    scale, ratio = call.get("spatial_scale", 1.0), call.get("sampling_ratio", 0)
    if call.get("mode", "avg") == "max":
        return _greatest(x, rois, batch, (height, width), scale, ratio, half)
    boxes = fl.cat([batch.to(rois.dtype).unsqueeze(1), rois], 1)
    return points.roi_align(x, boxes, scale, height, width, ratio, half)


def _greatest(x: fl.Tensor, rois: fl.Tensor, batch: fl.Tensor, size: tuple[int, int],
              scale: float, ratio: int, half: bool) -> fl.Tensor:
    """The greatest of a bin's weighted pixels, four of each point."""
    found = []
    for box, image in zip(rois.tolist(), batch.tolist(), strict=True):
        x0, y0, x1, y1 = (each * scale - (0.5 if half else 0) for each in box)
        high, wide = y1 - y0, x1 - x0
        if not half:
            high, wide = max(high, 1.0), max(wide, 1.0)
        rows, row = _points(y0, high, size[0], ratio, x.shape[2])
        columns, column = _points(x0, wide, size[1], ratio, x.shape[3])
        plane = x[image]
        parts = [plane[:, rows[a]][:, :, columns[b]] * (row[a].unsqueeze(-1) * column[b])
                 for a in range(2) for b in range(2)]
        bins = fl.stack(parts).amax(0)
        found.append(bins.reshape(-1, size[0], rows[0].numel() // size[0], size[1],
                                  columns[0].numel() // size[1]).amax((2, 4)))
    return fl.stack(found)


def _points(start: float, length: float, bins: int, ratio: int, n: int) -> tuple[Any, Any]:
    """For each point of a dimension its two pixels and their weights."""
    count = ratio if ratio > 0 else max(-int(-length // bins), 1)
    at = start + (fl.arange(bins * count, dtype=fl.float32) + 0.5) * (length / bins / count)
    inside = ((at >= -1) & (at <= n)).to(fl.float32)
    at = fl.clamp(at, 0, n - 1)
    low = fl.clamp(at.floor().to(fl.int64), max=n - 1)
    high = fl.clamp(low + 1, max=n - 1)
    part = at - low
    return (low, high), ((1 - part) * inside, part * inside)


@computes("NonMaxSuppression", host=(2, 3, 4))
def non_max_suppression(call: Call, boxes: fl.Tensor, scores: fl.Tensor, most: Any = None,
                        overlap: Any = None, least: Any = None) -> fl.Tensor:
    """Boxes by their scores, without those that overlap better ones of their class."""
    count = int(_first(most, 0))
    found = []
    for b in range(scores.shape[0]):
        corners = _corners(boxes[b], call.get("center_point_box", 0))
        for c in range(scores.shape[1]):
            score = scores[b, c]
            kept = fl.arange(score.shape[0])
            if least is not None:
                kept = fl.nonzero(score > _first(least, 0.0)).reshape(-1)
            chosen = nms(corners[kept], score[kept], _first(overlap, 0.0))
            found += [[b, c, k] for k in kept[chosen][:count].tolist()]
    return fl.tensor(found, dtype=fl.int64).reshape(-1, 3)


def _first(value: Any, otherwise: Any) -> Any:
    if value is None:
        return otherwise
    return value[0] if isinstance(value, list) else value


def _corners(boxes: fl.Tensor, centered: int) -> fl.Tensor:
    if centered:
        x, y, w, h = boxes.unbind(-1)
        return fl.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], -1)
    y0, x0, y1, x1 = boxes.unbind(-1)
    return fl.stack([fl.minimum(x0, x1), fl.minimum(y0, y1), fl.maximum(x0, x1),
                     fl.maximum(y0, y1)], -1)
