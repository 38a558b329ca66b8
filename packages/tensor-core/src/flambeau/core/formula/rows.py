"""The flat form of what is computed of whole rows: elements, reductions, and what uses them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .program import Instr, Program


@dataclass(frozen=True)
class RowProgram:
    """Instructions over rows, of which each is reduced by itself.

    Besides those of formulas there are ``reduce``, of elements to what a row has once, whose value
    is ``sum``, ``max``, ``min`` (NaN wins) or ``above`` (a maximum that forgets NaN), and
    ``length``, the number of elements of a row. ``param`` instructions are called ``p0``,
    ``scalar`` ones ``s0``.

    Args:
        instrs: in order.
        inputs: of each input the dtype, and whether it has an element for each of a row.
        outputs: the same of each result.
        results: the instruction that is each result.
        scalars: types of the numbers.

    Example:
        >>> from flambeau.core.formula import Instr
        >>> from flambeau.core.formula.rows import RowProgram
        >>> x = Instr("param", "f32", (), "p0")
        >>> top = Instr("reduce", "f32", (0,), "max")
        >>> rows = RowProgram((x, top, Instr("sub", "f32", (0, 1))), (("float32", True),),
        ...                   (("float32", True),), (2,))
        >>> rows.vectors(), rows.stages()
        ([True, False, True], [0, 1, 1])
    """

    instrs: tuple[Instr, ...]
    inputs: tuple[tuple[str, bool], ...]
    outputs: tuple[tuple[str, bool], ...]
    results: tuple[int, ...]
    scalars: tuple[str, ...] = ()

    def vectors(self) -> list[bool]:
        """Of each instruction whether every element of a row has a value of its own."""
        rows = {f"p{k}" for k, (_, is_row) in enumerate(self.inputs) if is_row}
        found: list[bool] = []
        for instr in self.instrs:
            is_leaf = instr.op == "param" and instr.value in rows
            found.append(is_leaf or (instr.op != "reduce" and any(found[k] for k in instr.args)))
        return found

    def stages(self) -> list[int]:
        """Of each instruction how many reductions come before it, one after the other."""
        found: list[int] = []
        for instr in self.instrs:
            before = max((found[k] for k in instr.args), default=0)
            found.append(before + (instr.op == "reduce"))
        return found

    def used(self) -> list[int]:
        """The instructions that the results need, in order."""
        return Program(list(self.instrs)).used(self.results)

    def part(self, roots: Sequence[int],
             given: Mapping[int, str]) -> tuple[Program, dict[str, str]]:
        """Some values as a program of their own.

        Args:
            roots: the instructions that are its outputs.
            given: instructions that are known, and what they are called.

        Returns:
            The program, and the type of each of its leaves by name.
        """
        stack, needed = list(roots), set[int]()
        while stack:
            number = stack.pop()
            if number not in needed:
                needed.add(number)
                stack.extend(() if number in given else self.instrs[number].args)
        program, at, kinds = Program(), dict[int, int](), dict[str, str]()
        for number in sorted(needed):
            instr = self.instrs[number]
            if number in given:
                kinds[given[number]] = instr.type
                instr = Instr("param", instr.type, (), given[number])
            at[number] = len(program.instrs)
            args = tuple(at[arg] for arg in instr.args)
            program.instrs.append(Instr(instr.op, instr.type, args, instr.value))
        program.outputs = [(at[root],) for root in roots]
        return program, kinds
