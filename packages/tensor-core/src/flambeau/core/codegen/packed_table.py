"""``run_table.cpp``: the operators of the runtime without Python, packed.

A pointer in a table takes eight bytes, and a relocation of 24 in a shared library: of the table as
``ops_table.cpp`` has it three fifths were such. Here names and lists follow one another, small
numbers say which are meant, and ``standalone/packed.cpp`` makes the table of it when the library is
loaded. Without composites, docs and Python names.
"""
from __future__ import annotations

from flambeau.core.codegen.plan import numbered_opdefs
from flambeau.core.codegen.tables import (
    HEAD,
    default_value,
    function_declarations,
    infer_name,
    list_default,
    literal_table,
    op_flags,
    param_flags,
    parameter_counts,
    pointwise_facts,
    run_name,
    shape_of_call,
)
from flambeau.core.opdefs.opdef import ROLES, OpDef


class _Parameters:
    """The lists of parameters, each once, and the names and defaults in them."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}         # and their offsets
        self.defaults: dict[str, int] = {}
        self.arrays: list[str] = []
        self.entries: list[str] = []
        self._names_end = 0
        self._first: dict[tuple[str, ...], int] = {}

    def add(self, opdef: OpDef) -> int:
        """Where the list of an operator begins."""
        entries = tuple(self._entry(opdef, p) for p in opdef.params)
        if entries not in self._first:
            self._first[entries] = len(self.entries)
            self.entries += entries
        return self._first[entries]

    def _entry(self, opdef: OpDef, p) -> str:
        self.arrays.append(list_default(opdef, p))
        default = default_value(opdef, p) if p.has_default else "none()"
        number = self.defaults.setdefault(default, len(self.defaults))
        return f"{self._name(p.name)}, {ROLES[p.role]}, {param_flags(opdef, p)}, {number}"

    def _name(self, name: str) -> int:
        if name not in self.names:
            self.names[name] = self._names_end
            self._names_end += len(name) + 1
        return self.names[name]


def files() -> dict[str, str]:
    opdefs = numbered_opdefs()
    kept = [opdef for opdef in opdefs if opdef.category != "composite"]
    head = [HEAD.split("#include", 1)[0], '#include "standalone/packed.h"\n',
            HEAD[HEAD.index("static fl_value none"):], *function_declarations(kept)]
    parameters = _Parameters()
    entries = [_entry(opdef, parameters) for opdef in opdefs]
    names = "".join(f'    "{opdef.name}\\0{opdef.overload}\\0"\n' for opdef in opdefs)
    texts = [*head, *parameters.arrays, _functions(opdefs),
             f"static const char op_names[] =\n{names};\n",
             "static const char param_names[] =\n",
             *(f'    "{name}\\0"\n' for name in parameters.names), ";\n",
             _array("static fl_value defaults", parameters.defaults),
             _array("static const PackedParam params", map("{{{}}}".format, parameters.entries)),
             _array("static const PackedOp ops", entries),
             _array("static const uint8_t pointwise", map(_pointwise, _of(kept, "pointwise"))),
             _array("static const uint8_t options", (o.option for o in _of(kept, "reduction"))),
             _unpacking(opdefs, parameters)]
    return {"run_table.cpp": "".join(texts)}


def _of(opdefs: list[OpDef], category: str) -> list[OpDef]:
    return [opdef for opdef in opdefs if opdef.category == category]


def _array(declaration: str, values) -> str:
    return f"{declaration}[] = {{\n" + "".join(f"    {value},\n" for value in values) + "};\n"


def _entry(opdef: OpDef, parameters: _Parameters) -> str:
    if opdef.category == "composite":
        return "{FL_COMPOSITE}"
    return (f"{{{shape_of_call(opdef)}, {parameter_counts(opdef)}, {parameters.add(opdef)}, "
            f"{op_flags(opdef)}}}")


def _pointwise(opdef: OpDef) -> str:
    head, kernel, lists = pointwise_facts(opdef)
    return ", ".join(map(str, [*head, kernel & 255, kernel >> 8, *sum(lists, [])]))


def _functions(opdefs: list[OpDef]) -> str:
    """What is not the same for all operators of a category."""
    lines = ["static void set_functions(fl_op *op) {\n"]
    for i, opdef in enumerate(opdefs):
        if opdef.category == "composite":
            continue
        if opdef.category != "pointwise" or opdef.infer:
            lines.append(f"    op[{i}].infer = {infer_name(opdef)};\n")
        if opdef.category not in ("pointwise", "view") or (opdef.run and opdef.category != "view"):
            lines.append(f"    op[{i}].run_cpu = {run_name(opdef)};\n")
        if opdef.call:
            lines.append(f"    op[{i}].call = fl_call_{opdef.call};\n")
    return "".join([*lines, "}\n"])


def _unpacking(opdefs: list[OpDef], parameters: _Parameters) -> str:
    """The table, and the call that fills it as the library is loaded."""
    literals = []
    pointwise = _of(opdefs, "pointwise")
    for i, opdef in enumerate(pointwise):
        table, facts = literal_table(opdef)
        if table:
            array, count, param = facts.split(", ")
            literals += [table, f"static const PackedLiterals literals = {{{i}, {param}, {count}, "
                                f"{array}}};\n"]
    return "".join([
        *literals,
        f"fl_op fl_builtin_ops[{len(opdefs)}];\nconst int fl_builtin_count = {len(opdefs)};\n",
        f"static fl_param all_params[{len(parameters.entries)}];\n",
        f"static fl_pointwise all_pointwise[{len(pointwise)}];\n",
        f"static int all_options[{len(_of(opdefs, 'reduction'))}];\n",
        "static const bool unpacked = (unpack_operators({op_names, param_names, defaults, params, "
        "sizeof params / sizeof *params, ops, pointwise, options, &literals, all_params, "
        "all_pointwise, all_options}), set_functions(fl_builtin_ops), true);\n"])
