"""In which type a pointwise call is computed: for backends written in Python.

The core has decided the dtypes of the results already; a kernel also needs the compute kind
(``f32 f64 i64 bool c64 c128``), which for comparisons does not follow from the result.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from flambeau.core import _core
from flambeau.core.opdefs.opdef import FORMULA_OF_KIND, OpDef

_FAMILIES = {"bool": 0, "uint": 1, "int": 1, "float": 2, "bfloat": 2, "complex": 3}
_KINDS = {"float64": "f64", "complex64": "c64", "complex128": "c128", "bool": "bool"}
_REAL = {"c64": "f32", "c128": "f64"}


@cache
def dtype_name(dtype: Any) -> str:
    """``"float32"`` for ``flambeau.float32``."""
    return str(dtype).rpartition(".")[2]


@cache
def _family(dtype: Any) -> int:
    return _FAMILIES[dtype_name(dtype).partition("_")[0].rstrip("0123456789")]


@cache
def kind_of_dtype(dtype: Any) -> str:
    """The kind that values of a dtype are computed in."""
    name = dtype_name(dtype)
    return _KINDS.get(name, "i64" if _family(dtype) == 1 else "f32")


def promoted(values: Iterable[Any]) -> Any:
    """The dtype that tensors and numbers promote to, by the rule of ``set_promotion``.

    Tensors with dimensions decide; 0-d tensors, then numbers, count only when their family
    (bool, integer, floating, complex) is higher. By the array API's rule 0-d tensors are as others.
    """
    by_dtype = _core.get_promotion() == "array_api"
    slots: list[Any] = [None, None, None]
    for value in values:
        is_tensor = isinstance(value, _core.Tensor)
        dtype = value.dtype if is_tensor else _core.result_type(value, value)
        slot = 2 if not is_tensor else 0 if value.ndim or by_dtype else 1
        slots[slot] = dtype if slots[slot] is None else _core.promote_types(slots[slot], dtype)
    return _combine(slots[0], _combine(slots[1], slots[2]))


def _combine(high: Any, low: Any) -> Any:
    if high is None or low is None:
        return low if high is None else high
    if _family(high) >= _family(low):
        return high
    return _core.promote_types(high, low) if _family(low) == 3 and _family(high) == 2 else low


def compute_kind(opdef: OpDef, values: Mapping[str, Any]) -> str | None:
    """The kind a call of a pointwise operator is computed in; None when the definition has no
    formula for it.

    uint64 has the kind of int64, in which its order and its quotients are others; definitions where
    that matters have a formula of their own for it, which ``is_unsigned`` tells, and no kind.

    Args:
        opdef: The definition (``flambeau.core.register.row(op.key)``).
        values: The arguments by name.
    """
    if is_unsigned(opdef, values):
        return None
    kind = kind_of_dtype(_operand_dtype(opdef, values))
    if opdef.rule == "float" and kind in ("i64", "bool"):
        kind = kind_of_dtype(_core.get_default_dtype())
    if opdef.rule == "integer" and kind == "bool":
        kind = "i64"
    return kind if FORMULA_OF_KIND[kind] in opdef.formulas else None


def is_unsigned(opdef: OpDef, values: Mapping[str, Any]) -> bool:
    """Whether a call is computed by the formula ``unsigned``, on int64 with uint64's bits."""
    return "unsigned" in opdef.formulas and dtype_name(_operand_dtype(opdef, values)) == "uint64"


def _operand_dtype(opdef: OpDef, values: Mapping[str, Any]) -> Any:
    return promoted(values[p.name] for p in opdef.operands if p.role != "Mask")


def result_kind(opdef: OpDef, kind: str) -> str:
    """Kind of the outputs of a pointwise operator computed in ``kind``."""
    if opdef.rule == "bool":
        return "bool"
    return _REAL.get(kind, kind) if opdef.rule == "real" else kind
