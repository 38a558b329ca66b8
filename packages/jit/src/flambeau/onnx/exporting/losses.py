"""Losses and distances."""

from __future__ import annotations

from typing import Any

from flambeau.jit.ir import Node, Value
from flambeau.onnx.exporting.builder import Builder, Name
from flambeau.onnx.exporting.table import emits, refuse

_REDUCTIONS = ("none", "mean", "sum")


@emits("nll_loss_rows")
def write_nll_loss(b: Builder, node: Node, x: Value, target: Value, weight: Value | None = None,
                   reduction: int = 1, ignored: int = -100) -> list[Name]:
    name, classes = b.of(x), b.of(target)
    if len(x.shape) == 1:
        name, classes = (b.add("Unsqueeze", each, b.whole(0)) for each in (name, classes))
    given = [b.of(weight)] if weight is not None else []
    loss = b.add("NegativeLogLikelihoodLoss", name, classes, *given, ignore_index=int(ignored),
                 reduction=_REDUCTIONS[reduction])
    if len(x.shape) == 1 and reduction == 0:
        loss = b.add("Squeeze", loss, b.whole(0))
    total = node.outputs[1]
    return [loss, _total_weight(b, target, weight, int(ignored), total.dtype)] \
        if total in b.used else [loss]


def _total_weight(b: Builder, target: Value, weight: Value | None, ignored: int,
                  dtype: str) -> Name:
    """The weights of all targets that count, which gradients of a mean are divided by."""
    kept = b.add("Not", b.add("Equal", b.of(target), b.constant(ignored, target.dtype)))
    counts = b.cast(kept, "bool", dtype)
    if weight is not None:
        classes = b.add("Where", kept, b.of(target), b.constant(0, target.dtype))
        chosen = b.cast(b.add("Gather", b.of(weight), classes), weight.dtype, dtype)
        counts = b.add("Mul", chosen, counts)
    return b.add("ReduceSum", counts, keepdims=0)


@emits("cdist_of")
def write_cdist(b: Builder, node: Node, x: Value, other: Value, p: Any = 2.0) -> Name:
    if float(p) not in (1.0, 2.0):
        refuse(node, f"distances of order {p} are not written; 1 and 2 are")
    away = b.add("Sub", b.add("Unsqueeze", b.of(x), b.whole(len(x.shape) - 1)),
                 b.add("Unsqueeze", b.of(other), b.whole(len(other.shape) - 2)))
    return b.add("ReduceL2" if float(p) == 2 else "ReduceL1", away, b.whole(-1), keepdims=0)


@emits("linalg_det_lu")
def write_det(b: Builder, node: Node, x: Value) -> Name:
    return b.add("Det", b.of(x))
