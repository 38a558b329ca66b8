"""Kernels of compiled calls: loops over several formulas, as flambeau.jit fuses them, in CUDA C++.

A kernel is compiled for the dtypes of its operands, and runs for all shapes: ``NAME_near`` over
operands that lie alike, ``NAME_far`` over any strides.
"""
from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flambeau.core import _core
from flambeau.core.formula import Program, render_program
from flambeau.cuda import source
from flambeau.cuda.params import DTYPE_CODES

#: What the core calls these kernels; no operator has such a name.
PREFIX = "region:"
_BYTES = {"bool": 1, "uint8": 1, "int8": 1, "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2,
          "int32": 4, "uint32": 4, "float32": 4, "complex128": 16}
#: Bytes that a thread loads at once, the most elements these may be, and the longest program of
#: which a thread computes several elements.
_PACK_BYTES, _PACK_ELEMENTS, _PACKED_PROGRAM = 16, 8, 256
_INTEGERS = ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64")
_found: dict[str, Region] = {}
_kernels: dict[str, int] = {}


def element_bytes(dtype: str) -> int:
    """Bytes of an element in memory."""
    return _BYTES.get(dtype, 8)


@dataclass(frozen=True)
class Region:
    """See ``Backend.fuse``.

    Args:
        program: what is computed.
        inputs: dtypes of the inputs.
        outputs: dtypes of the outputs.
        scalars: kinds of the numbers.
    """

    program: Program
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    scalars: tuple[str, ...]

    @property
    def digest(self) -> str:
        """What tells it from others, in every process."""
        instrs = [(i.op, i.type, i.args, str(i.value)) for i in self.program.instrs]
        text = repr((instrs, self.program.outputs, self.inputs, self.outputs, self.scalars))
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    @property
    def width(self) -> int:
        """How many elements a thread of the near kernel takes at once."""
        if len(self.program.instrs) > _PACKED_PROGRAM:
            return 1
        widest = max(element_bytes(dtype) for dtype in (*self.inputs, *self.outputs))
        return max(1, min(_PACK_BYTES // widest, _PACK_ELEMENTS))


def fuse(program: Program, inputs: Sequence[str], outputs: Sequence[str],
         scalars: Sequence[str]) -> int | None:
    """The kernel of a loop, as the core knows it; see ``Backend.fuse``."""
    region = Region(program, tuple(inputs), tuple(outputs), tuple(scalars))
    if not all(dtype in DTYPE_CODES for dtype in (*region.inputs, *region.outputs)):
        return None
    digest = region.digest
    if digest not in _kernels:
        _found[digest] = region
        _kernels[digest] = _core.make_kernel(PREFIX + digest, len(inputs) + len(scalars),
                                             len(outputs))
    return _kernels[digest]


def group_of(key: str) -> str:
    """The group of kernels, for ``source.module``, that a kernel of the core's is."""
    return "region_" + key.removeprefix(PREFIX)


def region_of(group: str) -> Region:
    """What a group of kernels computes."""
    return _found[group.removeprefix("region_")]


def module(group: str) -> source.Module:
    """The text of a region's two kernels."""
    region = region_of(group)
    kinds = {f"p{k}": _kind(dtype) for k, dtype in enumerate(region.inputs)}
    kinds |= {f"s{k}": kind for k, kind in enumerate(region.scalars)}
    argument = f"fl_call<{len(kinds) + len(region.outputs)}>"
    function = render_program(f"f_{group}", region.program, kinds, "f64")
    kernels = [_kernel(region, group, argument, near) for near in (True, False)]
    text = "\n".join([source.prelude(), source.file("kernels/regions.cuh"), function, *kernels])
    return source.Module(text, {f"{group}_near": argument, f"{group}_far": argument})


def _kind(dtype: str) -> str:
    """The type of an element in a register."""
    if dtype in _INTEGERS:
        return "i64"
    return {"bool": "b", "float64": "f64", "complex64": "c64", "complex128": "c128"}.get(
        dtype, "f32")


def _kernel(region: Region, group: str, argument: str, near: bool) -> str:
    """A grid-stride loop: load the operands, call the formula, store the results."""
    first = len(region.inputs)
    head = (f'extern "C" __global__ void {group}_{"near" if near else "far"}'
            f"(const {argument} c) {{")
    numbers = [f"    const {_type(kind)} s{k} = fl_number<{_type(kind)}>::of(c.args[{first + k}]);"
               for k, kind in enumerate(region.scalars)]
    body = _near_body(region, group) if near else _far_body(region, group)
    return "\n".join([head, *numbers, *body, "}"])


def _type(kind: str) -> str:
    return source.C_TYPES.get(kind, "bool")


def _formula(region: Region, group: str) -> list[str]:
    """Lines that compute the results from what was loaded."""
    names = [*(f"p{k}" for k in range(len(region.inputs))),
             *(f"s{k}" for k in range(len(region.scalars)))]
    outs = [f"out{k}" for k in range(len(region.outputs))]
    declared = [f"{_type(_kind(dtype))} {name};"
                for name, dtype in zip(outs, region.outputs, strict=True)]
    return [*declared, *source.call_lines(f"f_{group}", names, outs)]


def _places(region: Region) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """(number among the arguments, dtype code) of the inputs and of the outputs."""
    first = len(region.inputs) + len(region.scalars)
    return ([(k, DTYPE_CODES[dtype]) for k, dtype in enumerate(region.inputs)],
            [(first + k, DTYPE_CODES[dtype]) for k, dtype in enumerate(region.outputs)])


def _far_body(region: Region, group: str) -> list[str]:
    inputs, outputs = _places(region)
    count = len(inputs) + len(region.scalars) + len(outputs)
    loads = [f"const auto p{k} = fl_get_at<{code}>(c, {at}, places);"
             for k, (at, code) in enumerate(inputs)]
    stores = [f"fl_put_at<{code}>(c, {at}, places, out{k});"
              for k, (at, code) in enumerate(outputs)]
    lines = [f"const fl_places<{count}> places = fl_places<{count}>::of(c, i);", *loads,
             *_formula(region, group), *stores]
    return ["    for (int64_t i = FL_THREAD; i < c.numel; i += FL_THREADS) {",
            *(f"        {line}" for line in lines), "    }"]


def _near_body(region: Region, group: str) -> list[str]:
    """Packs of elements side by side, as in ``source``."""
    inputs, outputs = _places(region)
    width = region.width

    def pack(code: int) -> str:
        return f"typename fl_memory<{code}>::type, {width}"

    aligned = " && ".join(f"fl_is_aligned<{pack(code)}>(c, {at})" for at, code in inputs + outputs)
    loads = [f"const fl_pack<{pack(code)}> m{k} = fl_get_pack<{pack(code)}>(c, {at}, g, whole);"
             for k, (at, code) in enumerate(inputs)]
    made = [f"fl_pack<{pack(code)}> r{k};" for k, (_, code) in enumerate(outputs)]
    element = [*(f"const auto p{k} = fl_memory<{code}>::get(m{k}.v[v]);"
                 for k, (_, code) in enumerate(inputs)), *_formula(region, group),
               *(f"r{k}.v[v] = fl_memory<{code}>::put(out{k});"
                 for k, (_, code) in enumerate(outputs))]
    stores = [f"fl_put_pack<{pack(code)}>(c, {at}, g, whole, r{k});"
              for k, (at, code) in enumerate(outputs)]
    lines = [*loads, *made, "#pragma unroll", f"for (int v = 0; v < {width}; v++) {{",
             *(f"    {line}" for line in element), "}", *stores]
    return source.pack_loop(aligned, width, lines)


def plan(backend: Any, key: str) -> tuple[Any, ...]:
    """What the launch path runs; see ``GeneratedBackend.plan``. Dtypes are the kernel's own."""
    group = group_of(key)
    region = region_of(group)
    near, far = (backend.function(group, "any", f"{group}_{where}") for where in ("near", "far"))
    operands = tuple(range(len(region.inputs) + len(region.scalars)))
    return group, near, far, NO_DTYPE, NO_DTYPE, 0, operands, (False, region.width)


#: ``FL_NO_DTYPE``.
NO_DTYPE = 255
