"""What each pass over a row computes, and what it keeps for a later one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from flambeau.core.formula import Instr

#: A value is computed again in a later pass where that takes no more instructions and loads.
MOST_REPEATED = 3
_UNIFORM = ("const", "scalar", "length")


@dataclass
class Pass:
    """One walk over a row.

    Args:
        numbers: the instructions on elements, in order.
        reduces: the reductions.
        saves: values that are kept for later passes.
        stores: results, by number.
    """

    numbers: list[int] = field(default_factory=list)
    reduces: list[int] = field(default_factory=list)
    saves: list[int] = field(default_factory=list)
    stores: list[int] = field(default_factory=list)


class Schedule:
    """The passes of a program.

    Args:
        instrs: its instructions.
        vectors: the ``param`` instructions that load elements of a row.
        results: the registers of its results.
        wide_results: which of them have as many elements as a row.
    """

    def __init__(self, instrs: Sequence[Instr], vectors: Collection[int],
                 results: Sequence[int], wide_results: Sequence[bool]) -> None:
        self.instrs = instrs
        self.is_vector = [False] * len(instrs)
        self.stage = [0] * len(instrs)
        self.results, self.wide = results, wide_results
        for number, instr in enumerate(instrs):
            if instr.op == "reduce":
                self.stage[number] = max(self.stage[arg] for arg in instr.args) + 1
            elif instr.args:
                self.stage[number] = max(self.stage[arg] for arg in instr.args)
                self.is_vector[number] = instr.op != "at" and any(self.is_vector[arg]
                                                                  for arg in instr.args)
            self.is_vector[number] |= number in vectors or instr.op == "position"
        needed = self._used(results)
        self.scalars: list[list[int]] = []
        self.passes: list[Pass] = []
        last = max((self.stage[number] for number in needed), default=0)
        for stage in range(last + 1):
            self.scalars.append([number for number in needed if not self.is_vector[number]
                                 and self.stage[number] == stage and instrs[number].op != "reduce"])
            self.passes.append(self._pass(stage, needed))
        self._save()
        lengths = [len(each.numbers) for each in self.passes]
        #: The pass with the most instructions, which leaves time to fetch the next row.
        self.longest = lengths.index(max(lengths))
        if not self.passes[-1].numbers and not self.passes[-1].stores:
            self.passes.pop()

    def _used(self, roots: Collection[int]) -> list[int]:
        stack, needed = list(roots), set()
        while stack:
            number = stack.pop()
            if number not in needed:
                needed.add(number)
                stack.extend(self.instrs[number].args)
        return sorted(needed)

    def _pass(self, stage: int, needed: Sequence[int]) -> Pass:
        made = Pass()
        made.reduces = [number for number in needed if self.instrs[number].op == "reduce"
                        and self.stage[number] == stage + 1]
        made.stores = [k for k, number in enumerate(self.results)
                       if self.wide[k] and self.stage[number] == stage]
        return made

    def _save(self) -> None:
        """Find what each pass computes; a value that is dear is kept by the first that does."""
        saved: dict[int, int] = {}
        computed: dict[int, int] = {}
        for number, each in enumerate(self.passes):
            roots = [self.instrs[k].args[0] for k in each.reduces]
            roots += [self.results[k] for k in each.stores]
            found = self._closure(roots, saved)
            frontier = [k for k in found if k in computed and k not in saved
                        and self._may_keep(k) and self._is_border(k, roots, found, computed)]
            for k in frontier:
                if self._cost(k, saved) > MOST_REPEATED:
                    saved[k] = computed[k]
                    self.passes[computed[k]].saves.append(k)
            each.numbers = self._closure(roots, saved)
            for k in each.numbers:
                computed.setdefault(k, number)
        self.saved = saved

    def _may_keep(self, number: int) -> bool:
        instr = self.instrs[number]
        return instr.op != "param" and instr.type in ("f32", "f64")

    def _is_border(self, number: int, roots: Sequence[int], found: Sequence[int],
                   computed: Collection[int]) -> bool:
        """Whether something new needs it."""
        return number in roots or any(number in self.instrs[k].args for k in found
                                      if k not in computed)

    def _closure(self, roots: Sequence[int], saved: Collection[int]) -> list[int]:
        """The instructions on elements that values need, saved ones as such."""
        stack = [number for number in roots if self.is_vector[number]]
        found: set[int] = set()
        while stack:
            number = stack.pop()
            if number not in found:
                found.add(number)
                if number not in saved:
                    stack.extend(k for k in self.instrs[number].args if self.is_vector[k])
        return sorted(found)

    def _cost(self, number: int, saved: Collection[int]) -> int:
        return len(self._closure([number], saved))
