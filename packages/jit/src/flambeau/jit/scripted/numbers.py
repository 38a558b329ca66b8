"""Tensors that stand for Python's numbers: what Python does with a number, not with a tensor."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import flambeau
from flambeau.jit import bridge
from flambeau.jit.ir import Value
from flambeau.jit.recording.active import current
from flambeau.jit.recording.recorder import Recorder
from flambeau.jit.recording.regions import quiet, refuse


def note_numbers(recorder: Recorder, leaves_: Iterable[Any]) -> None:
    """Remember tensors that stand for Python's numbers."""
    with quiet(recorder):
        recorder.numbers.update(recorder.value_of(leaf) for leaf in leaves_
                                if bridge.is_tensor(leaf))


def is_number(recorder: Recorder, leaf: Any) -> bool:
    """Whether Python would have a number here: one, or a tensor computed from such alone."""
    if not bridge.is_tensor(leaf):
        return isinstance(leaf, bool | int | float)
    with quiet(recorder):
        memory = recorder.memory_of(leaf)
        if memory is None or memory.is_over:
            return False
        value = recorder.value_of(leaf)
    return _is_computed_from_numbers(recorder, value)


def _is_computed_from_numbers(recorder: Recorder, value: Value) -> bool:
    if value.shape:                     # no number, however many operators led to it
        return False
    makers = {each: node for node in recorder.graph.nodes for each in node.outputs}
    found: set[Value] = set()
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if each in recorder.numbers or each in found:
            continue
        made = makers.get(each)
        if made is None or not made.inputs or made.regions or each.shape:
            return False
        found.add(each)
        waiting += made.inputs
    recorder.numbers |= found
    return True


def augmented(what: str, target: Any, value: Any) -> Any:
    """``target += value``: numbers are other ones afterwards, tensors the same, written to."""
    recorder = current()
    if recorder is not None and bridge.is_tensor(target) and is_number(recorder, target):
        return getattr(operator, what)(target, value)
    return getattr(operator, f"i{what.rstrip('_')}")(target, value)


def item(held: Any, index: Any) -> Any:
    """``held[index]``, where the index may be a number that a value decided on."""
    recorder = current()
    if recorder is None or not bridge.is_tensor(held):
        return held[index]
    every = index if isinstance(index, tuple) else (index,)
    numbers = [i for i, each in enumerate(every) if bridge.is_tensor(each) and not each.dim()
               and is_number(recorder, each)]
    if not numbers:
        return held[index]
    *before, number = every[:numbers[0] + 1]
    if len(numbers) > 1 or len(every) > len(before) + 1 or any(e != slice(None) for e in before):
        raise refuse("an index that a value decides on stands alone, or behind colons: x[:, i]")
    dim = len(before)
    number = flambeau.where(number < 0, number + held.shape[dim], number)
    found = held.index_select(dim, number.reshape(1)).squeeze(dim)
    with quiet(recorder):           # Python would have a view of what is held
        memory = recorder.memory_of(found)
        assert memory is not None
        memory.is_shared = True
    return found
