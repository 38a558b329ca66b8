"""What finds elements, so that values decide how many there are."""

from __future__ import annotations

from flambeau.jit.ir import Node, Value
from flambeau.jit.opset import NMS, NUMBER
from flambeau.onnx.exporting.builder import Builder, Name
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


@emits(NUMBER)
def write_number(b: Builder, node: Node, x: Value) -> Name:
    """No more than its size is used: that is the number."""
    number = b.add("Reshape", b.cast(b.of(x), x.dtype, "int64"), b.whole(1))
    b.sizes[str(node.outputs[0].shape[0])] = number
    return number
