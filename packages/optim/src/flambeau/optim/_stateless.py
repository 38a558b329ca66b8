"""An optimizer that temporarily works on other parameters and another state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from flambeau import Tensor

from .optimizer import Optimizer

Groups = list[dict[str, Any]]


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer,
    swapin_parameters: Mapping[str, Tensor],
    swapin_optim_state: dict[str, Any],
) -> Iterator[None]:
    """Have an optimizer step on other tensors, e.g. to trace or to try a step; then undo that.

    Within the block its parameters, options and state are those given; tensors of the state are
    changed in place, everything else that happens to it is forgotten.

    Args:
        optimizer: An optimizer that has a state.
        swapin_parameters: Tensors by name, in the order of the optimizer's parameters.
        swapin_optim_state: As ``optimizer.state_dict()`` returns it.

    Raises:
        RuntimeError: The optimizer has no state, or what is given does not match its groups.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> x = flambeau.tensor([1.0], requires_grad=True)
        >>> optimizer = optim.Adam([x], lr=0.5)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> trial = x.detach().clone()
        >>> trial.grad = flambeau.tensor([1.0])
        >>> with optim.swap_in_optimizer_params_and_state(
        ...     optimizer, {"x": trial}, optimizer.state_dict()
        ... ):
        ...     optimizer.step()
        >>> x.detach(), bool(trial < x)
        (tensor([0.5000]), True)
    """
    groups = _check_groups(optimizer, swapin_optim_state)
    shares = _share_out(groups, list(swapin_parameters.values()))
    states = _check_states(groups, swapin_optim_state["state"])
    before, snapshots = optimizer.state, [dict(group) for group in optimizer.param_groups]
    try:
        optimizer.state = defaultdict(dict)
        for group, saved, params in zip(optimizer.param_groups, groups, shares, strict=True):
            group.update({**saved, "params": params})
            for position, param in zip(saved["params"], params, strict=True):
                optimizer.state[param] = dict(states.get(position, {}))
        yield
    finally:
        optimizer.state = before
        for group, snapshot in zip(optimizer.param_groups, snapshots, strict=True):
            group.clear()
            group.update(snapshot)


def _check_groups(optimizer: Optimizer, packed: Any) -> Groups:
    if not optimizer.state:
        raise RuntimeError("the optimizer has no state yet: take a step or load a state first")
    if not isinstance(packed, dict) or not isinstance(packed.get("param_groups"), list):
        raise RuntimeError("swapin_optim_state is what optimizer.state_dict() returns")
    groups = packed["param_groups"]
    if len(groups) != len(optimizer.param_groups):
        raise RuntimeError(
            f"the state has {len(groups)} parameter groups, the optimizer "
            f"{len(optimizer.param_groups)}"
        )
    for i, (group, saved) in enumerate(zip(optimizer.param_groups, groups, strict=True)):
        if len(saved.get("params", ())) != len(group["params"]):
            raise RuntimeError(f"parameter group {i} has another number of parameters in the state")
        differing = sorted(set(group) ^ set(saved))
        if differing:
            raise RuntimeError(f"parameter group {i} has other options in the state: {differing}")
    return groups


def _share_out(groups: Groups, params: list[Tensor]) -> list[list[Tensor]]:
    """The parameters of each group."""
    counts = [len(group["params"]) for group in groups]
    if len(params) < sum(counts):
        raise RuntimeError(f"{len(params)} parameters for an optimizer of {sum(counts)}")
    rest = iter(params)
    return [[next(rest) for _ in range(count)] for count in counts]


def _check_states(groups: Groups, states: Any) -> dict[int, dict[str, Any]]:
    known = {position for group in groups for position in group["params"]}
    if not isinstance(states, dict):
        raise RuntimeError(f'"state" is a dict by position, not {type(states).__name__}')
    unknown = [key for key in states if key not in known]
    if unknown:
        raise RuntimeError(f"the state is keyed by position; there is no parameter {unknown[0]!r}")
    return states
