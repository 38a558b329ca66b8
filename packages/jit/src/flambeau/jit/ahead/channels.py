"""Batch normalization by running statistics: one factor and one summand for each channel."""

from __future__ import annotations

import math

from flambeau.jit.ahead.loops import Loops
from flambeau.jit.ahead.scope import NotThisError, Scope
from flambeau.jit.ir import Node
from flambeau.jit.llvm.emitter import constant_float
from flambeau.jit.llvm.machine import Machine

ONE, NO_SHIFT = constant_float(1.0), constant_float(0.0)


def batch_norm(scope: Scope, node: Node) -> None:
    """A step for ``native_batch_norm`` in eval mode."""
    x, weight, bias, mean, variance, training, _, eps = node.args
    if training:
        raise NotThisError("it takes the statistics of its batch; call model.eval() before tracing")
    if any(scope.is_used(each) for each in node.outputs[1:]):
        raise NotThisError("its statistics are used")
    if any(each.dtype != "float32" for each in node.inputs):
        raise NotThisError("only float32 is normalized")
    n, channels, *inner = x.shape
    given = [scope.dense(each) for each in (mean, variance, weight, bias) if each is not None]
    text = batch_norm_text((n, channels, math.prod(inner)), weight is not None, bias is not None,
                           float(eps), scope.unit.machine)
    scope.unit.add(text, scope.dense(x), *given, scope.new(node.outputs[0]))


def batch_norm_text(sizes: tuple[int, int, int], has_weight: bool, has_bias: bool, eps: float,
                    machine: Machine) -> str:
    """The function: an operand of three dimensions, mean, variance, weight, bias, the result.

    Factor and summand are found in float64 and rounded once, as the core's kernel does.
    """
    (n, channels, inner), operands = sizes, 4 + has_weight + has_bias
    out = Loops(machine, operands)
    with out.loop(n) as i, out.loop(channels) as c:
        mean, variance = _wide(out, "%a1", c), _wide(out, "%a2", c)
        scale = _wide(out, "%a3", c) if has_weight else ONE
        shift = _wide(out, f"%a{3 + has_weight}", c) if has_bias else NO_SHIFT
        sum_ = out.add(f"fadd double {variance}, {constant_float(eps)}")
        root = out.intrinsic("sqrt", "f64", (sum_,))
        inverse = out.add(f"fdiv double {ONE}, {root}")
        scale = out.add(f"fmul double {scale}, {inverse}")
        product = out.add(f"fmul double {mean}, {scale}")
        shift = out.add(f"fsub double {shift}, {product}")
        factor, summand = (out.convert("f64", "f32", each) for each in (scale, shift))
        start = out.offset((i, channels * inner), (c, inner))
        with out.loop(inner) as k:
            at = out.offset((start, 1), (k, 1))
            value = out.load(out.at("%a0", at))
            value = out.add(f"fmul float {value}, {factor}")
            value = out.add(f"fadd float {value}, {summand}")
            out.store(value, out.at(f"%a{operands - 1}", at))
    return out.text()


def _wide(out: Loops, pointer: str, index: str) -> str:
    return out.convert("f32", "f64", out.load(out.at(pointer, index)))
