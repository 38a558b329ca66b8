"""The stretch of ``segment`` in vectors that are written here, and not found by LLVM.

It is compiled in half the time, what is left after whole rounds is one vector with a mask, and the
processor's own instructions can be used: products with powers of two are one (``powers``). More
elements are computed side by side than LLVM would, whose code waits for each instruction.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.core.formula import Instr
from flambeau.jit.convert import PARTS
from flambeau.jit.itemsizes import SIZE
from flambeau.jit.llvm import vectors
from flambeau.jit.llvm.machine import Machine
from flambeau.jit.llvm.memory import load
from flambeau.jit.llvm.segment import CONTIGUOUS, FIXED, STRIDED, Segment
from flambeau.jit.region import Region

#: Bytes of a vector; where processors have shorter ones, of two.
VECTOR_BYTES = 64
#: Types of registers whose elements have one size, but for tests.
_OF_ONE_SIZE = ({"f32", "i32", "b"}, {"f64", "i64", "b"})
#: Vectors side by side, where so many instructions of each are not too much code.
_MOST_INSTRS = ((160, 4), (320, 2))
#: With 32 registers, formulas of at least and at most so many instructions have more of them: a
#: processor that looks half a round ahead mostly waits for results, and the rest is rarely spilled.
_LONG, _LONG_SETS = range(60, 240), 8
#: They are behind each other, unless more values than this are needed at one time, which would be
#: spilled.
_MOST_LIVE = 12
#: What vectors have no instruction for.
_SCALAR_OPS = ("extern", "ipow", "truncdiv", "rem", "floordiv", "mod", "half")


def can_be_wide(region: Region, steps: str, machine: Machine) -> bool:
    """Whether a region is worth vectors written here: floats side by side, no complex numbers."""
    dtypes = (*region.inputs, *region.outputs)
    instrs = region.program.instrs
    return (_has_vectors(region, machine) and STRIDED not in steps
            and FIXED not in steps[len(region.inputs):]
            and all(len(PARTS[dtype]) == 1 and dtype != "float16" for dtype in dtypes)
            and any(instr.type in ("f32", "f64") for instr in instrs)
            and not any(instr.op in _SCALAR_OPS for instr in instrs)
            and not any(kind in ("c64", "c128") for _, kind in region.scalars))


def _has_vectors(region: Region, machine: Machine) -> bool:
    """Whether the processor has instructions for all these vectors: some have few conversions."""
    if machine.vector_bits == 8 * VECTOR_BYTES:
        return True
    program = region.program
    kinds = {program.instrs[number].type for number in program.used(program.roots())}
    return (machine.vector_bits == 4 * VECTOR_BYTES
            and {*region.inputs, *region.outputs} in ({"float32"}, {"float64"})
            and any(kinds <= each for each in _OF_ONE_SIZE))


class WideSegment(Segment):
    """Writes the function; see ``Segment``."""

    def __init__(
        self, region: Region, steps: str, machine: Machine, overwrites: Sequence[int]
    ) -> None:
        super().__init__(region, steps, machine.has_fma, overwrites)
        kinds = {instr.type for instr in self.program.instrs}
        sizes = [SIZE[dtype] for dtype, step in zip(self.dtypes, steps, strict=True)
                 if step == CONTIGUOUS]
        is_double = max(sizes) == 8 or "f32" not in kinds
        self.width = VECTOR_BYTES // (8 if is_double else 4)
        count = len(self.fast) * (2 if "f64" in kinds and not is_double else 1)
        self.sets = next((sets for most, sets in _MOST_INSTRS if count <= most), 1)
        if machine.vector_bits == 8 * VECTOR_BYTES and count in _LONG:
            self.sets = _LONG_SETS
        self.instrs = tuple(self.program.instrs)
        self.same: dict[int, str] = {}

    # ---- what is the same for all elements ---------------------------------------------------

    def text(self) -> str:
        out = self.out
        for k, dtype in enumerate(self.region.inputs):
            if self.steps[k] == FIXED:
                self.fixed[k] = load(out, dtype, f"%p{k}")
        out.width = self.width
        needed = self.closure(self.roots, rare_cases=True)
        for number in needed:
            instr = self.instrs[number]
            if instr.op == "param" and self.steps[int(str(instr.value)[1:])] == FIXED:
                value = self.fixed[int(str(instr.value)[1:])][0]
                self.same[number] = vectors.spread(out, instr.type, value)
            elif instr.op == "scalar":
                self.same[number] = vectors.spread(out, instr.type, f"%{instr.value}")
            elif instr.op == "const" or (instr.args and all(a in self.same for a in instr.args)):
                self.same[number] = self.compute(instr, self.same)
        out.width = 0
        return super().text()

    def closure(self, roots: Sequence[int], rare_cases: bool) -> list[int]:
        """The instructions that values need."""
        stack, needed = list(roots), set()
        while stack:
            number = stack.pop()
            if number not in needed:
                needed.add(number)
                instr = self.instrs[number]
                usual = instr.op == "rare" and not rare_cases
                stack.extend((instr.args[0], instr.args[2]) if usual else instr.args)
        return sorted(needed)

    # ---- loops -------------------------------------------------------------------------------

    def loop(
        self, name: str, begin: str, end: str, numbers: Sequence[int], before: str, after: str
    ) -> str:
        """Rounds of several vectors, then what is left; the name of the flag."""
        out, rare = self.out, self.has_rare_cases or name == "slow"
        own = [n for n in self.closure(self.roots, rare) if n not in self.same]
        out.line(f"br label %{name}")
        out.line(f"{name}:")
        length = out.add(f"sub i64 {end}, {begin}")
        whole = out.add(f"and i64 {length}, {-(self.width * self.sets)}")
        rounds = out.add(f"add i64 {begin}, {whole}")
        some = out.add(f"icmp sgt i64 {whole}, 0")
        out.line(f"br i1 {some}, label %{name}.body, label %{name}.rest")
        self.rounds(f"{name}.body", (begin, rounds), own, name, f"{name}.rest")
        rest = self.flag([("zeroinitializer", name), (f"%f.{name}.body", f"{name}.body")], name)
        left = out.add(f"icmp slt i64 {rounds}, {end}")
        out.line(f"br i1 {left}, label %{name}.tail, label %{name}.end")
        self.tail(f"{name}.tail", (rounds, end), own, rest, f"{name}.end")
        last = self.flag([(rest, f"{name}.rest"), (f"%f.{name}.tail", f"{name}.tail")], name)
        flag = ""
        if last:
            out.declared.add(f"declare i1 @llvm.vector.reduce.or.v{self.width}i1"
                             f"(<{self.width} x i1>)")
            flag = out.add(f"call i1 @llvm.vector.reduce.or.v{self.width}i1"
                           f"(<{self.width} x i1> {last})")
            flag = out.add(f"zext i1 {flag} to i32")
        out.line(f"br label %{after}")
        return flag

    def flag(self, sources: Sequence[tuple[str, str]], name: str) -> str:
        """The flags that come from either of two blocks, where rare cases are looked for."""
        if not name.startswith("fast"):
            return ""
        pairs = ", ".join(f"[{value}, %{block}]" for value, block in sources)
        return self.out.add(f"phi <{self.width} x i1> {pairs}")

    def head(self, name: str, begin: str, before: str, flag: str) -> str:
        """A loop's first lines; the flags so far."""
        self.out.line(f"{name}:")
        self.out.line(f"%i.{name} = phi i64 [{begin}, %{before}], [%j.{name}, %{name}]")
        return self.flag([(flag, before), (f"%f.{name}", name)], name)

    def last(self, name: str, flag: str, flags: Sequence[str], step: int, end: str,
             after: str) -> None:
        """A loop's last lines."""
        out = self.out
        if flag:
            total = flag
            for each in flags[:-1]:
                total = out.add(f"or <{self.width} x i1> {total}, {each}")
            out.line(f"%f.{name} = or <{self.width} x i1> {total}, {flags[-1]}")
        out.line(f"%j.{name} = add nuw nsw i64 %i.{name}, {step}")
        more = out.add(f"icmp slt i64 %j.{name}, {end}")
        out.line(f"br i1 {more}, label %{name}, label %{after}")
        out.line(f"{after}:")

    def rounds(self, name: str, span: tuple[str, str], own: Sequence[int], before: str,
               after: str) -> None:
        """Several vectors side by side: each instruction waits for the one before."""
        out = self.out
        flag = self.head(name, span[0], before, "zeroinitializer")
        at = [f"%i.{name}"] + [out.add(f"add nuw nsw i64 %i.{name}, {k * self.width}")
                               for k in range(1, self.sets)]
        sets = [dict(self.same) for _ in at]
        loaded: list[dict[int, str]] = [{} for _ in at]
        staggers = self.sets == _LONG_SETS and self.most_live(own) <= _MOST_LIVE
        behind = vectors.STAGGER if staggers else 0
        for k, number in vectors.interleaved(own, self.sets, behind):
            sets[k][number] = self.wide(number, sets[k], loaded[k], at[k])
        for values, index in zip(sets, at, strict=True):
            self.keep(values, index)
        flags = [values[number] for values in sets for number in (self.flags if flag else ())]
        self.last(name, flag, flags, self.width * self.sets, span[1], after)

    def most_live(self, own: Sequence[int]) -> int:
        """How many values of one vector are needed at one time."""
        last = {arg: step for step, number in enumerate(own) for arg in self.instrs[number].args}
        ends = [0] * (len(own) + 1)
        live = most = 0
        for step, number in enumerate(own):
            live += 1
            ends[last.get(number, len(own))] += 1
            most = max(most, live)
            live -= ends[step]
        return most

    def tail(self, name: str, span: tuple[str, str], own: Sequence[int], flag: str,
             after: str) -> None:
        """One vector after the other, the last of which may be incomplete."""
        out = self.out
        flag = self.head(name, span[0], name[:-5] + ".rest", flag)
        left = out.add(f"sub i64 {span[1]}, %i.{name}")
        out.width = self.width
        mask = vectors.first_lanes(out, left)
        out.width = 0
        values, loaded = dict(self.same), dict[int, str]()
        for number in own:
            values[number] = self.wide(number, values, loaded, f"%i.{name}", mask)
        self.keep(values, f"%i.{name}", mask)
        flags = [out.add(f"and <{self.width} x i1> {mask}, {values[number]}")
                 for number in (self.flags if flag else ())]
        self.last(name, flag, flags, self.width, span[1], after)

    # ---- elements ----------------------------------------------------------------------------

    def wide(self, number: int, values: dict[int, str], loaded: dict[int, str], index: str,
             mask: str = "") -> str:
        """One instruction on elements from ``index`` on."""
        instr = self.instrs[number]
        if instr.op == "rare" and not all(arg in values for arg in instr.args):
            return values[instr.args[2]]
        self.out.width = self.width
        if instr.op == "param":
            k = int(str(instr.value)[1:])
            if k not in loaded:
                loaded[k] = vectors.load(self.out, self.dtypes[k], self.address(k, index), mask)
            value = loaded[k]
        else:
            value = self.compute(instr, values)
        self.out.width = 0
        return value

    def compute(self, instr: Instr, values: dict[int, str]) -> str:
        args = [values[arg] for arg in instr.args]
        return self.out.instruction(instr, [self.instrs[arg].type for arg in instr.args], args)

    def keep(self, values: dict[int, str], index: str, mask: str = "") -> None:
        """Write results."""
        self.out.width = self.width
        for k, registers in enumerate(self.program.outputs, len(self.region.inputs)):
            vectors.store(self.out, self.dtypes[k], self.address(k, index), values[registers[0]],
                          mask)
        self.out.width = 0
