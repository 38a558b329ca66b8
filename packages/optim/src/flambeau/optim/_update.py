"""Applying an update rule to tensors: the one door from here to the core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau import Tensor
from flambeau.core import register_op, update
from flambeau.core.once import once

from ._captured import update_by_tensors
from ._rules import UpdateRule

_operators: dict[str, Any] = {}  # by the rule's name, registered when first used


def apply_update(
    rule: UpdateRule, operands: Sequence[Sequence[Tensor]], scalars: Sequence[Any]
) -> None:
    """Update parameters in place, one pass each, without temporaries.

    Args:
        rule: What to compute.
        operands: For every operand of the rule its tensors, one for each parameter; written ones
            first, the gradients last.
        scalars: The run-time scalars in the rule's order: numbers, or float64 tensors on the
            parameters' device, of one element or of one for each parameter.
    """
    if not update(_operators.get(rule.name) or _registered(rule), operands, scalars):
        update_by_tensors(rule, operands, scalars)


@once
def _registered(rule: UpdateRule) -> Any:
    op = register_op(rule.schema, float=rule.formula, differentiable=False)
    return _operators.setdefault(rule.name, op)
