"""An optimizer's state with positions, or names, instead of parameters, and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.core.spelling import hint

Groups = list[dict[str, Any]]

# State that is one number for a parameter. PyTorch keeps it in tensors without dimensions.
NUMBERS = ("step", "mu_product", "eta", "mu")


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


def by_name(packed: dict[str, Any]) -> dict[str, Any]:
    """A packed state with names instead of positions.

    Raises:
        ValueError: There are no names, or one is used twice.
    """
    names: dict[int, str] = {}
    for group in packed["param_groups"]:
        if "param_names" not in group:
            raise ValueError(
                "the parameters have no names: make the optimizer from "
                "model.named_parameters(), or use state_dict()"
            )
        names.update(zip(group["params"], group["param_names"], strict=True))
    name, count = Counter(names.values()).most_common(1)[0]
    if count > 1:
        raise ValueError(f"{count} parameters are named {name!r}")
    groups = [
        {**group, "params": [names[position] for position in group["params"]]}
        for group in packed["param_groups"]
    ]
    state = {names.get(key, key): value for key, value in packed["state"].items()}
    return {**packed, "state": state, "param_groups": groups}


def from_names(packed: dict[str, Any], groups: Groups) -> dict[str, Any]:
    """A state by name as one by position in ``groups``; one by position as it is.

    Raises:
        ValueError: Names differ, or a group's parameters have options of several saved groups.
    """
    saved = packed["param_groups"]
    source = {name: i for i, group in enumerate(saved) for name in group["params"]}
    if not any(isinstance(name, str) for name in source):
        return packed
    own = [name for group in groups for name in group.get("param_names", ())]
    if not own:
        raise ValueError(
            "the state is keyed by name, but the optimizer's parameters have none: make it from "
            "model.named_parameters()"
        )
    _check_names(own, list(source))
    positions = {name: i for i, name in enumerate(own)}
    regrouped = [_regroup(i, group, saved, source, positions) for i, group in enumerate(groups)]
    state = {positions.get(key, key): value for key, value in packed["state"].items()}
    return {**packed, "state": state, "param_groups": regrouped}


def _check_names(own: list[str], saved: list[str]) -> None:
    missing = [name for name in own if name not in set(saved)]
    unexpected = [name for name in saved if name not in set(own)]
    if not missing and not unexpected:
        return
    lines = [f"missing in the state: {name!r}{hint(name, unexpected)}" for name in missing]
    lines += [f"unknown to the optimizer: {name!r}" for name in unexpected]
    raise ValueError("the names of the parameters differ:\n    " + "\n    ".join(lines))


def _regroup(
    i: int,
    group: dict[str, Any],
    saved: Groups,
    source: dict[str, int],
    positions: dict[str, int],
) -> dict[str, Any]:
    names = group["param_names"]
    origins = sorted({source[name] for name in names})
    if len(origins) > 1:
        raise ValueError(
            f"parameter group {i} holds parameters of the saved groups {origins}, whose options "
            "may differ; group the parameters as they were"
        )
    options = saved[origins[0]] if origins else group
    return {**options, "param_names": names, "params": [positions[name] for name in names]}


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
    """State in the dtype and on the device of its parameter; numbers stay numbers."""
    if name in NUMBERS and value is not None:
        return int(value) if name == "step" else float(value)
    if isinstance(value, Mapping):
        return {key: _fit(item, param, key) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_fit(item, param) for item in value)
    if not isinstance(value, Tensor) and hasattr(value, "__dlpack__"):
        value = flambeau.from_dlpack(value).clone()
    if not isinstance(value, Tensor):
        return value
    if param.is_floating_point():
        return value.to(dtype=param.dtype, device=param.device)
    return value.to(device=param.device)
