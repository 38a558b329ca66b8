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
    if any(hasattr(type(tensor), ALIKE) for tensor in operands[0]):
        columns = map(_parts, zip(*operands, strict=True))
        operands = list(map(list, zip(*columns, strict=True)))
    if not update(_operators.get(rule.name) or _registered(rule), operands, scalars):
        update_by_tensors(rule, operands, scalars)


#: What classes of tensors have whose elements are in several processes: it gives this process's
#: parts of tensors, the gradient last, or None where these are not parts of the same elements.
ALIKE = "__alike_parts__"


def _parts(tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    """This process's parts of a parameter, its state and its gradient."""
    parts_of = getattr(type(tensors[0]), ALIKE, None)
    found: Sequence[Tensor] | None = None if parts_of is None else parts_of(tensors)
    return tensors if found is None else found


@once
def _registered(rule: UpdateRule) -> Any:
    op = register_op(rule.schema, float=rule.formula, differentiable=False)
    return _operators.setdefault(rule.name, op)
