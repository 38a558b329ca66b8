"""Products, convolutions, pooling, norms, attention."""

from __future__ import annotations

import math
from typing import Any

from flambeau.jit.dims import Dim
from flambeau.jit.ir import Node, Value
from flambeau.onnx.exporting.builder import Builder, Name
from flambeau.onnx.exporting.shapes import reshaped
from flambeau.onnx.exporting.table import each, emits, refuse
from flambeau.onnx.exporting.windows import fixed, places_in_planes


@emits("matmul")
def write_matmul(b: Builder, node: Node, x: Value, other: Value) -> Name:
    return b.add("MatMul", b.of(x), b.of(other))


@emits("linear")
def write_linear(
    b: Builder, node: Node, x: Value, weight: Value, bias: Value | None = None
) -> Name:
    if len(x.shape) == 2 and len(weight.shape) == 2 and "float" in x.dtype:
        rest = (b.of(bias),) if bias is not None else ()
        return b.add("Gemm", b.of(x), b.of(weight), *rest, transB=1)
    turned = b.of(weight)
    if len(weight.shape) == 2:
        turned = b.add("Transpose", turned, perm=[1, 0])
    product = b.add("MatMul", b.of(x), turned)
    return product if bias is None else b.add("Add", product, b.of(bias))


@emits("conv2d", "conv3d")
def write_conv(
    b: Builder,
    node: Node,
    x: Value,
    weight: Value,
    bias: Value | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Name:
    n = len(weight.shape) - 2
    rest = (b.of(bias),) if bias is not None else ()
    result = b.add(
        "Conv",
        _batched(b, x, n),
        b.of(weight),
        *rest,
        strides=each(stride, n),
        pads=each(padding, n) * 2,
        dilations=each(dilation, n),
        group=groups,
    )
    return b.add("Squeeze", result, b.whole(0)) if len(x.shape) == n + 1 else result


@emits("conv2d_input_grad", "conv3d_input_grad")
def write_conv_transpose(
    b: Builder,
    node: Node,
    x: Value,
    weight: Value,
    size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Name:
    n = len(weight.shape) - 2
    strides, pads, steps = each(stride, n), each(padding, n), each(dilation, n)
    more = []
    for i in range(n):
        into, out = x.shape[i - n], node.outputs[0].shape[i - n]
        kernel = weight.shape[2 + i]
        if isinstance(into, Dim) or isinstance(out, Dim) or isinstance(kernel, Dim):
            return refuse(
                node, "sizes of images that vary are not written for transposed convolutions"
            )
        usual = (into - 1) * strides[i] - 2 * pads[i] + steps[i] * (kernel - 1) + 1
        more.append(out - usual)
    result = b.add(
        "ConvTranspose",
        _batched(b, x, n),
        b.of(weight),
        strides=strides,
        pads=pads * 2,
        dilations=steps,
        group=groups,
        output_padding=more if any(more) else None,
    )
    return b.add("Squeeze", result, b.whole(0)) if len(x.shape) == n + 1 else result


@emits(
    "max_pool2d_values",
    "max_pool2d_compact_indices",
    "max_pool2d_with_indices",
    "max_pool3d_with_indices",
)
def write_max_pool(
    b: Builder,
    node: Node,
    x: Value,
    kernel: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: Any = False,
) -> Name | list[Name]:
    n = 3 if "3d" in node.op else 2
    if not isinstance(kernel, int) and len(kernel) == 3:
        n = 3
    if node.op == "max_pool2d_compact_indices" and node.outputs[1] in b.used:
        return []
    pads = each(padding, n) * 2
    if bool(ceil_mode):
        steps = each(stride or kernel, n)
        pads = _pads_of_last(node, x, each(kernel, n), steps, each(padding, n), each(dilation, n))
    found = b.add_several(
        len(node.outputs),
        "MaxPool",
        _batched(b, x, n),
        kernel_shape=each(kernel, n),
        strides=each(stride or kernel, n),
        pads=pads,
        dilations=each(dilation, n),
    )
    if len(x.shape) == n + 1:
        found = [reshaped(b, name, node.outputs[0].shape) for name in found]
    if len(found) > 1:
        found[1] = places_in_planes(b, found[1], x, n)
    return found


def _pads_of_last(node: Node, x: Value, kernel: list[int], stride: list[int], padding: list[int],
                  dilation: list[int]) -> list[int]:
    """Padding that takes in the last window of ``ceil_mode``, which ONNX counts otherwise."""
    n, ends = len(kernel), []
    sizes = fixed(node, *x.shape[-n:], *node.outputs[0].shape[-n:])
    for i in range(n):
        needed = (sizes[n + i] - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1
        ends.append(max(needed - sizes[i] - padding[i], 0))
    return [*padding, *ends]


def _batched(b: Builder, x: Value, n: int) -> Name:
    """An image without a batch gets one."""
    return b.add("Unsqueeze", b.of(x), b.whole(0)) if len(x.shape) == n + 1 else b.of(x)


@emits("avg_pool2d", "avg_pool3d")
def write_avg_pool(
    b: Builder,
    node: Node,
    x: Value,
    kernel: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil_mode: Any = False,
    counts_pad: Any = True,
    divisor: Any = None,
) -> Name:
    n = 3 if "3d" in node.op else 2
    if divisor is not None:
        refuse(node, "divisor_override with ceil_mode has no form in ONNX; multiply the result")
    result = b.add(
        "AveragePool",
        _batched(b, x, n),
        kernel_shape=each(kernel, n),
        strides=each(stride or kernel, n),
        pads=each(padding, n) * 2,
        ceil_mode=int(bool(ceil_mode)),
        count_include_pad=int(bool(counts_pad)),
    )
    return reshaped(b, result, node.outputs[0].shape) if len(x.shape) == n + 1 else result


@emits("native_batch_norm")
def write_batch_norm(
    b: Builder,
    node: Node,
    x: Value,
    weight: Any,
    bias: Any,
    mean: Any,
    variance: Any,
    training: Any,
    momentum: Any,
    eps: Any,
) -> Name:
    if training or mean is None:
        return _moments_norm(b, node, x, weight, bias, eps)
    channels = mean.shape
    scale = (
        b.of(weight)
        if weight is not None
        else b.add("Expand", b.constant(1, x.dtype), b.shape(channels))
    )
    shift = (
        b.of(bias)
        if bias is not None
        else b.add("Expand", b.constant(0, x.dtype), b.shape(channels))
    )
    return b.add(
        "BatchNormalization", b.of(x), scale, shift, b.of(mean), b.of(variance), epsilon=float(eps)
    )


def _moments_norm(b: Builder, node: Node, x: Value, weight: Any, bias: Any, eps: Any) -> Name:
    """A norm by the batch's own mean and variance."""
    axes = [0, *range(2, len(x.shape))]
    mean = b.add("ReduceMean", b.of(x), b.whole(*axes), keepdims=1)
    away = b.add("Sub", b.of(x), mean)
    variance = b.add("ReduceMean", b.add("Mul", away, away), b.whole(*axes), keepdims=1)
    result = b.add("Div", away, b.add("Sqrt", b.add("Add", variance, b.constant(eps, x.dtype))))
    return affine(b, result, weight, bias, len(x.shape))


def affine(b: Builder, name: Name, weight: Value | None, bias: Value | None, rank: int) -> Name:
    """Times a weight for each channel, plus a bias."""
    along = b.whole(-1, *[1] * (rank - 2))
    if weight is not None:
        name = b.add("Mul", name, b.add("Reshape", b.of(weight), along))
    return name if bias is None else b.add("Add", name, b.add("Reshape", b.of(bias), along))


@emits("native_layer_norm")
def write_layer_norm(
    b: Builder, node: Node, x: Value, axes: int, weight: Any, bias: Any, eps: Any = 1e-5
) -> Name:
    scale = (
        b.of(weight)
        if weight is not None
        else b.add("Expand", b.constant(1, x.dtype), b.shape(x.shape[len(x.shape) - axes :]))
    )
    rest = (b.of(bias),) if bias is not None else ()
    return b.add("LayerNormalization", b.of(x), scale, *rest, axis=-axes, epsilon=float(eps))


@emits("native_group_norm")
def write_group_norm(
    b: Builder, node: Node, x: Value, weight: Any, bias: Any, groups: int, eps: Any
) -> Name:
    grouped = b.add("Reshape", b.of(x), b.whole(0, groups, -1))
    ones = b.add("Expand", b.constant(1, x.dtype), b.whole(groups))
    zeros = b.add("Expand", b.constant(0, x.dtype), b.whole(groups))
    normal = b.add("InstanceNormalization", grouped, ones, zeros, epsilon=float(eps))
    return affine(b, reshaped(b, normal, x.shape), weight, bias, len(x.shape))


@emits("attention")
def write_attention(
    b: Builder,
    node: Node,
    query: Value,
    key: Value,
    value: Value,
    mask: Any = None,
    is_causal: Any = False,
    scale: Any = None,
) -> Name:
    rank = len(query.shape)
    order = [*range(rank - 2), rank - 1, rank - 2]
    width = query.shape[-1]
    if scale is not None:
        factor = b.operand(scale, query.dtype)
    elif isinstance(width, Dim):
        factor = b.add("Reciprocal", b.add("Sqrt", b.operand(width, query.dtype)))
    else:
        factor = b.operand(1 / math.sqrt(width), query.dtype)
    scores = b.add(
        "MatMul",
        b.add("Mul", b.of(query), factor),
        b.add("Transpose", b.of(key), perm=order),
    )
    lowest = b.constant(-math.inf, query.dtype)
    if is_causal:
        ones = b.add("Expand", b.constant(1, "int32"), b.shape((query.shape[-2], key.shape[-2])))
        seen = b.cast(b.add("Trilu", ones, upper=0), "int32", "bool")
        scores = b.add("Where", seen, scores, lowest)
    if mask is not None and mask.dtype == "bool":
        scores = b.add("Where", b.of(mask), scores, lowest)
    elif mask is not None:
        scores = b.add("Add", scores, b.operand(mask, query.dtype))
    return b.add("MatMul", b.add("Softmax", scores, axis=-1), b.of(value))
