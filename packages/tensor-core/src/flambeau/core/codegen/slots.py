"""``tensor.pxi``: the Tensor class with the methods behind Python's operators filled in.

They come from the definitions' ``dunder``. Cython has no includes inside a class body, hence the
template.
"""
from __future__ import annotations

from pathlib import Path

from flambeau.core.codegen.plan import all_opdefs

COMPARE = ("lt", "le", "eq", "ne", "gt", "ge")
UNARY = ("neg", "pos", "abs", "invert")
_NO_INPLACE = ("matmul",)


_TEMPLATE = Path(__file__).parent.parent / "bindings" / "tensor.pxi.in"


def files() -> dict[str, str]:
    lines = []
    for opdef in all_opdefs():
        if not opdef.dunder or opdef.dunder in COMPARE:
            continue
        op = f"&fl_builtin_ops[FL_OP_{opdef.symbol}]"
        if opdef.dunder in UNARY:
            lines.append(f"    def __{opdef.dunder}__(self):\n"
                         f"        return fl_unary({op}, <PyObject *>self)\n\n")
            continue
        lines.append(_binary(opdef, op))
    lines.append(_compare())
    text = _TEMPLATE.read_text().replace("    # {{operators}}\n", "".join(lines))
    return {"tensor.pxi": text}


def _binary(opdef, op: str) -> str:
    pair = "self, other, modulo" if opdef.dunder == "pow" else "self, other"
    text = (f"    def __{opdef.dunder}__({pair}):\n"
            f"        return fl_binary({op}, <PyObject *>self, <PyObject *>other, False)\n\n"
            f"    def __r{opdef.dunder}__({pair}):\n"
            f"        return fl_binary({op}, <PyObject *>other, <PyObject *>self, False)\n\n")
    if opdef.inplace and opdef.dunder not in _NO_INPLACE:
        pair = "self, other"
        text += (f"    def __i{opdef.dunder}__({pair}):\n"
                 f"        return fl_binary({op}, <PyObject *>self, <PyObject *>other, True)\n\n")
    return text


def _compare() -> str:
    opdefs = {opdef.dunder: opdef for opdef in all_opdefs() if opdef.dunder in COMPARE}
    text = ""
    for name in COMPARE:
        op = f"&fl_builtin_ops[FL_OP_{opdefs[name].symbol}]"
        text += (f"    def __{name}__(self, other):\n"
                 f"        return fl_binary({op}, <PyObject *>self, <PyObject *>other, False)\n\n")
    return text
