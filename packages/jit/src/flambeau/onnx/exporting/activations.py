"""Activations that are not a node of their own, or have settings."""

from __future__ import annotations

import math
from typing import Any

from flambeau.jit.ir import Node, Value
from flambeau.onnx.exporting.builder import Builder, Name
from flambeau.onnx.exporting.table import emits


@emits("gelu_exact", "gelu_tanh")
def write_gelu(b: Builder, node: Node, x: Value) -> Name:
    if b.opset >= 20:
        return b.add("Gelu", b.of(x), approximate="tanh" if node.op == "gelu_tanh" else None)
    one, half = b.constant(1, x.dtype), b.constant(0.5, x.dtype)
    if node.op == "gelu_exact":
        inner = b.add("Erf", b.add("Mul", b.of(x), b.constant(math.sqrt(0.5), x.dtype)))
    else:
        cube = b.add("Mul", b.add("Mul", b.of(x), b.of(x)), b.of(x))
        sum_of = b.add("Add", b.of(x), b.add("Mul", cube, b.constant(0.044715, x.dtype)))
        inner = b.add("Tanh", b.add("Mul", sum_of, b.constant(math.sqrt(2 / math.pi), x.dtype)))
    return b.add("Mul", b.add("Mul", b.of(x), half), b.add("Add", inner, one))


@emits("silu")
def write_silu(b: Builder, node: Node, x: Value) -> Name:
    return b.add("Mul", b.of(x), b.add("Sigmoid", b.of(x)))


@emits("elu")
def write_elu(b: Builder, node: Node, x: Value, alpha: Any = 1.0) -> Name:
    return b.add("Elu", b.of(x), alpha=float(alpha))


@emits("leaky_relu")
def write_leaky_relu(b: Builder, node: Node, x: Value, slope: Any = 0.01) -> Name:
    return b.add("LeakyRelu", b.of(x), alpha=float(slope))


@emits("softplus")
def write_softplus(
    b: Builder, node: Node, x: Value, beta: Any = 1.0, threshold: Any = 20.0
) -> Name:
    scaled = b.of(x) if beta == 1 else b.add("Mul", b.of(x), b.constant(beta, x.dtype))
    soft = b.add("Softplus", scaled)
    if beta != 1:
        soft = b.add("Div", soft, b.constant(beta, x.dtype))
    return b.add("Where", b.add("Greater", scaled, b.constant(threshold, x.dtype)), b.of(x), soft)


@emits("prelu_rows")
def write_prelu(b: Builder, node: Node, x: Value, slope: Value) -> Name:
    name = b.of(x)
    if x.shape != node.outputs[0].shape:
        name = b.add("Expand", name, b.shape(node.outputs[0].shape))
    return b.add("PRelu", name, b.of(slope))


@emits("softmax", "log_softmax")
def write_softmax(b: Builder, node: Node, x: Value, dim: int, dtype: Any = None) -> Name:
    word = "Softmax" if node.op == "softmax" else "LogSoftmax"
    return b.add(word, b.operand(x, node.outputs[0].dtype), axis=dim)


@emits("hardsigmoid")
def write_hardsigmoid(b: Builder, node: Node, x: Value) -> Name:
    return b.add("HardSigmoid", b.of(x), alpha=1 / 6, beta=0.5)


@emits("elu_scaled")
def write_elu_scaled(b: Builder, node: Node, x: Value, alpha: Any, scale: Any, inner: Any) -> Name:
    """``scale * (x if x > 0 else alpha * (exp(inner * x) - 1))``: SELU and CELU."""
    one = b.constant(1, x.dtype)
    low = b.add("Sub", b.add("Exp", b.add("Mul", b.of(x), b.constant(inner, x.dtype))), one)
    low = b.add("Mul", low, b.constant(alpha, x.dtype))
    above = b.add("Greater", b.of(x), b.constant(0, x.dtype))
    return b.add("Mul", b.add("Where", above, b.of(x), low), b.constant(scale, x.dtype))


@emits("logsigmoid")
def write_logsigmoid(b: Builder, node: Node, x: Value) -> Name:
    return b.add("Neg", b.add("Softplus", b.add("Neg", b.of(x))))


@emits("softsign_of")
def write_softsign(b: Builder, node: Node, x: Value) -> Name:
    return b.add("Softsign", b.of(x))


@emits("tanhshrink")
def write_tanhshrink(b: Builder, node: Node, x: Value) -> Name:
    return b.add("Sub", b.of(x), b.add("Tanh", b.of(x)))


@emits("hardshrink")
def write_hardshrink(b: Builder, node: Node, x: Value, limit: Any = 0.5) -> Name:
    near = b.add("LessOrEqual", b.add("Abs", b.of(x)), b.constant(limit, x.dtype))
    return b.add("Where", near, b.constant(0, x.dtype), b.of(x))


@emits("softshrink_by")
def write_softshrink(b: Builder, node: Node, x: Value, limit: Any = 0.5) -> Name:
    return b.add("Shrink", b.of(x), lambd=float(limit), bias=float(limit))


@emits("threshold_at")
def write_threshold(b: Builder, node: Node, x: Value, threshold: Any, value: Any) -> Name:
    low = b.add("LessOrEqual", b.of(x), b.constant(threshold, x.dtype))
    return b.add("Where", low, b.constant(value, x.dtype), b.of(x))
