"""An optimizer's state with positions in the place of parameters, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flambeau import Tensor

Groups = list[dict[str, Any]]


def pack_state(groups: Groups, state: Mapping[Any, Any]) -> dict[str, Any]:
    """What ``Optimizer.state_dict`` returns."""
    positions: dict[int, int] = {}
    packed = []
    for group in groups:
        for param in group["params"]:
            positions.setdefault(id(param), len(positions))
        options = {name: value for name, value in group.items() if name != "params"}
        packed.append({**options, "params": [positions[id(p)] for p in group["params"]]})
    by_position = {
        positions[id(key)] if isinstance(key, Tensor) else key: value
        for key, value in state.items()
    }
    return {"state": by_position, "param_groups": packed}


def unpack_state(packed: dict[str, Any], groups: Groups) -> tuple[Groups, dict[Any, Any]]:
    """The groups and the state that ``packed`` describes, for the parameters of ``groups``.

    Options that ``packed`` does not know keep the values they have.

    Raises:
        ValueError: The number of groups, or of parameters in one, differs.
    """
    saved = packed["param_groups"]
    _check_sizes(saved, groups)
    params = {
        position: param
        for old, group in zip(saved, groups, strict=True)
        for position, param in zip(old["params"], group["params"], strict=True)
    }
    state = {
        params.get(key, key): _fit(value, params[key]) if key in params else value
        for key, value in packed["state"].items()
    }
    restored = [
        {**group, **old, "params": group["params"]}
        for old, group in zip(saved, groups, strict=True)
    ]
    return restored, state


def _check_sizes(saved: Groups, groups: Groups) -> None:
    if len(saved) != len(groups):
        raise ValueError(
            f"the state has {len(saved)} parameter groups, the optimizer {len(groups)}"
        )
    for i, (old, group) in enumerate(zip(saved, groups, strict=True)):
        if len(old["params"]) != len(group["params"]):
            raise ValueError(
                f"parameter group {i} has {len(old['params'])} parameters in the state, "
                f"{len(group['params'])} in the optimizer"
            )


def _fit(value: Any, param: Tensor, name: str = "") -> Any:
    """State in the dtype and on the device of its parameter; the step stays a number."""
    if name == "step":
        return int(value)
    if isinstance(value, Tensor):
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)
    if isinstance(value, Mapping):
        return {key: _fit(item, param, key) for key, item in value.items()}
    return value
