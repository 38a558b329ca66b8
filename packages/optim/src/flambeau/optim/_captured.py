"""Steps that a CUDA graph repeats: what changes from step to step is computed on the device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.core import _core, backends

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
            "which depend on how many there were before. Use an optimizer with capturable=True, "
            "whose steps are counted on the device, or SGD, or call step() outside of the graph"
        )


def on_device(params: Sequence[Tensor]) -> bool:
    """Whether parameters lie on a device that has streams, and not on the CPU."""
    return bool(params) and not params[0].is_cpu


def number_of(like: Tensor) -> Callable[[Any], Any]:
    """How options become numbers: tensors on the parameters' device stay there.

    Args:
        like: One of the parameters.
    """

    def number(value: Any) -> Any:
        if isinstance(value, Tensor) and not value.is_cpu and value.device == like.device:
            return value.detach().to(flambeau.float64).reshape(())
        return float(value)

    return number


def refuse_new_state(optimizer: Any, like: Tensor) -> None:
    """Refuse to make a state inside a graph, which would make it anew in each replay.

    Args:
        optimizer: Whose step it is.
        like: One of the parameters.

    Raises:
        RuntimeError: The step becomes part of a graph.
    """
    if backends.is_capturing(like.device):
        raise RuntimeError(
            f"{type(optimizer).__name__}.step(): a graph is being captured, whose replays would "
            "begin with this step's state each time, as the state is made in it: parameters have "
            "none yet, or others had gradients in the step before. Take a step like the captured "
            "one before, as a warm-up"
        )


def counters(optimizer: Any, states: Sequence[dict[str, Any]], like: Tensor) -> dict[str, Tensor]:
    """What states count, on the device: by name one float64 vector with an element for each.

    The states hold views of its elements, so that one operator counts for all of them.

    Args:
        optimizer: Whose states they are; it names what is counted.
        states: One for each parameter.
        like: One of the parameters.
    """
    return {name: _counter(optimizer, name, states, like) for name in optimizer._counted}


def _counter(optimizer: Any, name: str, states: Sequence[dict[str, Any]], like: Tensor) -> Tensor:
    values = [state[name] for state in states]
    vector = _vector_behind(values, like)
    if vector is not None:
        return vector
    refuse_new_state(optimizer, like)
    vector = flambeau.full((len(values),), _shared(values), dtype=flambeau.float64,
                           device=like.device)
    for place, state, value in zip(vector.unbind(), states, values, strict=True):
        state[name] = place
        if isinstance(value, Tensor):
            place.copy_(value)
        elif value != _shared(values):
            place.fill_(value)
    return vector


def _shared(values: Sequence[Any]) -> float:
    """The first of them that is a number."""
    return next((float(value) for value in values if not isinstance(value, Tensor)), 0.0)


def _vector_behind(values: Sequence[Any], like: Tensor) -> Tensor | None:
    """The vector whose elements these are, in their order."""
    first = values[0]
    if not all(isinstance(v, Tensor) and _is_counter(v, like) for v in values):
        return None
    start, count = _core.address_of(first), len(values)
    apart = any(_core.address_of(v) != start + 8 * i for i, v in enumerate(values))
    room = first.untyped_storage().nbytes() - 8 * first.storage_offset()
    return None if apart or room < 8 * count else first.as_strided((count,), (1,))


def _is_counter(value: Tensor, like: Tensor) -> bool:
    return value.dtype == flambeau.float64 and value.ndim == 0 and value.device == like.device


def update_by_tensors(
    rule: UpdateRule, rows: Sequence[Sequence[Tensor]], scalars: Sequence[Any]
) -> None:
    """Update parameters and their states in place, by operators over tensors.

    Args:
        rule: What to compute.
        rows: For every operand of the rule its tensors: the parameters, their states, the
            gradients.
        scalars: The run-time scalars in the rule's order: numbers, tensors without dimensions, or
            vectors with an element for each parameter.
    """
    with flambeau.no_grad():
        for i, operands in enumerate(zip(*rows, strict=True)):
            own = [s[i] if isinstance(s, Tensor) and s.ndim else s for s in scalars]
            for old, new in zip(operands, outputs_of(rule, operands, own), strict=False):
                old.copy_(new)
