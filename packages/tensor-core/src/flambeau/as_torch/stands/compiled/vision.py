"""The operators of torchvision's compiled library, composed of Flambeau's own."""
from __future__ import annotations

from typing import Any

from flambeau.core.vision.bins import ps_roi_pool, roi_pool
from flambeau.core.vision.boxes import nms
from flambeau.core.vision.deform import deform_conv2d
from flambeau.core.vision.points import ps_roi_align, roi_align


def _cuda_version() -> int:
    """-1: what checks versions of CUDA has nothing to compare."""
    return -1


NAMESPACE = "torchvision"
_ROIS = "Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_SIZES = ", ".join(f"SymInt {name}" for name in (
    "stride_h", "stride_w", "pad_h", "pad_w", "dilation_h", "dilation_w", "groups",
    "offset_groups"))

#: Operators with their schemas. Where there is no function, an operator is only named: gradients
#: are those of the operators that others are composed of.
OPERATORS: dict[str, Any] = {
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor": nms,
    f"roi_align({_ROIS}, int sampling_ratio, bool aligned) -> Tensor": roi_align,
    f"roi_pool({_ROIS}) -> (Tensor, Tensor)": roi_pool,
    f"ps_roi_align({_ROIS}, int sampling_ratio) -> (Tensor, Tensor)": ps_roi_align,
    f"ps_roi_pool({_ROIS}) -> (Tensor, Tensor)": ps_roi_pool,
    f"deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, {_SIZES}"
    ", bool use_mask) -> Tensor": deform_conv2d,
    "_cuda_version() -> int": _cuda_version,
    **{f"{name}(Tensor input) -> Tensor": None for name in (
        "qnms", "qroi_align", "_roi_align_backward", "_roi_pool_backward",
        "_ps_roi_align_backward", "_ps_roi_pool_backward", "_deform_conv2d_backward")},
}
