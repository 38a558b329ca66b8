"""What a recorded call writes to objects that were there before: done anew at every replay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from . import numbers, trust
from .numbers import MISSING, Counter, Item, Slot
from .reads import Reads


class Writes:
    """The writes of one recording, in order.

    Args:
        reads: what was read.
        note: adds a step of the program, here.
        take_source: has a tensor that lies somewhere be given to replays.
        changing: marks of what calls were seen to read and to write anew: see ``Slot``.
    """

    def __init__(self, reads: Reads, note: Callable[[tuple[Any, ...]], None],
                 take_source: Callable[[Any, Any, Any], None],
                 changing: set[tuple[int, Any]]) -> None:
        self.reads, self.note, self.changing = reads, note, changing
        self.take_source = take_source
        self.refuse = reads.refuse          # the recorder sets what tells the line, too
        self.sources: dict[tuple[int, Any], Any] = {}
        self.befores: list[tuple[Slot, Any]] = []

    def write(self, slots: Sequence[Slot], value: Any, put: Callable[[Any], Any]) -> None:
        """Have a value lie somewhere, by what Python does for it.

        Args:
            slots: where; a buffer lies in two dicts.
            value: the value.
            put: does it.
        """
        befores = [slot.get() for slot in slots]
        for slot in slots:
            self._look_at(slot.container)
        put(value)
        for slot, before in zip(slots, befores, strict=True):
            if slot.mark in self.reads.slots and slot.mark not in self.reads.written \
                    and (type(before) in (int, float) or _may_change(before)):
                self.changing.add(slot.mark)       # the next recording knows what is read there
            self.befores.append((slot, before))
            self.reads.kept.append((slot, before, value))
            self.reads.written[slot.mark] = slot
        self._note(value, put)

    def append(self, items: Any, value: Any) -> None:
        """``items.append(value)``, of a list of outside."""
        self._look_at(items)
        items.append(value)
        self.reads.kept.append(items)
        self.reads.written[id(items), MISSING] = Slot(items)
        self._note(value, items.append)

    def _look_at(self, container: Any) -> None:
        """What is another object at each call is not written to."""
        if id(container) in self.reads.argument_parts:
            self.refuse(f"a {type(container).__name__} is written to that is an argument")

    def _note(self, value: Any, put: Callable[[Any], Any]) -> None:
        """The step that does it anew."""
        if self.reads.is_refused:
            return
        formula = self.reads.numbers.get(id(value), (None, None))[1]
        if formula is not None:
            self._note_number(formula, put)
        elif trust.is_tensor(value):
            outside = id(value) in self.reads.tensors or id(value) in self.reads.sources
            if outside or value.requires_grad or not trust.is_plain_tensor(value):
                self.refuse("a tensor is kept that has a history, or was there before")
            self.note(("give", put, value))
        elif trust.is_value(value):
            self.note(("call", partial(put, value), ()))
        else:
            self.refuse(f"an object of class {type(value).__name__} is kept")

    def _note_number(self, formula: Any, put: Callable[[Any], Any]) -> None:
        tensors = {id(each): each.tensor for each in numbers.leaves(formula)
                   if isinstance(each, Item)}
        step = partial(numbers.put_in_replay, put, formula)
        if len(tensors) > 1:
            self.refuse("a number is kept that is computed of several tensors")
        elif tensors:
            self.note(("give", step, *tensors.values()))
        else:
            self.note(("call", step, ()))

    def counter(self, slot: Slot, value: Any) -> Any:
        """A number that is read there, where calls are known to write it anew."""
        value = numbers.own(value)
        self.reads.guard("answer", slot.kind, MISSING, type(value))
        counter = Counter(slot)
        self.note(("call", counter.take, ()))
        self.reads.numbers[id(value)] = value, counter
        return value

    def tensor(self, slot: Slot, value: Any) -> Any:
        """A tensor that is read there, likewise: it is given to a replay like an argument."""
        if slot.mark in self.sources and self.sources[slot.mark] is value:
            return value
        if not _may_change(value):
            return None
        self.sources[slot.mark] = value
        self.take_source(slot.container, slot.key, value)
        return value

    def at_start(self, formula: Any) -> Any:
        """The value of a formula of counters before the call."""
        with self.undone():
            return numbers.at_start(formula)

    @contextmanager
    def undone(self) -> Iterator[None]:
        """For what was there before the call to be looked at."""
        afters = []
        for slot, before in reversed(self.befores):
            afters.append((slot, slot.get()))
            slot.put(before)
        try:
            yield
        finally:
            for slot, after in reversed(afters):
                slot.put(after)


def _may_change(value: Any) -> bool:
    """Whether a tensor may be another one at each call: one without a history."""
    return trust.is_tensor(value) and trust.is_plain_tensor(value) and not value.requires_grad
