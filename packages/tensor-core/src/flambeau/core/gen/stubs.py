"""``core/_ops.pyi``: types of every operator, for editors and mypy."""
from __future__ import annotations

from flambeau.core.gen.plan import all_rows
from flambeau.core.table.row import Param, Row

_TYPES = {
    "Tensor": "Tensor", "Mask": "Tensor", "Operand": "Tensor | Number",
    "Tensors": "Sequence[Tensor]", "Scalar": "Number", "Int": "int", "Float": "float",
    "Bool": "bool", "Dim": "int", "Dims": "int | Sequence[int]", "Shape": "Sequence[int] | int",
    "Ints": "int | Sequence[int]", "DType": "dtype", "Device": "device | str", "Str": "str",
    "Generator": "Generator", "Object": "Any", "Floats": "Sequence[float]", "Index": "Any",
    "Bools": "Sequence[bool]",
}
HEAD = '''# Generated from the operator table; do not edit.
from collections.abc import Sequence
from typing import Any, overload

from flambeau.core._core import Generator, Tensor, device, dtype

# mypy: disable-error-code="overload-cannot-match"

Number = bool | int | float | complex

def name_outputs() -> None: ...
'''


def files() -> dict[str, str]:
    names: dict[str, list[Row]] = {}
    for row in all_rows():
        for name in (row.name, *row.plain_aliases):
            names.setdefault(name, []).append(row)
    body = []
    for name, rows in sorted(names.items()):
        body += _overloads([_function(name, row) for row in rows])
        if f"{name}_" not in names:
            body += _overloads([_in_place(name, row) for row in rows if row.inplace])
    return {"stubs/core/ops.pyi": HEAD + "".join(body)}


def _overloads(functions: list[str]) -> list[str]:
    head = "@overload\n" if len(functions) > 1 else ""
    return [f"{head}{function}\n" for function in functions]


def _in_place(name: str, row: Row) -> str:
    return f"def {name}_({', '.join(_params(row))}) -> Tensor: ..."


def _function(name: str, row: Row) -> str:
    parts = _params(row)
    if row.out:
        if "*" not in parts:
            parts.append("*")
        parts.append("out: Any = ...")
    return f"def {name}({', '.join(parts)}) -> {_result(row)}: ..."


def _params(row: Row) -> list[str]:
    parts, starred = [], False
    for p in row.params:
        if p.keyword and not starred:
            parts.append("*")
            starred = True
        parts.append(_param(p))
    return parts


def _param(p: Param) -> str:
    kind = _TYPES[p.role] + (" | None" if p.optional else "")
    return f"{p.name}: {kind}" + (" = ..." if p.has_default else "")


def _result(row: Row) -> str:
    if row.list_output:
        return "tuple[Tensor, ...]"
    if len(row.outputs) > 1:
        return f"tuple[{', '.join(['Tensor'] * len(row.outputs))}]"
    return "Tensor"
