"""Operators as others: `torch._decomp`. Here programs register their own; there are no others."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

decomposition_table: dict[Any, Callable[..., Any]] = {}
global_decomposition_table: dict[str, dict[Any, Callable[..., Any]]] = {
    "post_autograd": decomposition_table, "pre_autograd": {}, "meta": {}}


def register_decomposition(aten_op: Any, registry: dict[Any, Any] | None = None, *,
                           type: str = "post_autograd", unsafe: bool = False) -> Any:
    """A decorator that notes what computes an operator, or each form of it.

    Args:
        aten_op: One of ``torch.ops``, a form of one, or a list of them.
        registry: Where to note it; None means the table of this module.
        type: Which of this module's tables.
        unsafe: Has no effect.
    """
    table = global_decomposition_table[type] if registry is None else registry

    def note(function: Any) -> Any:
        for op in aten_op if isinstance(aten_op, list | tuple) else (aten_op,):
            table.update(dict.fromkeys(_forms(op), function))
        return function

    return note


def _forms(op: Any) -> list[Any]:
    """The forms of an operator; a form alone."""
    return [getattr(op, name) for name in op.overloads()] if hasattr(op, "overloads") else [op]


def get_decompositions(aten_ops: Iterable[Any],
                       type: str = "post_autograd") -> dict[Any, Callable[..., Any]]:
    """What was registered for operators, for `make_fx`.

    Args:
        aten_ops: Operators, or forms of them.
        type: Which table.
    """
    table = global_decomposition_table[type]
    return {form: table[form] for op in aten_ops for form in _forms(op) if form in table}


def remove_decompositions(decompositions: dict[Any, Any], aten_ops: Iterable[Any]) -> None:
    """Take operators out of a table."""
    for op in aten_ops:
        for form in _forms(op):
            decompositions.pop(form, None)


def core_aten_decompositions() -> dict[Any, Callable[..., Any]]:
    """Empty: recorded graphs have the operators that backends are given."""
    return {}
