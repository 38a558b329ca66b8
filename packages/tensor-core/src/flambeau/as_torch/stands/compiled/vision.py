"""The operators of torchvision's compiled library, composed of Flambeau's own."""
from __future__ import annotations

from typing import Any

import flambeau
from flambeau.core import Tensor
from flambeau.core.vision.bins import ps_roi_pool, roi_pool
from flambeau.core.vision.boxes import nms
from flambeau.core.vision.deform import deform_conv2d
from flambeau.core.vision.points import ps_roi_align, roi_align


def _cuda_version() -> int:
    """-1: what checks versions of CUDA has nothing to compare."""
    return -1


def qnms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """`nms` of quantized boxes, given as integers: scales cancel out."""
    return nms(dets.float(), scores.float(), iou_threshold)


def qroi_align(input: Tensor, rois: Tensor, scale: float, zero_point: int, rois_scale: float,
               rois_zero_point: int, *options: Any) -> Tensor:
    """`roi_align` of a quantized image and boxes, given as integers; so is the result.

    Raises:
        RuntimeError: There are more images than one.
    """
    if input.size(0) > 1:
        raise RuntimeError("Only one image per batch is allowed in roi_align when quantized "
                           f"tensors are passed, got {input.size(0)}")
    found = roi_align((input - float(zero_point)) * scale,
                      (rois - float(rois_zero_point)) * rois_scale, *options)
    limits = flambeau.iinfo(input.dtype)
    return (found / scale + zero_point).round().clamp(limits.min, limits.max).to(input.dtype)


NAMESPACE = "torchvision"
_ROIS = "Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_SIZES = ", ".join(f"SymInt {name}" for name in (
    "stride_h", "stride_w", "pad_h", "pad_w", "dilation_h", "dilation_w", "groups",
    "offset_groups"))

#: Operators with their schemas. Where there is no function, an operator is only named: gradients
#: are those of the operators that others are composed of.
OPERATORS: dict[str, Any] = {
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor": nms,
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor": qnms,
    f"roi_align({_ROIS}, int sampling_ratio, bool aligned) -> Tensor": roi_align,
    "qroi_align(Tensor input, Tensor rois, float input_scale, int input_zero_point, "
    "float rois_scale, int rois_zero_point, float spatial_scale, SymInt pooled_height, "
    "SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor": qroi_align,
    f"roi_pool({_ROIS}) -> (Tensor, Tensor)": roi_pool,
    f"ps_roi_align({_ROIS}, int sampling_ratio) -> (Tensor, Tensor)": ps_roi_align,
    f"ps_roi_pool({_ROIS}) -> (Tensor, Tensor)": ps_roi_pool,
    f"deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, {_SIZES}"
    ", bool use_mask) -> Tensor": deform_conv2d,
    "_cuda_version() -> int": _cuda_version,
    **{f"{name}(Tensor input) -> Tensor": None for name in (
        "_roi_align_backward", "_roi_pool_backward", "_ps_roi_align_backward",
        "_ps_roi_pool_backward", "_deform_conv2d_backward")},
}
