"""Numbers that are others at each replay, where a recorded call computes with them or asks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from . import numbers, trust
from .numbers import MISSING
from .reads import Reads


class Decisions:
    """What is done with such numbers; the rest is ``Attributes``'s."""

    reads: Reads
    refuse: Any                     # there will be no replay
    gives_numbers = False           # whether replays read numbers from tensors

    def number(self, tensor: Any) -> Any:
        """What ``item()`` gives: a number that decides nothing is read in a replay as well."""
        if not self.gives_numbers or self.reads.is_refused \
                or not trust.is_plain_tensor(tensor) or tensor.is_complex() \
                or tensor.dtype.name == "bool":
            self.refuse("item() looks at values")
            return tensor.item()
        kept = tensor.detach().clone()      # it may be written to before the call ends
        self.reads.recording.pause()
        try:
            value = numbers.own(kept.item())
        finally:
            self.reads.recording.resume()
        self.reads.numbers[id(value)] = value, numbers.Item(kept)
        return value

    def computed(self, fn: Any, operands: tuple[Any, ...]) -> Any:
        """A number that is computed of some which are others at each replay; ``MISSING`` where they
        have to be what they are."""
        known = self.reads.numbers
        parts = tuple(known[id(each)][1] if id(each) in known else each for each in operands)
        if not numbers.is_followed(fn, operands) \
                and not (numbers.divides(fn, parts[-1]) and type(operands[0]) in (int, float)):
            return MISSING
        formula, result = numbers.Computed(fn, parts), fn(*operands)
        if fn in numbers.COMPARISONS:
            self.answer(formula, result)
            return result
        result = numbers.own(result)
        known[id(result)] = result, formula
        return result

    def answer(self, formula: Any, value: Any, of: Any = None) -> None:
        """What is computed of counters decides something: it has to be this at each replay."""
        if any(isinstance(each, numbers.Item) for each in numbers.leaves(formula)):
            self.refuse("item() looks at values")
        if not self.reads.is_refused:
            ask = partial(numbers.at_start, formula)
            with self.reads.writes.undone():
                self.reads.guard("answer", ask if of is None else partial(_of_answer, of, ask),
                                 MISSING, value)

    def pin(self, formula: Any) -> None:
        """A number of a formula has to be what it is."""
        if self.reads.writes is None:
            self.refuse("item() looks at values")
        else:
            self.answer(formula, self.reads.writes.at_start(formula))

    def decide(self, value: Any) -> None:
        """A value on which it depends what happens: not one that was read from a tensor."""
        if id(value) in self.reads.numbers:
            self.pin(self.reads.numbers[id(value)][1])


def _of_answer(fn: Callable[[Any], Any], ask: Callable[[], Any]) -> Any:
    return fn(ask())
