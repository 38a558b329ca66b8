"""The flat form of a formula: typed instructions in single-assignment order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Instr:
    """One instruction: ``args`` are numbers of earlier ones, ``value`` belongs to leaves.

    A ``const`` holds its value as ``literal.encode`` gives it; ``param`` and ``scalar`` hold a
    name, with ``.re`` or ``.im`` for the parts of a complex operand; ``extern`` its function.
    """

    op: str
    type: str
    args: tuple[int, ...] = ()
    value: object = None


@dataclass
class Program:
    """Instructions in order; ``outputs`` has one number per output, two for a complex one."""

    instrs: list[Instr] = field(default_factory=list)
    outputs: list[tuple[int, ...]] = field(default_factory=list)

    def roots(self) -> list[int]:
        """Numbers of all output values."""
        return [number for output in self.outputs for number in output]

    def used(self, roots: Iterable[int]) -> list[int]:
        """Numbers of the instructions that ``roots`` need, in order."""
        stack = list(roots)
        needed: set[int] = set()
        while stack:
            number = stack.pop()
            if number not in needed:
                needed.add(number)
                stack.extend(self.instrs[number].args)
        return sorted(needed)
