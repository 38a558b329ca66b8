"""Sequences of tensors: Python lists."""

from __future__ import annotations

from typing import Any

import flambeau as fl
from flambeau.onnx.importing.table import Call, computes
from flambeau.onnx.importing.values import numbers_of


def _place(value: Any) -> int:
    found = numbers_of(value)
    return int(found[0] if isinstance(found, list) else found)


@computes("SequenceEmpty", raw=True)
def empty(call: Call) -> list[Any]:
    """A sequence of nothing."""
    return []


@computes("SequenceConstruct", raw=True)
def construct(call: Call, *values: Any) -> list[Any]:
    """A sequence of some."""
    return list(values)


@computes("SequenceAt", raw=True)
def at(call: Call, sequence: list[Any], place: Any) -> Any:
    """One of a sequence."""
    return sequence[_place(place)]


@computes("SequenceInsert", raw=True)
def insert(call: Call, sequence: list[Any], value: Any, place: Any = None) -> list[Any]:
    """A sequence with one more."""
    k = len(sequence) if place is None else _place(place)
    k = k + len(sequence) if k < 0 else k
    return [*sequence[:k], value, *sequence[k:]]


@computes("SequenceErase", raw=True)
def erase(call: Call, sequence: list[Any], place: Any = None) -> list[Any]:
    """A sequence with one less."""
    k = range(len(sequence))[-1 if place is None else _place(place)]
    return [*sequence[:k], *sequence[k + 1:]]


@computes("SequenceLength", raw=True)
def length(call: Call, sequence: list[Any]) -> fl.Tensor:
    """How many there are."""
    return fl.tensor(len(sequence))


@computes("ConcatFromSequence", raw=True)
def concatenated(call: Call, sequence: list[Any]) -> fl.Tensor:
    """All joined."""
    joined = fl.stack if call.get("new_axis") else fl.cat
    return joined(sequence, call.get("axis"))


@computes("SplitToSequence", host=(1,))
def parts(call: Call, x: fl.Tensor, lengths: Any = None) -> tuple[list[fl.Tensor]]:
    """Parts along a dimension."""
    axis = call.get("axis", 0)
    if lengths is None:
        found = x.split(1, axis)
        return ([each if call.get("keepdims", 1) else each.squeeze(axis) for each in found],)
    return (list(x.split(lengths, axis)),)
