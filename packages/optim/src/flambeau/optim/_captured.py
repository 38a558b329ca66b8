"""Steps that a CUDA graph repeats: what changes from step to step is computed on the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.core import backends

from ._recorded import outputs_of
from ._rules import UpdateRule


def check_capture(optimizer: Any, key: Any, param: Tensor) -> None:
    """Refuse to capture numbers that change from step to step.

    Args:
        optimizer: Whose step it is.
        key: What its scalars depend on.
        param: One of its parameters.

    Raises:
        RuntimeError: The step becomes part of a graph, which would repeat this step's numbers.
    """
    if param.is_cpu or key is None or isinstance(key, bool):
        return
    if backends.is_capturing(param.device):
        name = type(optimizer).__name__
        raise RuntimeError(
            f"{name}.step(): a graph is being captured, and would repeat the numbers of this step, "
            "which depend on how many there were before. Use Adam, AdamW or Adamax with "
            "capturable=True, whose steps are counted on the device, or SGD, or call step() "
            "outside of the graph"
        )


def on_device(params: Sequence[Tensor]) -> bool:
    """Whether parameters lie on a device that has streams, and not on the CPU."""
    return bool(params) and not params[0].is_cpu


def count_on_device(state: dict[str, Any], param: Tensor) -> Tensor:
    """The number of the step that begins, as a tensor that a graph counts on."""
    step = state["step"]
    if not isinstance(step, Tensor):
        step = state["step"] = flambeau.full(
            (), float(step), dtype=flambeau.float64, device=param.device
        )
    with flambeau.no_grad():
        step.add_(1)
    return step


def update_by_tensors(
    rule: UpdateRule, operands: Sequence[Tensor], scalars: Sequence[Any]
) -> None:
    """Update a parameter and its state in place, by operators over tensors.

    Args:
        rule: What to compute.
        operands: Those of the rule: the parameter, its state, the gradient.
        scalars: The run-time scalars in the rule's order, numbers or tensors without dimensions.
    """
    with flambeau.no_grad():
        for old, new in zip(operands, outputs_of(rule, operands, scalars), strict=False):
            old.copy_(new)
