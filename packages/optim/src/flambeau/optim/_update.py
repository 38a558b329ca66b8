"""Applying an update row to tensors: the one door from here to the core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau import Tensor
from flambeau.core import register_op, update
from flambeau.core.once import once

from ._rows import UpdateRow

_operators: dict[str, Any] = {}  # by the row's name, registered when first used


def apply_update(
    row: UpdateRow, operands: Sequence[Sequence[Tensor]], scalars: Sequence[float]
) -> None:
    """Update parameters in place, one pass each, without temporaries.

    Args:
        row: What to compute.
        operands: For every operand of the row its tensors, one for each parameter; written ones
            first, the gradients last.
        scalars: The run-time scalars in the row's order, the same for all parameters.
    """
    update(_operators.get(row.name) or _registered(row), operands, scalars)


@once
def _registered(row: UpdateRow) -> Any:
    op = register_op(row.schema, float=row.formula, differentiable=False)
    return _operators.setdefault(row.name, op)
