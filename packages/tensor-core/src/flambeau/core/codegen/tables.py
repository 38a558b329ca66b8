"""``ops_table.cpp``: one static ``fl_op`` per operator, and the list of Python names."""
from __future__ import annotations

import json

from flambeau.core.codegen.plan import exports, named_in_cpp, numbered_opdefs, pointwise_plans
from flambeau.core.opdefs.literal import literal_opdef
from flambeau.core.opdefs.opdef import CATEGORIES, DTYPE_RULES, KINDS, ROLES, OpDef, Param

_CATEGORY = {"pointwise": "FL_POINTWISE", "reduction": "FL_REDUCTION", "view": "FL_VIEW_OP",
             "kernel": "FL_KERNEL", "composite": "FL_COMPOSITE"}
_AUTOCAST_FLAGS = ("FL_O_LOWER", "FL_O_SINGLE", "FL_O_WIDEST", "FL_O_SINGLE_GPU")
_AUTOCAST = {"": (), "lower": ("FL_O_LOWER",), "float32": ("FL_O_SINGLE",),
             "promote": ("FL_O_WIDEST",), "float32 on gpu": ("FL_O_SINGLE_GPU",)}
#: Facts that the dispatcher asks for, beyond those that the interface numbers.
_CORE_FLAGS = {
    "FL_O_HELPER": lambda opdef: not opdef.forms and not opdef.aliases,
    "FL_O_EXACT_OUT": lambda opdef: opdef.exact_out,
    "FL_O_NO_PARTIAL_OVERLAP": lambda opdef: opdef.overlap != "",
    "FL_O_NO_OVERLAP": lambda opdef: opdef.overlap == "any",
    "FL_O_DYNAMIC_SHAPE": lambda opdef: opdef.dynamic_shape,
    "FL_O_RAISES_ON_VALUES": lambda opdef: opdef.raises_on_values,
    "FL_O_DECOMPOSES": lambda opdef: opdef.decomposes,
    "FL_O_ROWS": lambda opdef: opdef.rows != "",
    "FL_O_ANY_DTYPE": lambda opdef: opdef.any_dtype,
    "FL_O_EPILOGUE": lambda opdef: opdef.epilogue,
}
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
    opdefs = numbered_opdefs()
    parts = [HEAD, *function_declarations(opdefs)]
    parts += _definitions(opdefs)
    parts.append("fl_op fl_builtin_ops[] = {\n")
    parts += [f"    {_entry(i, opdef, json.dumps(opdef.doc))},\n" for i, opdef in enumerate(opdefs)]
    parts.append(f"}};\nconst int fl_builtin_count = {len(opdefs)};\n")
    parts.append(_exports())
    return {"ops_table.cpp": "".join(parts), "op_index.h": _indices(),
            "op_index.pxi": _cython_indices(), "opdef_enums.h": _enums(),
            "opdef_enums.pxi": _cython_enums()}


def _indices() -> str:
    names = "".join(f"    FL_OP_{symbol} = {i},\n" for i, symbol in enumerate(named_in_cpp()))
    head = "// Generated from the operator definitions; do not edit.\n#pragma once\n"
    return f"{head}enum {{\n{names}}};\n"


def _cython_indices() -> str:
    names = "".join(f"        FL_OP_{symbol}\n" for symbol in named_in_cpp())
    return ("# Generated from the operator definitions; do not edit.\n"
            f'cdef extern from "op_index.h":\n    enum:\n{names}')


def _enums() -> str:
    rules = ", ".join(f"FL_D_{rule.upper()} = {i}" for i, rule in enumerate(DTYPE_RULES))
    flags = ", ".join(f"{flag} = 1 << {16 + i}" for i, flag in enumerate(_CORE_FLAGS))
    return ("// Generated from the operator definitions; do not edit.\n#pragma once\n"
            f"enum fl_dtype_rule {{ {rules} }};\n"
            f"/* Beyond fl_op_flags: only the core knows these. */\nenum {{ {flags} }};\n")


