"""``ops_table.cpp``: one static ``fl_op`` per operator, and the list of Python names."""
from __future__ import annotations

import json

from flambeau.core.codegen.plan import exports, named_in_cpp, numbered_rows, pointwise_rows
from flambeau.core.opdefs.opdef import DTYPE_RULES, KINDS, ROLES, OpDef, Param

_CATEGORY = {"pointwise": "FL_POINTWISE", "reduction": "FL_REDUCTION", "view": "FL_VIEW_OP",
             "kernel": "FL_KERNEL", "composite": "FL_COMPOSITE"}
_AUTOCAST_FLAGS = ("FL_O_LOWER", "FL_O_SINGLE", "FL_O_WIDEST", "FL_O_SINGLE_GPU")
_AUTOCAST = {"": (), "lower": ("FL_O_LOWER",), "float32": ("FL_O_SINGLE",),
             "promote": ("FL_O_WIDEST",), "float32 on gpu": ("FL_O_SINGLE_GPU",)}
_FORM = {"function": 1, "method": 2, "nn": 4, "inplace": 8}

HEAD = """// Generated from the operator definitions; do not edit.
#include "dispatch/pointwise.h"
#include "dispatch/python.h"
#include "dispatch/exports.h"
#include "dispatch/caller.h"
static fl_value none() { fl_value v; v.tag = FL_NONE; v.len = 0; v.i = 0; return v; }
static fl_value integer(int64_t i) { fl_value v = none(); v.tag = FL_INT; v.i = i; return v; }
static fl_value real(double d) { fl_value v = none(); v.tag = FL_FLOAT; v.d = d; return v; }
static fl_value boolean(bool b) { fl_value v = none(); v.tag = FL_BOOLEAN; v.i = b; return v; }
static fl_value text(const char *s, uint32_t n) {
    fl_value v = none(); v.tag = FL_STRING; v.s = s; v.len = n; return v; }
static fl_value ints(int64_t *p, uint32_t n) {
    fl_value v = none(); v.tag = FL_INTS; v.is = p; v.len = n; return v; }
"""


def files() -> dict[str, str]:
    rows = numbered_rows()
    parts = [HEAD, *_declarations(rows)]
    parts += [_row(row) for row in rows]
    parts.append("fl_op fl_builtin_ops[] = {\n")
    parts += [f"    {_entry(i, row)},\n" for i, row in enumerate(rows)]
    parts.append(f"}};\nconst int fl_builtin_count = {len(rows)};\n")
    parts.append(_exports())
    return {"ops_table.cpp": "".join(parts), "op_index.h": _indices(),
            "op_index.pxi": _cython_indices()}


def _indices() -> str:
    names = "".join(f"    FL_OP_{symbol} = {i},\n" for i, symbol in enumerate(named_in_cpp()))
    head = "// Generated from the operator definitions; do not edit.\n#pragma once\n"
    return f"{head}enum {{\n{names}}};\n"


def _cython_indices() -> str:
    names = "".join(f"        FL_OP_{symbol}\n" for symbol in named_in_cpp())
    return ("# Generated from the operator definitions; do not edit.\n"
            f'cdef extern from "op_index.h":\n    enum:\n{names}')


def _infer(row: OpDef) -> str:
    return "fl_infer_" + (row.infer or ("pointwise" if row.category == "pointwise" else row.symbol))


def _run(row: OpDef) -> str:
    return "fl_run_" + (row.run or ("pointwise" if row.category == "pointwise" else row.symbol))


def _declarations(rows: list[OpDef]):
    infers = sorted({_infer(r) for r in rows if r.category != "composite"})
    runs = sorted({_run(r) for r in rows if r.category not in ("composite", "view")})
    for name in sorted({row.call for row in rows if row.call}):
        yield f"int fl_call_{name}(const fl_op *, const fl_value *, int, fl_value *);\n"
    for name in infers:
        yield f'extern "C" int {name}(const fl_op *, const fl_value *, int, fl_spec *);\n'
    for name in runs:
        yield f'extern "C" int {name}(const fl_op *, const fl_value *, int, fl_tensor *const *);\n'


def _row(row: OpDef) -> str:
    text = "".join(_list_default(row, p) for p in row.params)
    params = ", ".join(_param(row, p) for p in row.params)
    text += f"static const fl_param p_{row.symbol}[] = {{{params}}};\n"
    if row.category == "pointwise":
        text += _pointwise(row)
    elif row.category == "reduction":
        text += f"static const int o_{row.symbol} = {row.option};\n"
    return text


