"""Products of weights in few bits, and of integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.core.quantized.packing import Layout
from flambeau.jit.ir import Node, Value
from flambeau.onnx.exporting.builder import Builder, Name
from flambeau.onnx.exporting.table import each, emits
from onnx import TensorProto, helper


@emits("quantized_linear")
def write_quantized_linear(
    b: Builder, node: Node, x: Value, weight: Value, scales: Value, bias: Any = None
) -> Name:
    """Rows rounded as here, and the exact product of integers: the same bits."""
    if b.quantized == "qdq":
        return _by_scales(b, node, x, weight, scales, bias)
    rows = b.operand(x, "float32")
    most = b.add("ReduceMax", b.add("Abs", rows), b.whole(-1), keepdims=1)
    step = b.add("Div", most, b.constant(127, "float32"))
    zero = b.add("Less", step, b.constant(1.17549435e-38, "float32"))
    scale = b.add("Div", b.constant(127, "float32"), most)
    scale = b.add("Where", zero, b.constant(0, "float32"), scale)
    whole = b.cast(b.add("Round", b.add("Mul", rows, scale)), "float32", "int8")
    product = b.add("MatMulInteger", whole, b.add("Transpose", b.of(weight), perm=[1, 0]))
    worth = b.add("Mul", step, b.of(scales))
    # Between the cast and the product, as onnxruntime joins the two where they follow each other,
    # and takes the factors for those of columns alone.
    sums = b.add("Where", zero, b.constant(0, "float32"), b.cast(product, "int32", "float32"))
    result = b.add("Mul", sums, worth)
    if bias is not None:
        result = b.add("Add", result, b.of(bias))
    return b.cast(result, "float32", x.dtype)


def _by_scales(b: Builder, node: Node, x: Value, weight: Value, scales: Value, bias: Any) -> Name:
    """``QuantizeLinear`` and ``DequantizeLinear`` around a product of floats."""
    rows = b.add("Reshape", b.operand(x, "float32"), b.add(
        "Concat", b.whole(-1), b.size(weight.shape[1]), axis=0))
    most = b.add("ReduceMax", b.add("Abs", rows), b.whole(1), keepdims=0)
    step = b.add("Div", most, b.constant(127, "float32"))
    small = b.add("Less", step, b.constant(1.17549435e-38, "float32"))
    step = b.add("Where", small, b.constant(1, "float32"), step)
    zeros = b.add("Expand", b.constant(0, "int8"), b.add("Shape", step))
    whole = b.add("QuantizeLinear", rows, step, zeros, axis=0)
    spread = b.add("DequantizeLinear", b.of(weight), b.of(scales), axis=0)
    product = b.add("MatMul", b.add("DequantizeLinear", whole, step, zeros, axis=0),
                    b.add("Transpose", spread, perm=[1, 0]))
    result = product if bias is None else b.add("Add", product, b.of(bias))
    return b.cast(b.add("Reshape", result, b.shape(node.outputs[0].shape)), "float32", x.dtype)


@emits("quantized_conv")
def write_quantized_conv(
    b: Builder, node: Node, x: Value, weight: Value, sums: Value, scales: Value, bias: Any,
    kernel_size: Any, stride: Any, padding: Any, dilation: Any, groups: int, input_scale: float,
    input_zero: int, scale: float, zero_point: int, relu: bool,
) -> Name | list[Name]:
    """``ConvInteger``, whose sums are exact; what follows are the same roundings."""
    held, worth, n = b.tensors.get(weight), b.tensors.get(scales), len(kernel_size)
    added = None if bias is None else b.tensors.get(bias)
    channels, signed = x.shape[-1 - n], 128 if x.dtype == "int8" else 0
    if held is None or worth is None or (added is None) != (bias is None) or \
            not isinstance(channels, int):
        return []
    dilations = each(dilation, n)
    layout = Layout(len(worth), channels // groups, tuple(kernel_size), groups, dilations[-1])
    image = b.of(x)
    if signed:      # onnxruntime has no sums of signed pixels
        moved = b.add("Add", b.cast(image, "int8", "int32"), b.constant(signed, "int32"))
        image = b.cast(moved, "int32", "uint8")
    if len(x.shape) == n + 1:
        image = b.add("Unsqueeze", image, b.whole(0))
    exact = b.add("ConvInteger", image,
                  b.tensor(b.fresh("weight"), layout.unpack(held).contiguous().numpy()),
                  b.constant(input_zero + signed, "uint8"), strides=each(stride, n),
                  pads=each(padding, n) * 2, dilations=dilations, group=groups)
    steps, along = b.cast(exact, "int32", "float32"), (-1, *[1] * n)
    one = np.float32(input_scale) * worth.numpy()
    if added is not None:
        shift = (added.numpy() / one).reshape(along)
        steps = b.add("Add", steps, b.constant(shift, "float32"))
    factor = (one / np.float32(scale)).reshape(along)
    steps = b.add("Round", b.add("Mul", steps, b.constant(factor, "float32")))
    steps = b.add("Add", steps, b.constant(zero_point, "float32"))
    low = max(zero_point, -signed) if relu else -signed
    result = b.add("Clip", steps, b.constant(low, "float32"),
                   b.constant(255 - signed, "float32"))
    result = b.cast(result, "float32", x.dtype)
    return b.add("Squeeze", result, b.whole(0)) if len(x.shape) == n + 1 else result


@emits("weight_only_linear")
def write_weight_only_linear(b: Builder, node: Node, x: Value, weight: Value,
                             scales: Value | None = None, offsets: Value | None = None,
                             bias: Value | None = None, group: int = 0) -> Name | list[Name]:
    """``DequantizeLinear``, with blocks from version 21 on; before, arithmetic on the bytes."""
    held, columns = b.tensors.get(weight), x.shape[-1]
    if held is None or not isinstance(columns, int) or (
            scales is not None and b.opset < 21 and (group or weight.dtype == "uint8")):
        return []
    spread = b.cast(b.of(weight), weight.dtype, "float32") if scales is None else \
        _spread(b, held, scales, offsets, group, columns)
    product = b.add("MatMul", b.operand(x, "float32"), b.add("Transpose", spread, perm=[1, 0]))
    if bias is not None:
        product = b.add("Add", product, b.operand(bias, "float32"))
    return b.cast(product, "float32", node.outputs[0].dtype)


def _spread(b: Builder, held: Any, scales: Value, offsets: Value | None, group: int,
            columns: int) -> Name:
    """A weight as a matrix of float32."""
    values, kind = held.numpy(), "INT8"
    if values.dtype == np.uint8:
        blocks = values.reshape(len(values), -1, 16)
        values = np.concatenate([blocks & 15, blocks >> 4], 2).reshape(len(values), -1)[:, :columns]
        kind = "UINT4" if offsets is not None else "INT4"
        values = values if offsets is not None else values.astype(np.int8) - 8
    name, shape = b.fresh("weight"), values.shape
    if kind != "INT8":
        flat = np.pad(values.ravel().astype(np.uint8) & 15, (0, values.size % 2))
        values = flat[::2] | flat[1::2] << 4
    b.initializers.append(helper.make_tensor(name, getattr(TensorProto, kind), shape,
                                             values.tobytes(), raw=True))
    factors = b.operand(scales, "float32")
    if b.opset < 21:
        spread = b.add("DequantizeLinear", name, b.add("Squeeze", factors, b.whole(1)), axis=0)
    else:           # by rows, too: onnxruntime rounds inputs where weights have an axis only
        spread = b.add("DequantizeLinear", name, factors, axis=1, block_size=group or columns)
    if offsets is None:
        return spread
    added = b.operand(offsets, "float32")
    if group:
        added = b.add("Gather", added, b.constant(np.arange(columns) // group, "int64"), axis=1)
    return b.add("Add", spread, added)
