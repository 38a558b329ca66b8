"""Bytes with a scale for each input and output, and weights of few bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau as fl
from flambeau.nn import functional as F
from flambeau.onnx.importing.operators.contributed.attention import attend_projected
from flambeau.onnx.importing.operators.pooling import average_pool
from flambeau.onnx.importing.operators.products import integer_product, requantized
from flambeau.onnx.importing.operators.quantized import dequantize, dynamic_quantize, quantize
from flambeau.onnx.importing.operators.recurrent import Gates, lstm_by_gates
from flambeau.onnx.importing.table import Call, contributed

contributed("QuantizeLinear")(quantize)
contributed("DequantizeLinear")(dequantize)

Maybe = fl.Tensor | None


def _real(x: fl.Tensor, scale: fl.Tensor, zero: Maybe) -> fl.Tensor:
    """The numbers that bytes stand for; scales of one element each."""
    whole = x.to(fl.int32) if zero is None else x.to(fl.int32) - zero.to(fl.int32).reshape([])
    return whole.float() * scale.reshape([])


def _bytes(y: fl.Tensor, scale: fl.Tensor, zero: Maybe, like: fl.dtype) -> fl.Tensor:
    """Numbers rounded to bytes."""
    if zero is None:
        zero = fl.zeros([], dtype=like, device=y.device)
    return requantized(y / scale.reshape([]), zero.reshape([]))


def _through(function: Callable[..., fl.Tensor]) -> Callable[..., fl.Tensor]:
    """An operator of one input on the numbers that bytes stand for."""

    def compute(call: Call, x: fl.Tensor, x_scale: fl.Tensor, x_zero: Maybe, y_scale: fl.Tensor,
                y_zero: Maybe = None) -> fl.Tensor:
        return _bytes(function(call, _real(x, x_scale, x_zero)), y_scale, y_zero, x.dtype)

    return compute


def _last_axis(function: Callable[..., fl.Tensor]) -> Callable[..., fl.Tensor]:
    """An operator of images, whose channels may lie behind."""

    def compute(call: Call, x: fl.Tensor) -> fl.Tensor:
        if not call.get("channels_last"):
            return function(call, x)
        return function(call, x.movedim(-1, 1)).movedim(1, -1)

    return compute


contributed("QLinearSigmoid")(_through(lambda call, x: fl.sigmoid(x)))
contributed("QLinearLeakyRelu")(
    _through(lambda call, x: F.leaky_relu(x, call.get("alpha", 0.01))))
contributed("QLinearSoftmax")(_through(lambda call, x: _softmax(call, x)))
contributed("QLinearAveragePool")(_through(_last_axis(average_pool)))
contributed("QLinearGlobalAveragePool")(_through(_last_axis(
    lambda call, x: x.mean(list(range(2, x.ndim)), keepdim=True))))


def _softmax(call: Call, x: fl.Tensor) -> fl.Tensor:
    """Over one dimension, or in the oldest versions over all from it on."""
    if call.get("opset", 13) >= 13:
        return fl.softmax(x, call.get("axis", -1))
    axis = call.get("axis", 1) % x.ndim
    return fl.softmax(x.flatten(axis), -1).reshape(x.shape)


def _two(function: Callable[..., fl.Tensor]) -> Callable[..., fl.Tensor]:
    def compute(call: Call, a: fl.Tensor, a_scale: fl.Tensor, a_zero: Maybe, b: fl.Tensor,
                b_scale: fl.Tensor, b_zero: Maybe, y_scale: fl.Tensor, y_zero: Maybe = None
                ) -> fl.Tensor:
        y = function(_real(a, a_scale, a_zero), _real(b, b_scale, b_zero))
        return _bytes(y, y_scale, y_zero, a.dtype)

    return compute


contributed("QLinearAdd")(_two(fl.add))
contributed("QLinearMul")(_two(fl.mul))


@contributed("QLinearConcat")
def concat(call: Call, y_scale: fl.Tensor, y_zero: Maybe, *values: Any) -> fl.Tensor:
    """Bytes of several scales in one tensor of another."""
    parts = [_real(*values[k:k + 3]) for k in range(0, len(values), 3)]
    return _bytes(fl.cat(parts, call.get("axis")), y_scale, y_zero, values[0].dtype)


@contributed("QLinearWhere")
def where(call: Call, choice: fl.Tensor, a: fl.Tensor, a_scale: fl.Tensor, a_zero: Maybe,
          b: fl.Tensor, b_scale: fl.Tensor, b_zero: Maybe, y_scale: fl.Tensor,
          y_zero: Maybe = None) -> fl.Tensor:
    """Elements of one or the other tensor."""
    y = fl.where(choice, _real(a, a_scale, a_zero), _real(b, b_scale, b_zero))
    return _bytes(y, y_scale, y_zero, a.dtype)


@contributed("QGemm")
def gemm(call: Call, a: fl.Tensor, a_scale: fl.Tensor, a_zero: Maybe, b: fl.Tensor,
         b_scale: fl.Tensor, b_zero: Maybe, c: Maybe = None, y_scale: Maybe = None,
         y_zero: Maybe = None) -> fl.Tensor:
    """``alpha a' b' + c``, where ``c`` counts in units of the product of both scales."""
    a = a.T if call.get("transA") else a
    b = b.T if call.get("transB") else b
    whole = integer_product(a, a_zero, b, b_zero)
    scale = a_scale * b_scale * call.get("alpha", 1.0)
    y = (whole if c is None else whole + c).float() * scale
    return y if y_scale is None else requantized(
        y / y_scale, fl.zeros([], dtype=a.dtype) if y_zero is None else y_zero)


@contributed("MatMulIntegerToFloat")
def integer_to_float(call: Call, a: fl.Tensor, b: fl.Tensor, a_scale: fl.Tensor,
                     b_scale: fl.Tensor, a_zero: Maybe = None, b_zero: Maybe = None,
                     bias: Maybe = None) -> fl.Tensor:
    """A product of bytes as the numbers that it stands for."""
    y = integer_product(a, a_zero, b, b_zero).to(a_scale.dtype) * (a_scale * b_scale)
    return y if bias is None else y + bias


@contributed("DynamicQuantizeMatMul")
def dynamic_matmul(call: Call, a: fl.Tensor, b: fl.Tensor, b_scale: fl.Tensor,
                   b_zero: Maybe = None, bias: Maybe = None) -> fl.Tensor:
    """The same, with ``a`` rounded to bytes first, by one scale for all of it."""
    whole, scale, zero = dynamic_quantize(call, a)
    return integer_to_float(call, whole, b, scale, b_scale, zero, b_zero, bias)


@contributed("DynamicQuantizeLSTM")
def dynamic_lstm(call: Call, x: fl.Tensor, w: fl.Tensor, r: fl.Tensor, b: Maybe = None,
                 lengths: Maybe = None, h0: Maybe = None, c0: Maybe = None, p: Maybe = None,
                 w_scale: Maybe = None, w_zero: Maybe = None, r_scale: Maybe = None,
                 r_zero: Maybe = None) -> Any:
    """An LSTM with weights of bytes: all inputs are rounded to bytes at once, states step by step.

    Weights lie with columns of gates, where those of ``LSTM`` have rows.
    """
    assert w_scale is not None and r_scale is not None
    directions, hidden = w.shape[0], r.shape[1]

    def product(a: fl.Tensor, d: int, weight: fl.Tensor, scale: fl.Tensor, zero: Maybe
                ) -> fl.Tensor:
        return dynamic_matmul(call, a, weight[d], scale[d], None if zero is None else zero[d])

    if lengths is not None:         # behind the longest sequence, nothing counts for the scale
        steps = fl.arange(x.shape[0], device=x.device).reshape(-1, 1, 1)
        x = fl.where(steps < lengths.max(), x, fl.zeros_like(x))
    given = fl.cat([product(x, d, w, w_scale, w_zero) for d in range(directions)], -1)

    def gates_of(d: int) -> Gates:
        bias = 0 if b is None else b[d, :4 * hidden] + b[d, 4 * hidden:]
        columns = slice(4 * hidden * d, 4 * hidden * (d + 1))
        return lambda x, before: x[..., columns] + bias + product(before, d, r, r_scale, r_zero)

    return lstm_by_gates(call, given, directions, hidden, gates_of, lengths, h0, c0, p)


@contributed("QAttention")
def attention(call: Call, x: fl.Tensor, weights: fl.Tensor, bias: fl.Tensor, x_scale: fl.Tensor,
              w_scale: fl.Tensor, mask: Maybe = None, x_zero: Maybe = None,
              w_zero: Maybe = None, past: Maybe = None) -> Any:
    """Attention of bytes to themselves, by one matrix of bytes."""
    projected = integer_to_float(call, x, weights, x_scale, w_scale, x_zero, w_zero, bias)
    return attend_projected(call, projected, mask, past)


def _unpacked(packed: fl.Tensor, bits: int, count: int) -> fl.Tensor:
    """Numbers of few bits from bytes, those of low bits first."""
    shifts = fl.arange(0, 8, bits, device=packed.device).to(fl.int32)
    each = (packed.to(fl.int32).unsqueeze(-1) >> shifts) & (2**bits - 1)
    return each.flatten(-2)[..., :count]


@contributed("MatMulNBits")
def few_bits(call: Call, a: fl.Tensor, b: fl.Tensor, scales: fl.Tensor, zeros: Maybe = None,
             groups: Maybe = None, bias: Maybe = None) -> fl.Tensor:
    """A product with weights of 2, 4 or 8 bits, which have a scale for each block."""
    bits, block = call.get("bits", 4), call.get("block_size")
    columns, depth = call.get("N"), call.get("K")
    if bits not in (2, 4, 8):
        raise call.refuse(f"weights of {bits} bits are not read; of 2, 4 and 8 are")
    blocks = -(-depth // block)
    whole = _unpacked(b.reshape(columns, -1), bits, blocks * block).to(scales.dtype)
    scale = scales.reshape(columns, blocks)
    if zeros is None:
        zero = fl.full_like(scale, 2 ** (bits - 1))
    elif zeros.dtype == fl.uint8:
        zero = _unpacked(zeros.reshape(columns, -1), bits, blocks).to(scale.dtype)
    else:
        zero = zeros.reshape(columns, blocks)
    if groups is None:
        scale, zero = (each.repeat_interleave(block, 1) for each in (scale, zero))
        scale, zero, whole = scale[:, :depth], zero[:, :depth], whole[:, :depth]
    else:
        scale, zero = (each[:, groups.long()] for each in (scale, zero))
        whole = whole[:, :depth]
    return F.linear(a, ((whole - zero) * scale).to(a.dtype), bias)


@contributed("GatherBlockQuantized")
def gather(call: Call, table: fl.Tensor, index: fl.Tensor, scales: fl.Tensor,
           zeros: Maybe = None) -> fl.Tensor:
    """Rows of a table of weights of 4 bits, which lie one to a byte here."""
    axis, last = call.get("gather_axis", 0) % table.ndim, call.get("quantize_axis", 1)
    if table.dtype == fl.uint8 and "type_of_0" not in call.attributes:
        raise call.refuse("a table of bytes is not read; one of 4 bits is")
    block, last = call.get("block_size", 128), last % table.ndim
    whole = table.to(scales.dtype)

    def spread(each: fl.Tensor) -> fl.Tensor:
        return each.to(scales.dtype).repeat_interleave(block, last).narrow(
            last, 0, table.shape[last])

    rows = (whole if zeros is None else whole - spread(zeros)) * spread(scales)
    picked = rows.index_select(axis, index.reshape(-1).long())
    return picked.reshape(*rows.shape[:axis], *index.shape, *rows.shape[axis + 1:])
