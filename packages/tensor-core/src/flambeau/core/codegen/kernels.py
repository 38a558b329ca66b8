"""Pointwise kernels: one loop per operator and compute kind, compiled once per ISA level.

Those that are seldom called, and nearly all of the oldest level, are bytecode (``programs.py``).
"""
from __future__ import annotations

from flambeau.core.codegen.plan import PointwisePlan, kernel_name, module_of, pointwise_plans
from flambeau.core.codegen.programs import PROGRAM
from flambeau.core.formula.expr import param
from flambeau.core.formula.interpreter import (
    bytecode_interpreter_source,
    bytecode_loops_source,
)
from flambeau.core.formula.opcodes import FUNCTIONS
from flambeau.core.formula.parse import parse
from flambeau.core.formula.render_c import helpers, render_function
from flambeau.core.opdefs.opdef import KINDS

# Bools in memory are read as bytes: GCC does not vectorize loads of bool.
_C = {"f32": "float", "f64": "double", "i64": "int64_t", "bool": "uint8_t", "c64": "fl_c64",
      "c128": "fl_c128"}

HEAD = """// Generated from the operator definitions; do not edit.
#include "pw_helpers.h"
#include "dispatch/pointwise.h"
#define FL_CAT2(a, b) a##b
#define FL_CAT(a, b) FL_CAT2(a, b)
"""


def files() -> dict[str, str]:
    guard = "// Generated; do not edit.\n#pragma once\n"
    texts = {"pw_helpers.h": guard + helpers("c++"), "pw_table.cpp": _table(),
             "pw_bytecode.cpp": _interpreter(), "pw_loops.cpp": _loops()}
    return texts | _units()


def _units() -> dict[str, str]:
    """A file per module of definitions, so that a changed one compiles its own kernels alone.

    Those that the bytecode calls lie apart: every level has them.
    """
    units: dict[str, list[str]] = {}
    functions = set(_opcode_kernels().values())
    for plan in pointwise_plans():
        for kind, formula in plan.kernels:
            if not plan.is_rare(kind):
                is_function = kernel_name(plan, formula) in functions
                unit = "functions" if is_function else module_of(plan.opdef)
                units.setdefault(f"pw_{unit}.cpp", [HEAD]).append(_kernel(plan, kind, formula))
    return {name: "".join(texts) for name, texts in units.items()}


def _interpreter() -> str:
    run, stream = (f"FL_CAT(fl_{verb}_bytecode_, FL_ISA)" for verb in ("run", "stream"))
    kernels = {key: f"FL_CAT({name}, FL_ISA)" for key, name in _opcode_kernels().items()}
    declarations = "".join(map(_declaration, (run, stream, *kernels.values())))
    loop = _level("loops") + "#define FL_BC_LOOP(N) FL_CAT(fl_bc_loop##N##_, FL_ISA_loops)\n"
    return HEAD + declarations + loop + bytecode_interpreter_source(run, stream, kernels)


def _loops() -> str:
    """The bytecode's loops, but for those that have the name of a kernel."""
    loop = "#define FL_BC_LOOP(N) FL_CAT(fl_bc_loop##N##_, FL_ISA)\n"
    return HEAD + loop + bytecode_loops_source(_opcode_kernels())


def _opcode_kernels() -> dict[tuple[str, str], str]:
    """Names of kernels by the opcode whose loop they are."""
    found = {}
    for plan in pointwise_plans():
        operands = [p.name for p in plan.opdef.operands]
        for kind in {"f32", "f64"}.intersection(plan.kinds):
            scalars = [p.name for p in plan.opdef.scalars]
            expr, *others = parse(plan.formula(kind), operands, scalars)
            is_call = expr.op in FUNCTIONS and expr.args == tuple(map(param, operands))
            if is_call and not others and not scalars and not plan.is_rare(kind):
                found[expr.op, kind] = kernel_name(plan, kind)
    return found


def _declaration(name: str) -> str:
    arguments = "const void *, const void *const *, void *const *, const fl_scalar *, int64_t"
    return f"void {name}({arguments});\n"


def _kernel(plan: PointwisePlan, kind: str, formula: str) -> str:
    opdef = plan.opdef
    params = {p.name: "b" if p.role == "Mask" else kind for p in opdef.operands}
    scalars = {p.name: kind for p in opdef.scalars}
    exprs = parse(plan.formula(formula), list(params), list(scalars))
    function = f"f_{opdef.symbol}_{formula}"
    text = render_function(function, exprs, params, scalars, compute=kind,
                           result=[plan.result_kind(kind)] * len(exprs)
                           if len(exprs) > 1 else plan.result_kind(kind))
    return f"namespace {{\n{text}}}\n" + _loop(plan, kind, function, kernel_name(plan, formula))