def _list_default(row: OpDef, p: Param) -> str:
    if p.role not in ("Ints", "Dims", "Shape") or not p.has_default or p.default is None:
        return ""
    values = p.default if isinstance(p.default, (tuple, list)) else [p.default]
    inside = ", ".join(map(str, values))
    return f"static int64_t d_{row.symbol}_{p.name}[] = {{{inside}}};\n"


def _param(row: OpDef, p: Param) -> str:
    flags = [name for name, on in (("FL_P_OPTIONAL", p.optional), ("FL_P_KEYWORD", p.keyword),
                                   ("FL_P_DEFAULT", p.has_default),
                                   ("FL_P_VARIADIC", p.variadic)) if on]
    default = _default(row, p) if p.has_default else "none()"
    return f'{{"{p.name}", {ROLES[p.role]}, {" | ".join(flags) or "0"}, {{}}, {default}}}'


def _default(row: OpDef, p: Param) -> str:
    value = p.default
    if value is None:
        return "none()"
    if p.role in ("Ints", "Dims", "Shape"):
        count = len(value) if isinstance(value, (tuple, list)) else 1
        return f"ints(d_{row.symbol}_{p.name}, {count})"
    if isinstance(value, bool):
        return f"boolean({str(value).lower()})"
    if isinstance(value, str):
        return f"text({json.dumps(value)}, {len(value)})"
    if isinstance(value, float) or (p.role == "Float" and isinstance(value, int)):
        return f"real({float(value)!r})"
    return f"integer({value})"


def _pointwise(row: OpDef) -> str:
    plan = {p.row.key: p for p in pointwise_rows()}[row.key]
    names = [p.name for p in row.params]
    operands = ", ".join(str(names.index(p.name)) for p in row.operands)
    masks = ", ".join(str(int(p.role == "Mask")) for p in row.operands)
    scalars = ", ".join(str(names.index(p.name)) for p in row.scalars) or "0"
    bits = sum(1 << KINDS.index(k) for k in plan.kinds) | plan.has_unsigned << len(KINDS)
    results = ", ".join(str(KINDS.index(plan.result_kind(k))) for k in KINDS)
    writes = ", ".join(str(w) for w in plan.writes)
    return (f"static const fl_pointwise w_{row.symbol} = {{{len(row.operands)}, "
            f"{len(row.scalars)}, {len(row.outputs)}, {bits}, {{{operands}}}, {{{masks}}}, "
            f"{{{scalars}}}, {{{results}}}, {{{writes}}}, {plan.index}, nullptr, {{}}}};\n")


def _entry(index: int, row: OpDef) -> str:
    call = {"pointwise": "fl_call_pointwise", "composite": "fl_call_composite"}.get(
        row.category, "fl_call_generic")
    if row.call:
        call = f"fl_call_{row.call}"
    infer = "nullptr" if row.category == "composite" else _infer(row)
    run = "nullptr" if row.category in ("composite", "view") else _run(row)
    private = {"pointwise": f"&w_{row.symbol}", "reduction": f"&o_{row.symbol}"}.get(
        row.category, "nullptr")
    flags = " | ".join(name for name, on in (
        ("FL_O_DIFFERENTIABLE", row.differentiable), ("FL_O_LIST", row.list_output),
        ("FL_O_HELPER", not row.forms and not row.aliases),
        ("FL_O_EXACT_OUT", row.exact_out),
        *((flag, flag in _AUTOCAST[row.autocast]) for flag in _AUTOCAST_FLAGS)) if on)
    rule = DTYPE_RULES.index(row.rule)
    return (f'{{sizeof(fl_op), {_CATEGORY[row.category]}, {rule}, {len(row.params)}, '
            f'{len(row.outputs)}, "{row.name}", "{row.overload}", {json.dumps(row.doc)}, '
            f"p_{row.symbol}, {infer}, {run}, {call}, {private}, {flags or 0}, {index}, nullptr, "
            f"{{0, 0, {_counts(row)}, 0}}}}")


def _counts(row: OpDef) -> str:
    keywords = [p.keyword for p in row.params]
    positional = keywords.index(True) if any(keywords) else len(keywords)
    required = sum(not p.has_default and not p.variadic for p in row.params)
    return f"FL_PARAMETER_COUNTS({positional}, {required})"


def _exports() -> str:
    lines = []
    for each in exports():
        forms = sum(_FORM[form] for form in each.forms)
        ops = ", ".join(str(i) for i, _ in each.entries)
        outputs = json.dumps(",".join(each.outputs))
        lines.append(f'    {{"{each.name}", {forms}, {int(each.inplace)}, {len(each.entries)}, '
                     f"{{{ops}}}, {outputs}}},\n")
    return ("const fl_export fl_exports[] = {\n" + "".join(lines) +
            f"}};\nconst int fl_export_count = {len(lines)};\n")
