"""Products, convolutions, pooling, norms, attention."""

from __future__ import annotations

import math
from typing import Any

from flambeau.jit.dims import Dim
from flambeau.jit.ir import Node, Value
from flambeau.onnx.exporting.builder import Builder, Name
from flambeau.onnx.exporting.shapes import reshaped
from flambeau.onnx.exporting.table import each, emits, refuse
from flambeau.onnx.exporting.windows import places_in_planes


@emits("matmul")
def write_matmul(b: Builder, node: Node, x: Value, other: Value) -> Name:
    return b.add("MatMul", b.of(x), b.of(other))


@emits("linear")
def write_linear(
    b: Builder, node: Node, x: Value, weight: Value, bias: Value | None = None
) -> Name:
    if len(x.shape) == 2 and len(weight.shape) == 2:
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
    n = len(x.shape) - 2
    rest = (b.of(bias),) if bias is not None else ()
    return b.add(
        "Conv",
        b.of(x),
        b.of(weight),
        *rest,
        strides=each(stride, n),
        pads=each(padding, n) * 2,
        dilations=each(dilation, n),
        group=groups,
    )


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
    n = len(x.shape) - 2
    strides, pads, steps = each(stride, n), each(padding, n), each(dilation, n)
    more = []
    for i in range(n):
        into, out, kernel = x.shape[2 + i], node.outputs[0].shape[2 + i], weight.shape[2 + i]
        if isinstance(into, Dim) or isinstance(out, Dim) or isinstance(kernel, Dim):
            return refuse(
                node, "sizes of images that vary are not written for transposed convolutions"
            )
        usual = (into - 1) * strides[i] - 2 * pads[i] + steps[i] * (kernel - 1) + 1
        more.append(out - usual)
    return b.add(
        "ConvTranspose",
        b.of(x),
        b.of(weight),
        strides=strides,
        pads=pads * 2,
        dilations=steps,
        group=groups,
        output_padding=more if any(more) else None,
    )


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
    if bool(ceil_mode) and any(each(padding, n)):
        refuse(node, "ceil_mode with padding is counted otherwise by ONNX")
    found = b.add_several(
        len(node.outputs),
        "MaxPool",
        _batched(b, x, n),
        kernel_shape=each(kernel, n),
        strides=each(stride or kernel, n),
        pads=each(padding, n) * 2,
        dilations=each(dilation, n),
        ceil_mode=int(bool(ceil_mode)),
    )
    if len(x.shape) == n + 1:
        found = [reshaped(b, name, node.outputs[0].shape) for name in found]
    if len(found) > 1:
        found[1] = places_in_planes(b, found[1], x, n)
    return found


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
        refuse(node, "divisor_override has no form in ONNX; multiply the result instead")
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
    factor = 1 / math.sqrt(int(width)) if scale is None else scale  # type: ignore[arg-type]
    scores = b.add(
        "MatMul",
        b.add("Mul", b.of(query), b.constant(factor, query.dtype)),
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


@emits("quantized_linear")
def write_quantized_linear(
    b: Builder, node: Node, x: Value, weight: Value, scales: Value, bias: Any = None
) -> Name:
    """Rows rounded as here, and the exact product of integers: the same bits."""
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


@emits("resample")
def write_resample(
    b: Builder, node: Node, x: Value, size: Any, mode: Any, align: Any, scales: Any
) -> Name:
    forms = {
        "nearest": ("nearest", "asymmetric", "floor"),
        "nearest-exact": ("nearest", "half_pixel", "round_prefer_ceil"),
        "bilinear": ("linear", "half_pixel", None),
        "linear": ("linear", "half_pixel", None),
        "trilinear": ("linear", "half_pixel", None),
        "cubic": ("cubic", "half_pixel", None),
    }
    if mode not in forms:
        refuse(node, f"interpolation of mode {mode!r} is not written")
    kind, where, rounding = forms[mode]
    return b.add(
        "Resize",
        b.of(x),
        "",
        "",
        b.shape(node.outputs[0].shape),
        mode=kind,
        coordinate_transformation_mode="align_corners" if align else where,
        nearest_mode=rounding,
        cubic_coeff_a=-0.75 if kind == "cubic" else None,
    )
