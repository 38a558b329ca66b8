"""Kernels of compiled rows: reductions, what they reduce and what uses them, in CUDA C++.

A warp takes a short row, a block a long one (``NAME_short``, ``NAME_long``), in passes: each
computes elements again from memory, which the first pass left in the cache, reduces or stores them,
and what a pass reduced the next one uses. Which thread takes which element the length alone
decides, so that results repeat bit for bit. A kernel is compiled for dtypes, and runs for all
sizes.
"""
from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from flambeau.core import _core
from flambeau.core.formula import render_program
from flambeau.core.formula.render_c import c_literal
from flambeau.core.formula.rows import RowProgram
from flambeau.cuda import regions, source
from flambeau.cuda.params import DTYPE_CODES

#: What the core calls these kernels, and what their groups of kernels are called.
PREFIX, GROUP_PREFIX = "rows:", "rows_of_"
_TYPES = {"f32": "float", "f64": "double", "i32": "int32_t", "i64": "int64_t", "b": "bool"}
_PACK_BYTES, _PACK_ELEMENTS = 16, 8
_found: dict[str, RowProgram] = {}
_kernels: dict[str, int] = {}


def fuse(program: RowProgram) -> int | None:
    """The kernel of rows, as the core knows it; see ``Backend.fuse_rows``."""
    if not all(dtype in DTYPE_CODES and not dtype.startswith("complex")
               for dtype, _ in (*program.inputs, *program.outputs)):
        return None
    instrs = [(i.op, i.type, i.args, str(i.value)) for i in program.instrs]
    text = repr((instrs, program.inputs, program.outputs, program.results, program.scalars))
    digest = hashlib.sha256(text.encode()).hexdigest()[:24]
    if digest not in _kernels:
        _found[digest] = program
        values = len(program.inputs) + len(program.scalars) + 1
        _kernels[digest] = _core.make_kernel(PREFIX + digest, values, len(program.outputs))
    return _kernels[digest]


def plan(backend: Any, key: str) -> tuple[Any, ...]:
    """What the launch path runs: the functions for short rows and for long ones."""
    group = GROUP_PREFIX + key.removeprefix(PREFIX)
    return (group, *(backend.function(group, "any", f"{group}_{which}")
                     for which in ("short", "long")))


def module(group: str) -> source.Module:
    """The text of two kernels."""
    program = _found[group.removeprefix(GROUP_PREFIX)]
    text = _Text(program, group)
    return source.Module(text.module(), {f"{group}_{which}": text.argument
                                         for which in ("short", "long")})


@dataclass
class _Stage:
    """What happens between two reductions.

    Attributes:
        values: what a row has once, computed before the pass.
        reduces: what the pass reduces.
        stores: the results with elements of a row, by number.
    """

    values: list[int]
    reduces: list[int]
    stores: list[int]


