"""What finds elements, so that values decide how many there are."""

from __future__ import annotations

from flambeau.jit.ir import Node, Value
from flambeau.jit.opset import NMS, NUMBER, ROI_ALIGN, ROI_POOL
from flambeau.onnx.exporting.builder import DTYPES, Builder, Name
from flambeau.onnx.exporting.table import emits

_ALL = 2**31 - 1


@emits("nonzero")
def write_nonzero(b: Builder, node: Node, x: Value) -> Name:
    return b.add("Transpose", b.add("NonZero", b.of(x)), perm=[1, 0])


@emits("masked_select")
def write_masked_select(b: Builder, node: Node, x: Value, mask: Value) -> Name:
    name, chosen = b.of(x), b.of(mask)
    if x.shape != mask.shape:
        name = b.add("Expand", name, b.add("Shape", chosen))
        chosen = b.add("Expand", chosen, b.add("Shape", name))
    flat = b.whole(-1)
    return b.add("Compress", b.add("Reshape", name, flat), b.add("Reshape", chosen, flat), axis=0)


@emits(NMS)
def write_nms(b: Builder, node: Node, boxes: Value, scores: Value, threshold: float) -> Name:
    given = [b.add("Unsqueeze", b.cast(b.of(value), value.dtype, "float32"), b.whole(*axes))
             for value, axes in ((boxes, (0,)), (scores, (0, 1)))]
    found = b.add("NonMaxSuppression", *given, b.whole(_ALL), b.constant([threshold], "float32"))
    return b.add("Gather", found, b.constant(2, "int64"), axis=1)


@emits(ROI_ALIGN)
def write_roi_align(b: Builder, node: Node, x: Value, rois: Value, scale: float, height: int,
                    width: int, ratio: int, aligned: bool) -> Name:
    images = b.add("Cast", b.add("Gather", b.of(rois), b.constant(0, "int64"), axis=1),
                   to=DTYPES["int64"])
    return b.add("RoiAlign", b.of(x), _corners(b, rois), images, mode="avg", output_height=height,
                 output_width=width, sampling_ratio=0, spatial_scale=float(scale),
                 coordinate_transformation_mode="half_pixel" if aligned else "output_half_pixel")


@emits(ROI_POOL)
def write_roi_pool(b: Builder, node: Node, x: Value, rois: Value, scale: float, height: int,
                   width: int) -> list[Name]:
    return [b.add("MaxRoiPool", b.of(x), b.of(rois), pooled_shape=[height, width],
                  spatial_scale=float(scale))]


def _corners(b: Builder, rois: Value) -> Name:
    return b.add("Slice", b.of(rois), b.whole(1), b.whole(5), b.whole(1))


@emits(NUMBER)
def write_number(b: Builder, node: Node, x: Value) -> Name:
    """No more than its size is used: that is the number."""
    number = b.add("Reshape", b.cast(b.of(x), x.dtype, "int64"), b.whole(1))
    b.sizes[str(node.outputs[0].shape[0])] = number
    return number