def _loop(plan: PointwisePlan, kind: str, function: str, name: str) -> str:
    opdef = plan.opdef
    result = _C[plan.result_kind(kind)]
    lines = [f"void FL_CAT({name}, FL_ISA)(const void *, const void *const *in, "
             "void *const *out, const fl_scalar *s, int64_t n) {"]
    args = []
    for i, p in enumerate(opdef.operands):
        c_type = _C["bool"] if p.role == "Mask" else _C[kind]
        lines.append(f"    const {c_type} *x{i} = (const {c_type} *)in[{i}];")
        args.append(f"x{i}[i]")
    for i, _ in enumerate(opdef.scalars):
        lines.append(f"    const {_C[kind]} s{i} = {_scalar(kind, i)};")
        args.append(f"s{i}")
    outputs = range(len(opdef.outputs))
    lines += [f"    {result} *y{i} = ({result} *)out[{i}];" for i in outputs]
    call = ", ".join(args)
    lines += [
        f"    if constexpr (!{function}_has_rare) {{",
        "#pragma GCC ivdep",
        "        for (int64_t i = 0; i < n; i++)",
        f"            {_assign([f'y{i}[i]' for i in outputs], function, call)}",
        "        return;",
        "    } else {",
        *_tiles(function, call, result, outputs),
        "    }",
        "}\n",
    ]
    return "\n".join(lines)


def _assign(targets: list[str], function: str, call: str) -> str:
    if len(targets) == 1:
        return f"{targets[0]} = {function}({call});"
    return f"{function}({', '.join([call, *(f'&{target}' for target in targets)])});"


def _tiles(function: str, call: str, result: str, outputs: range) -> list[str]:
    """Compute a tile at a time, and again the slow way where it has rare cases."""
    tiles = [f"tile{i}[j]" for i in outputs]
    return [
        *(f"        {result} tile{i}[FL_TILE];" for i in outputs),
        "        for (int64_t start = 0; start < n; start += FL_TILE) {",
        "            const int64_t m = n - start < FL_TILE ? n - start : FL_TILE;",
        "            int rare = 0;",
        "            for (int64_t j = 0; j < m; j++) {",
        "                const int64_t i = start + j;",
        f"                {_assign(tiles, function, call)}",
        f"                rare |= {function}_rare({call});",
        "            }",
        "            for (int64_t j = 0; rare && j < m; j++) {",
        "                const int64_t i = start + j;",
        f"                if ({function}_rare({call})) {{",
        f"                    {_assign(tiles, f'{function}_slow', call)}",
        "                }",
        "            }",
        *(f"            memcpy(y{i} + start, tile{i}, (size_t)m * sizeof({result}));"
          for i in outputs),
        "        }",
    ]


def _scalar(kind: str, i: int) -> str:
    if kind in ("i64", "bool"):
        return f"({_C[kind]})s[{i}].i"
    if kind in ("c64", "c128"):
        part = "float" if kind == "c64" else "double"
        return f"{_C[kind]}{{({part})s[{i}].c[0], ({part})s[{i}].c[1]}}"
    return f"({_C[kind]})s[{i}].f"


def _table() -> str:
    """A function that fills the table of kernels.

    Instructions that do so take a fifth of the bytes of pointers with their relocations.
    """
    functions = set(_opcode_kernels().values())
    modules = sorted({module_of(plan.opdef) for plan in pointwise_plans()})
    lines = [HEAD, *map(_level, modules)]
    columns = {kind: column for column, kind in enumerate((*KINDS, "unsigned"))}
    cells = []
    for row, plan in enumerate(pointwise_plans()):
        for kind, formula in plan.kernels:
            name = kernel_name(plan, formula)
            cell = f"FL_CAT({name}, FL_ISA_{module_of(plan.opdef)})"
            if plan.is_rare(kind):
                cell = name + PROGRAM
            elif name in functions:
                cell = f"FL_CAT({name}, FL_ISA)"
            lines.append(_declaration(cell))
            cells.append(f"    rows[{row}][{columns[formula]}] = {cell};\n")
    fill = "void FL_CAT(fl_fill_pw_kernels_, FL_ISA)(fl_pw_fn (*rows)[FL_KERNEL_COUNT])"
    return "".join([*lines, f"{fill};\n{fill} {{\n", *cells, "}\n"])


def _level(module: str) -> str:
    """Whose kernels of a module a level has; cmake/flags.cmake names those that it shares."""
    return f"#ifndef FL_ISA_{module}\n#define FL_ISA_{module} FL_ISA\n#endif\n"
