"""Update rules over many tensors at once: the steps of optimizers.

A launch takes as many rows of tensors as its argument has room for (native/update.h). Numbers of a
rule are part of the argument, or are read from the device's memory, where a captured graph finds
those of its replay.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.core.promotion import dtype_name
from flambeau.cuda import _launch, source
from flambeau.cuda.params import DTYPE_CODES

PREFIX = "update_"
#: The kind that each dtype is computed in, and how many elements a thread takes at once.
_KINDS = {"float16": ("f32", 8), "bfloat16": ("f32", 8), "float32": ("f32", 4),
          "float64": ("f64", 2)}
_BLOCK = 256


def update(backend: Any, op: Any, rows: Sequence[Sequence[Any]], scalars: Sequence[Any]) -> bool:
    """Apply a rule to rows of tensors, those of one dtype at once; see ``Backend.update``."""
    places: dict[str, list[int]] = {}
    for i, tensor in enumerate(rows[0]):
        places.setdefault(dtype_name(tensor.dtype), []).append(i)
    if not all(dtype in _KINDS for dtype in places):
        return False
    columns, numbers = [tuple(column) for column in rows], tuple(scalars)
    for dtype, found in places.items():
        name = f"{PREFIX}{op.key}"
        function = backend.function(name, dtype, f"{name}_{dtype}")
        _launch.update(backend.device_type, rows[0][0].device.index or 0, op.key, function,
                       _BLOCK, columns, found, numbers)
    return True


def module(group: str, dtype: str) -> source.Module:
    """The kernel of one rule for one dtype."""
    opdef = source.find_opdef(group.removeprefix(PREFIX))
    kind, width = _KINDS[dtype]
    name = f"{group}_{dtype}"
    counts = f"{len(opdef.operands)}, {len(opdef.scalars)}"
    parts = [source.prelude(), source.file("native/update.h"), source.file("kernels/regions.cuh"),
             source.file("kernels/update.cuh"), source.function_source(opdef, kind),
             f"typedef fl_update<{counts}> fl_rule_call;",
             f'extern "C" __global__ void {name}(const fl_rule_call c) {{',
             *_body(opdef, kind, DTYPE_CODES[dtype], width), "}"]
    return source.Module("\n".join(parts), {name: "fl_rule_call"})


def _body(opdef: Any, kind: str, code: int, width: int) -> list[str]:
    """A loop over packs of a block's chunk."""
    memory, count = f"fl_memory<{code}>", len(opdef.operands)
    pack = f"typename {memory}::type, {width}"
    type_, function = source.C_TYPES[kind], f"f_{source.kernel_name(opdef, kind)}"
    writes = [k for k, p in enumerate(opdef.operands) if p.writes]
    operands = {p.name: f"{memory}::get(p{k}.v[v])" for k, p in enumerate(opdef.operands)}
    scalars = {p.name: f"s{k}" for k, p in enumerate(opdef.scalars)}
    given = [*operands.values(), *scalars.values()]
    aligned = " && ".join(f"(uint64_t)row.data[{k}] % sizeof(fl_pack<{pack}>) == 0"
                          for k in range(count))
    return [
        "    const int r = fl_row_of_block(c);",
        f"    const fl_rule_row<{count}> &row = c.row[r];",
        *(f"    const {type_} s{k} = fl_rule_value<{type_}>(c, {k}, r);"
          for k in range(len(opdef.scalars))),
        f"    const bool aligned = {aligned};",
        "    const int64_t begin = ((int64_t)blockIdx.x - row.first) * FL_CHUNK_ELEMENTS;",
        "    int64_t end = begin + FL_CHUNK_ELEMENTS;",
        "    end = end < row.numel ? end : row.numel;",
        "#pragma unroll 1",
        f"    for (int64_t g = begin / {width} + threadIdx.x; g * {width} < end; "
        "g += blockDim.x) {",
        f"        const bool whole = aligned && (g + 1) * {width} <= row.numel;",
        *(f"        const fl_pack<{pack}> p{k} = "
          f"fl_row_pack<{pack}>(row.data[{k}], g, whole, row.numel);" for k in range(count)),
        *(f"        fl_pack<{pack}> r{k};" for k in writes),
        "#pragma unroll",
        f"        for (int v = 0; v < {width}; v++) {{",
        *(f"            {type_} out{k};" for k in writes),
        *(f"            {line}"
          for line in source.call_lines(function, given, [f"out{k}" for k in writes])),
        *(f"            r{k}.v[v] = {memory}::put(out{k});" for k in writes),
        "        }",
        *(f"        fl_put_row_pack<{pack}>(row.data[{k}], g, whole, row.numel, r{k});"
          for k in writes),
        "    }"]
