"""Derivatives of pointwise operators that follow from their formulas.

The derivative of row ``exp`` by ``self`` is again a pointwise row, ``exp__d_self``. Its parameters
are, by name: ``grad`` first; then those operands and scalars of ``exp`` that the derivative
reads, in the row's order; then ``result`` if it reads the output. The core's table holds such rows
for its own operators; for rows registered at run time they are derived and registered on first
use, and so are derivatives of derivatives.
"""
from __future__ import annotations

from flambeau.core import op_keys

__all__ = ["derived_key", "derived_rows"]


def derived_key(key: str, parameter: str) -> str:
    """Key of the row that computes a derivative.

    Args:
        key: the operator, ``name`` or ``name.overload``.
        parameter: the operand to differentiate by.

    Example:
        >>> derived_key("exp", "self")
        'exp__d_self'
    """
    return f"{key.replace('.', '__')}__d_{parameter}"


def derived_rows(key: str, operands: list[str]) -> list[tuple[tuple[str, ...], str]] | None:
    """Rows for the derivatives of a pointwise operator by its operands.

    Args:
        key: the operator.
        operands: names of its operands.

    Returns:
        Pairs of input and key of the derived row; None when the formula has no derivative.
    """
    known = set(op_keys())
    found = [((p,), derived_key(key, p)) for p in operands if derived_key(key, p) in known]
    return found or None