def _cython_enums() -> str:
    flags = "".join(f"        {flag}\n" for flag in _CORE_FLAGS)
    return ("# Generated from the operator definitions; do not edit.\n"
            f'cdef extern from "opdef_enums.h":\n    enum:\n{flags}\n'
            f"cdef tuple _CATEGORIES = {CATEGORIES}\ncdef tuple _DTYPE_RULES = {DTYPE_RULES}\n")


def infer_name(opdef: OpDef) -> str:
    return "fl_infer_" + (opdef.infer or _shared(opdef))


def run_name(opdef: OpDef) -> str:
    return "fl_run_" + (opdef.run or _shared(opdef))


def _shared(opdef: OpDef) -> str:
    return "pointwise" if opdef.category == "pointwise" else opdef.symbol


def function_declarations(opdefs: list[OpDef]):
    infers = sorted({infer_name(r) for r in opdefs if r.category != "composite"})
    runs = sorted({run_name(r) for r in opdefs if r.category not in ("composite", "view")})
    for name in sorted({opdef.call for opdef in opdefs if opdef.call}):
        yield f"int fl_call_{name}(const fl_op *, const fl_value *, int, fl_value *);\n"
    for name in infers:
        yield f'extern "C" int {name}(const fl_op *, const fl_value *, int, fl_spec *);\n'
    for name in runs:
        yield f'extern "C" int {name}(const fl_op *, const fl_value *, int, fl_tensor *const *);\n'


def _definitions(opdefs: list[OpDef]):
    """What the entries of the table refer to. Operators of equal parameters share their list."""
    lists: dict[str, str] = {}
    for opdef in opdefs:
        params = ", ".join(_param(opdef, p) for p in opdef.params)
        name = f"p_{opdef.symbol}"
        first = lists.setdefault(params, name)
        yield "".join(list_default(opdef, p) for p in opdef.params)
        yield (f"static const fl_param {name}[] = {{{params}}};\n" if first == name else
               f"static const fl_param *const {name} = {first};\n")
        yield _extra(opdef)


def _extra(opdef: OpDef) -> str:
    text = ""
    if opdef.category == "pointwise":
        text += _pointwise(opdef)
    elif opdef.category == "reduction":
        text += f"static const int o_{opdef.symbol} = {opdef.option};\n"
    return text


def list_default(opdef: OpDef, p: Param) -> str:
    if p.role not in ("Ints", "Dims", "Shape") or not p.has_default or p.default is None:
        return ""
    values = p.default if isinstance(p.default, (tuple, list)) else [p.default]
    inside = ", ".join(map(str, values))
    return f"static int64_t d_{opdef.symbol}_{p.name}[] = {{{inside}}};\n"


def _param(opdef: OpDef, p: Param) -> str:
    default = default_value(opdef, p) if p.has_default else "none()"
    return f'{{"{p.name}", {ROLES[p.role]}, {param_flags(opdef, p)}, {{}}, {default}}}'


def param_flags(opdef: OpDef, p: Param) -> str:
    """Flags of a parameter, as an expression of C++."""
    return " | ".join(name for name, on in (
        ("FL_P_OPTIONAL", p.optional), ("FL_P_KEYWORD", p.keyword),
        ("FL_P_DEFAULT", p.has_default), ("FL_P_VARIADIC", p.variadic),
        ("FL_P_WRITES", p.writes and opdef.category == "kernel")) if on) or "0"


def default_value(opdef: OpDef, p: Param) -> str:
    value = p.default
    if value is None:
        return "none()"
    if p.role in ("Ints", "Dims", "Shape"):
        count = len(value) if isinstance(value, (tuple, list)) else 1
        return f"ints(d_{opdef.symbol}_{p.name}, {count})"
    if isinstance(value, bool):
        return f"boolean({str(value).lower()})"
    if isinstance(value, str):
        return f"text({json.dumps(value)}, {len(value)})"
    if isinstance(value, float) or (p.role == "Float" and isinstance(value, int)):
        return f"real({float(value)!r})"
    return f"integer({value})"


