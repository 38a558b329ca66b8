"""The operators of torchvision's compiled library, composed of Flambeau's own."""
from __future__ import annotations

from typing import Any

from flambeau.as_torch.stands.vision.bins import ps_roi_pool, roi_pool
from flambeau.as_torch.stands.vision.boxes import nms
from flambeau.as_torch.stands.vision.deform import deform_conv2d
from flambeau.as_torch.stands.vision.points import ps_roi_align, roi_align


def _cuda_version() -> int:
    """-1: what checks versions of CUDA has nothing to compare."""
    return -1


OPERATORS: dict[str, Any] = {
    "nms": nms, "roi_align": roi_align, "roi_pool": roi_pool, "ps_roi_align": ps_roi_align,
    "ps_roi_pool": ps_roi_pool, "deform_conv2d": deform_conv2d, "_cuda_version": _cuda_version,
}