class _Text:
    """Writes the kernels.

    Args:
        program: what they compute.
        group: what they are called.
    """

    def __init__(self, program: RowProgram, group: str) -> None:
        self.program, self.group = program, group
        self.instrs = program.instrs
        self.vector = program.vectors()
        first = len(program.inputs) + len(program.scalars)
        self.argument = f"fl_call<{first + len(program.outputs)}>"
        #: Of each operand name, number among the arguments, dtype's code, and whether it is rows.
        self.inputs = [(f"p{k}", k, DTYPE_CODES[dtype], wide)
                       for k, (dtype, wide) in enumerate(program.inputs)]
        self.outputs = [(f"o{k}", first + k, DTYPE_CODES[dtype], wide)
                        for k, (dtype, wide) in enumerate(program.outputs)]
        sizes = [regions.element_bytes(dtype)
                 for dtype, wide in (*program.inputs, *program.outputs) if wide]
        self.width = max(1, min(_PACK_BYTES // max(sizes, default=16), _PACK_ELEMENTS))
        self.functions: list[str] = []
        self.stages = self._stages()
        self.known = {number: self._name(number) for number in self._once()}

    def _once(self) -> list[int]:
        """The values that a row has once and are computed before the passes that use them."""
        return [number for number in self.program.used() if not self.vector[number]
                and (self.instrs[number].args or self.instrs[number].op == "length")]

    def _name(self, number: int) -> str:
        return f"u{number}"

    def _stages(self) -> list[_Stage]:
        stage, used = self.program.stages(), self.program.used()
        found = []
        for number in range(max((stage[k] for k in used), default=0) + 1):
            values = [k for k in used if stage[k] == number and not self.vector[k]
                      and self.instrs[k].op != "reduce" and self.instrs[k].args]
            reduces = [k for k in used if self.instrs[k].op == "reduce" and stage[k] == number + 1]
            stores = [k for k, (root, (_, wide)) in
                      enumerate(zip(self.program.results, self.program.outputs, strict=True))
                      if wide and stage[root] == number]
            found.append(_Stage(values, reduces, stores))
        return found

    def module(self) -> str:
        body = self._body()
        head = (f"template <int SIZE> FL_INLINE void rows_{self.group}"
                f"(const {self.argument} &c) {{")
        kernels = [f'extern "C" __global__ void {self.group}_{which}(const {self.argument} c) '
                   f"{{ rows_{self.group}<{size}>(c); }}"
                   for which, size in (("short", 32), ("long", 256))]
        files = ("native/packet.h", "kernels/packet.cuh", "kernels/regions.cuh",
                 "kernels/compiled_rows.cuh")
        return "\n".join([source.prelude(), *map(source.file, files), *self.functions, head,
                          *(f"    {line}" for line in body), "}", *kernels])

    # ---- one row -----------------------------------------------------------------------------

    def _body(self) -> list[str]:
        first = len(self.program.inputs)
        lines = ["const fl_team<SIZE> team;", "const int64_t length = c.shape[1];"]
        for k, kind in enumerate(self.program.scalars):
            cpp = "bool" if kind == "bool" else source.C_TYPES[kind]
            lines.append(f"const {cpp} s{k} = fl_number<{cpp}>::of(c.args[{first + k}]);")
        row = [f"{_memory(code)} *const row_{name} = fl_row_of<{_memory(code)}>(c, {at}, row);"
               for name, at, code, _ in (*self.inputs, *self.outputs)]
        row += [f"const auto {name} = fl_memory<{code}>::get(row_{name}[0]);"
                for name, _, code, wide in self.inputs if not wide]
        row += [f"const {_TYPES[self.instrs[k].type]} {self._name(k)} = "
                f"({_TYPES[self.instrs[k].type]})length;"
                for k in self.program.used() if self.instrs[k].op == "length"]
        for number, stage in enumerate(self.stages):
            row += self._values(number, stage)
            if stage.reduces or stage.stores:
                row += self._pass(number, stage)
        row += self._last()
        return [*lines, "for (int64_t row = team.first; row < c.numel; row += team.step) {",
                *(f"    {line}" for line in row), "}"]

    def _values(self, number: int, stage: _Stage) -> list[str]:
        """What a row has once."""
        if not stage.values:
            return []
        given = {k: name for k, name in self.known.items() if k not in stage.values}
        names = [self._name(k) for k in stage.values]
        declared = [f"{_TYPES[self.instrs[k].type]} {self._name(k)};" for k in stage.values]
        return [*declared, *self._call(f"values{number}", stage.values, given, names)]

    def _last(self) -> list[str]:
        """Results that a row has once."""
        stores = [f"row_{name}[0] = fl_memory<{code}>::put({self._once_value(root)});"
                  for (name, _, code, wide), root in
                  zip(self.outputs, self.program.results, strict=True) if not wide]
        return ["if (team.rank == 0) {", *(f"    {line}" for line in stores), "}"] if stores else []

    def _once_value(self, number: int) -> str:
        """A value that a row has once, as text."""
        instr = self.instrs[number]
        if number in self.known:
            return self.known[number]
        return str(instr.value) if instr.op != "const" else c_literal(int(str(instr.value)),
                                                                      instr.type)

    def _call(self, name: str, roots: list[int], given: dict[int, str],
              targets: list[str]) -> list[str]:
        """Write a function, and the call of it."""
        name = f"{name}_{self.group}"
        part, kinds = self.program.part(roots, given)
        for instr in part.instrs:
            if instr.op in ("param", "scalar"):
                kinds.setdefault(str(instr.value), instr.type)
        self.functions.append(render_program(name, part, kinds, "f64"))
        return source.call_lines(name, list(kinds), targets)

    # ---- a pass over a row -------------------------------------------------------------------

    def _pass(self, number: int, stage: _Stage) -> list[str]:
        roots = [*(self.instrs[k].args[0] for k in stage.reduces),
                 *(self.program.results[k] for k in stage.stores)]
        names = [*(f"x{k}" for k in stage.reduces), *(f"y{k}" for k in stage.stores)]
        call = self._call(f"pass{number}", roots, self.known, names)
        part, _ = self.program.part(roots, self.known)
        read = {str(instr.value) for instr in part.instrs if instr.op == "param"}
        loads = [each for each in self.inputs if each[3] and each[0] in read]
        stores = [self.outputs[k] for k in stage.stores]
        declared = [f"{_TYPES[self.instrs[root].type]} {name};"
                    for root, name in zip(roots, names, strict=True)]
        taken = [f"acc{number}.r{k}.take(x{k});" for k in stage.reduces]
        element = [*(f"const auto {name} = fl_memory<{code}>::get(m_{name}.v[v]);"
                     for name, _, code, _ in loads), *declared, *call,
                   *(f"m_{name}.v[v] = fl_memory<{code}>::put(y{k});"
                     for k, (name, _, code, _) in zip(stage.stores, stores, strict=True))]
        if taken:
            element += [f"if (g * {self.width} + v < length) {{", *(f"    {x}" for x in taken), "}"]
        return [*self._accumulator(number, stage), *self._loop(loads, stores, element),
                *self._joined(number, stage)]

    def _loop(self, loads: list[Any], stores: list[Any], element: list[str]) -> list[str]:
        width = self.width
        aligned = " && ".join(f"fl_is_row_aligned<{_memory(code)}, {width}>(row_{name})"
                              for name, _, code, _ in (*loads, *stores)) or "true"
        packs = [f"const fl_pack<{_memory(code)}, {width}> m_{name} = "
                 f"fl_get_row_pack<{_memory(code)}, {width}>(row_{name}, g, length, whole);"
                 for name, _, code, _ in loads]
        packs += [f"fl_pack<{_memory(code)}, {width}> m_{name};" for name, _, code, _ in stores]
        written = [f"fl_put_row_pack<{_memory(code)}, {width}>(row_{name}, g, length, whole, "
                   f"m_{name});" for name, _, code, _ in stores]
        return ["{", f"    const bool aligned = {aligned};", "    #pragma unroll 1",
                f"    for (int64_t g = team.rank; g * {width} < length; g += SIZE) {{",
                f"        const bool whole = aligned && (g + 1) * {width} <= length;",
                *(f"        {line}" for line in packs), "        #pragma unroll",
                f"        for (int v = 0; v < {width}; v++) {{",
                *(f"            {line}" for line in element), "        }",
                *(f"        {line}" for line in written), "    }", "}"]

    def _accumulator(self, number: int, stage: _Stage) -> list[str]:
        """All that a pass reduces, which threads join at once."""
        if not stage.reduces:
            return []
        name, members = f"sums{number}_{self.group}", [f"r{k}" for k in stage.reduces]
        kinds = [f"fl_row_{self.instrs[k].value}<{_TYPES[self.instrs[k].type]}>"
                 for k in stage.reduces]
        self.functions.append("\n".join([
            f"struct {name} {{", *(f"    {kind} {member};"
                                   for kind, member in zip(kinds, members, strict=True)),
            f"    __device__ void start() {{ {' '.join(f'{m}.start();' for m in members)} }}",
            f"    __device__ void join(const {name} &o) {{ "
            f"{' '.join(f'{m}.take(o.{m}.value);' for m in members)} }}", "};"]))
        return [f"{name} acc{number};", f"acc{number}.start();"]

    def _joined(self, number: int, stage: _Stage) -> list[str]:
        if not stage.reduces:
            return []
        return [f"acc{number} = team.join(acc{number});",
                *(f"const {_TYPES[self.instrs[k].type]} {self._name(k)} = acc{number}.r{k}.value;"
                  for k in stage.reduces)]


def _memory(code: int) -> str:
    return f"typename fl_memory<{code}>::type"