def literal_table(opdef: OpDef) -> tuple[str, str]:
    """The table of numbers that have kernels of their own, and what the definition says of it."""
    if not opdef.literals:
        return "", "nullptr, 0, 0"
    (name, values), = opdef.literals.items()
    if opdef.operands[-1].name != name:
        raise ValueError(f"{opdef.key}: literals are those of the last operand, not of {name}")
    kernels = {p.opdef.key: p.index for p in pointwise_plans()}
    cells = ", ".join(f"{{{value!r}, {kernels[literal_opdef(opdef, name, value).key]}}}"
                      for value in values)
    table = f"static const fl_pw_literal l_{opdef.symbol}[] = {{{cells}}};\n"
    index = [p.name for p in opdef.params].index(name)
    return table, f"l_{opdef.symbol}, {len(values)}, {index}"


def _pointwise(opdef: OpDef) -> str:
    table, literals = literal_table(opdef)
    head, kernel, lists = pointwise_facts(opdef)
    inside = ", ".join(f"{{{', '.join(map(str, each)) or '0'}}}" for each in lists)
    return (f"{table}static const fl_pointwise w_{opdef.symbol} = {{{', '.join(map(str, head))}, "
            f"{inside}, {kernel}, nullptr, {{}}, {literals}}};\n")


def pointwise_facts(opdef: OpDef) -> tuple[list[int], int, list[list[int]]]:
    """Of an ``fl_pointwise``: its numbers up to the kinds, its kernels' row, its lists."""
    plan = {p.opdef.key: p for p in pointwise_plans()}[opdef.key]
    names = [p.name for p in opdef.params]
    bits = sum(1 << KINDS.index(k) for k in plan.kinds) | plan.has_unsigned << len(KINDS)
    head = [len(opdef.operands), len(opdef.scalars), len(opdef.outputs), bits]
    lists = [[names.index(p.name) for p in opdef.operands],
             [int(p.role == "Mask") for p in opdef.operands],
             [names.index(p.name) for p in opdef.scalars],
             [KINDS.index(plan.result_kind(k)) for k in KINDS], list(plan.writes)]
    return head, plan.index, lists


def _entry(index: int, opdef: OpDef, doc: str) -> str:
    call = {"pointwise": "fl_call_pointwise", "composite": "fl_call_composite"}.get(
        opdef.category, "fl_call_generic")
    if opdef.call:
        call = f"fl_call_{opdef.call}"
    infer = "nullptr" if opdef.category == "composite" else infer_name(opdef)
    run = "nullptr" if opdef.category in ("composite", "view") else run_name(opdef)
    private = {"pointwise": f"&w_{opdef.symbol}", "reduction": f"&o_{opdef.symbol}"}.get(
        opdef.category, "nullptr")
    return (f'{{sizeof(fl_op), {shape_of_call(opdef)}, "{opdef.name}", "{opdef.overload}", {doc}, '
            f"p_{opdef.symbol}, {infer}, {run}, {call}, {private}, {op_flags(opdef)}, {index}, "
            f"nullptr, {{0, 0, FL_PARAMETER_COUNTS({parameter_counts(opdef)}), 0}}}}")


def shape_of_call(opdef: OpDef) -> str:
    """Category, rule of dtypes, and how many parameters and results there are."""
    rule = DTYPE_RULES.index(opdef.rule)
    counts = f"{len(opdef.params)}, {len(opdef.outputs)}"
    return f"{_CATEGORY[opdef.category]}, {rule}, {counts}"


def op_flags(opdef: OpDef) -> str:
    """Flags of an operator, as an expression of C++."""
    return " | ".join(name for name, on in (
        ("FL_O_DIFFERENTIABLE", opdef.differentiable), ("FL_O_LIST", opdef.list_output),
        ("FL_O_RANDOM", opdef.random),
        *((flag, says(opdef)) for flag, says in _CORE_FLAGS.items()),
        *((flag, flag in _AUTOCAST[opdef.autocast]) for flag in _AUTOCAST_FLAGS)) if on) or "0"


def parameter_counts(opdef: OpDef) -> str:
    """How many parameters may be given by position, and how many must be given."""
    keywords = [p.keyword for p in opdef.params]
    positional = keywords.index(True) if any(keywords) else len(keywords)
    required = sum(not p.has_default and not p.variadic for p in opdef.params)
    return f"{positional}, {required}"


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
