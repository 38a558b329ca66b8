"""Overlapping boxes."""
from __future__ import annotations

import flambeau
from flambeau.core import Tensor
from flambeau.core.vision.recording import recorded


def nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """The boxes that overlap none of a higher score (non-maximum suppression).

    Args:
        dets: Shape ``(N, 4)``: rows of (x1, y1, x2, y2).
        scores: Shape ``(N,)``.
        iou_threshold: Boxes whose intersection over union is larger overlap.

    Returns:
        The indices of the boxes that stay, int64, from the highest score down.
    """
    if dets.dim() != 2 or dets.size(1) != 4:
        raise RuntimeError(f"nms: boxes should have shape (boxes, 4), got {tuple(dets.shape)}")
    if scores.shape != dets.shape[:1]:
        raise RuntimeError(f"nms: there are {dets.size(0)} boxes and scores of shape "
                           f"{tuple(scores.shape)}; one score is needed for each")
    dets, scores = dets.detach(), scores.detach()
    found: Tensor | None = recorded("nms", dets, scores, float(iou_threshold))
    if found is not None:
        return found
    left = scores.argsort(descending=True, stable=True)
    x1, y1, x2, y2 = dets[left].unbind(1)
    areas = (x2 - x1) * (y2 - y1)
    kept = []
    while left.numel():
        kept.append(left[0])
        width = flambeau.minimum(x2[0], x2[1:]) - flambeau.maximum(x1[0], x1[1:])
        height = flambeau.minimum(y2[0], y2[1:]) - flambeau.maximum(y1[0], y1[1:])
        shared = width.clamp_(min=0) * height.clamp_(min=0)
        apart = ~(shared / (areas[0] + areas[1:] - shared) > iou_threshold)
        left, x1, y1, x2, y2, areas = (each[1:][apart] for each in (left, x1, y1, x2, y2, areas))
    return flambeau.stack(kept) if kept else left
