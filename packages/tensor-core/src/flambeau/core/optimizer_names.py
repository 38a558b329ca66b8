"""States of optimizers by the names of parameters, and back to positions.

By name, a state fits a model whose parameters were put into groups in another order, and a
parameter that is missing can be named.
"""
from __future__ import annotations

from typing import Any


def names_of(model: Any) -> dict[int, str]:
    """Names of parameters by the identity of each; of several models with the key in front."""
    if isinstance(model, dict):
        parts = [(f"{key}.", each) for key, each in model.items()]
    elif isinstance(model, (list, tuple)):
        parts = [(f"{i}.", each) for i, each in enumerate(model)]
    else:
        parts = [("", model)]
    names: dict[int, str] = {}
    for prefix, each in parts:
        if hasattr(each, "named_parameters"):
            for name, param in each.named_parameters():
                names.setdefault(id(param), prefix + name)
    return names


def _own_keys(optimizer: Any, names: dict[int, str]) -> list[list[Any]]:
    """For every group the keys of its parameters: names, or positions of those without one."""
    keys: dict[int, Any] = {}
    for group in optimizer.param_groups:
        for param in group["params"]:
            keys.setdefault(id(param), names.get(id(param), len(keys)))
    return [[keys[id(param)] for param in group["params"]] for group in optimizer.param_groups]


def _goes_by_position(optimizer: Any, state: Any) -> bool:
    groups = getattr(optimizer, "param_groups", None)
    if groups is None or not isinstance(state, dict) or not {"state", "param_groups"} <= set(state):
        return False
    return all(type(p) is int for group in state["param_groups"] for p in group["params"])


def to_names(optimizer: Any, state: Any, names: dict[int, str]) -> Any:
    """The state with names where it had positions; as it is if it has none."""
    if not _goes_by_position(optimizer, state):
        return state
    own = _own_keys(optimizer, names)
    key_of = {position: key for group, keys in zip(state["param_groups"], own, strict=True)
              for position, key in zip(group["params"], keys, strict=True)}
    groups = [{**group, "params": keys}
              for group, keys in zip(state["param_groups"], own, strict=True)]
    by_name = {key_of.get(position, position): each for position, each in state["state"].items()}
    return {**state, "state": by_name, "param_groups": groups}


def from_names(optimizer: Any, state: Any, names: dict[int, str], where: str) -> Any:
    """The state with this optimizer's positions where it has names.

    Raises:
        ValueError: the groups, or the parameters of one, are not those that were saved.
    """
    if not hasattr(optimizer, "param_groups") or not isinstance(state, dict) \
            or not {"state", "param_groups"} <= set(state):
        return state
    own, saved = _own_keys(optimizer, names), state["param_groups"]
    if len(own) != len(saved):
        raise ValueError(f"{where} was saved with {len(saved)} parameter groups, but has "
                         f"{len(own)}")
    for i, (keys, group) in enumerate(zip(own, saved, strict=True)):
        _check(f"{where}, group {i}", keys, group["params"])
    position_of: dict[Any, int] = {}
    for key in (key for keys in own for key in keys):
        position_of.setdefault(key, len(position_of))
    groups = [_options(group, keys, position_of, now) for group, keys, now
              in zip(saved, own, optimizer.param_groups, strict=True)]
    by_position = {position_of.get(key, key): each for key, each in state["state"].items()}
    return {**state, "state": by_position, "param_groups": groups}


def _options(group: Any, keys: list[Any], position_of: dict[Any, int], now: Any) -> dict:
    """A saved group for the optimizer's own parameters, whose names it keeps."""
    made = {**group, "params": [position_of[key] for key in keys]}
    made.pop("param_names", None)
    if "param_names" in now:
        made["param_names"] = now["param_names"]
    return made


def _check(where: str, own: list[Any], saved: list[Any]) -> None:
    missing = [key for key in own if key not in saved]
    unexpected = [key for key in saved if key not in own]
    if missing or unexpected:
        raise ValueError(f"{where}: the file has no state for the parameters {missing}, and has "
                         f"state for {unexpected}, which the optimizer does not have; numbers "
                         "stand for parameters that are not in the model")
