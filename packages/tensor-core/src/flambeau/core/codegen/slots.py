"""``tensor.pxi``: the Tensor class with the methods behind Python's operators filled in.

They come from the rows' ``dunder``. Cython has no includes inside a class body, hence the
template.
"""
from __future__ import annotations

from pathlib import Path

from flambeau.core.codegen.plan import all_rows

_COMPARE = ("lt", "le", "eq", "ne", "gt", "ge")
_UNARY = ("neg", "pos", "abs", "invert")
_NO_INPLACE = ("matmul",)


_TEMPLATE = Path(__file__).parent.parent / "bindings" / "tensor.pxi.in"


def files() -> dict[str, str]:
    lines = []
    for row in all_rows():
        if not row.dunder or row.dunder in _COMPARE:
            continue
        op = f"&fl_builtin_ops[FL_OP_{row.symbol}]"
        if row.dunder in _UNARY:
            lines.append(f"    def __{row.dunder}__(self):\n"
                         f"        return fl_unary({op}, <PyObject *>self)\n\n")
            continue
        lines.append(_binary(row, op))
    lines.append(_compare())
    text = _TEMPLATE.read_text().replace("    # {{operators}}\n", "".join(lines))
    return {"tensor.pxi": text}


def _binary(row, op: str) -> str:
    pair = "self, other, modulo" if row.dunder == "pow" else "self, other"
    text = (f"    def __{row.dunder}__({pair}):\n"
            f"        return fl_binary({op}, <PyObject *>self, <PyObject *>other, False)\n\n"
            f"    def __r{row.dunder}__({pair}):\n"
            f"        return fl_binary({op}, <PyObject *>other, <PyObject *>self, False)\n\n")
    if row.inplace and row.dunder not in _NO_INPLACE:
        pair = "self, other"
        text += (f"    def __i{row.dunder}__({pair}):\n"
                 f"        return fl_binary({op}, <PyObject *>self, <PyObject *>other, True)\n\n")
    return text


def _compare() -> str:
    rows = {row.dunder: row for row in all_rows() if row.dunder in _COMPARE}
    text = ""
    for name in _COMPARE:
        op = f"&fl_builtin_ops[FL_OP_{rows[name].symbol}]"
        text += (f"    def __{name}__(self, other):\n"
                 f"        return fl_binary({op}, <PyObject *>self, <PyObject *>other, False)\n\n")
    return text
