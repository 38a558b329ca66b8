"""State dicts of networks and optimizers with the names of a network in one process."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import flambeau
from flambeau import Tensor, distributed
from flambeau.distributed.fsdp._states import PREFIX, States, taken
from flambeau.distributed.fsdp.api import StateDictType
from flambeau.distributed.tensor import DTensor
from flambeau.nn.parallel import DistributedDataParallel

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]


@dataclass
class StateDictOptions:
    """How state dicts are made and taken.

    Attributes:
        full_state_dict: Whether tensors are whole, instead of `DTensor`.
        cpu_offload: Whether tensors are in the CPU's memory; with ``full_state_dict``, only in the
            first process.
        ignore_frozen_params: Whether parameters without gradients are left out.
        keep_submodule_prefixes: Accepted for compatibility.
        strict: Whether all names have to be there.
        broadcast_from_rank0: Whether only the first process has the whole tensors that are set.
        flatten_optimizer_state_dict: Whether the state of an optimizer has one level of names.
        dsd_fqn_modifiers: Accepted for compatibility.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


_WRAPPERS = (PREFIX, "_orig_mod.", "_checkpoint_wrapped_module.")


def names_in(model: Any) -> dict[str, str]:
    """Names of parameters and buffers in a network, without those of wrappers -> as they are."""
    found = {}
    wrapped = [f"{path}." if path else "" for path, module in model.named_modules()
               if isinstance(module, DistributedDataParallel)]
    for name in _plain_state(model):
        clean = name
        for path in wrapped:
            clean = clean.replace(f"{path}module.", path, 1) if clean.startswith(path) else clean
        for part in _WRAPPERS:
            clean = clean.replace(part, "")
        found[clean] = name
    return found


def _plain_state(model: Any) -> dict[str, Any]:
    """The state of a network, with `DTensor` where it has them."""
    with States.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
        state: dict[str, Any] = model.state_dict()
    return state


def _shown(value: Any, options: StateDictOptions) -> Any:
    if not isinstance(value, Tensor):
        return value
    tensor: Any = value.detach()
    if options.full_state_dict and isinstance(tensor, DTensor):
        tensor = tensor.full_tensor()
    return tensor.cpu() if options.cpu_offload and not isinstance(tensor, DTensor) else tensor


def _is_empty(options: StateDictOptions) -> bool:
    """Whether only the first process has it, and this is another."""
    first = options.full_state_dict and options.cpu_offload
    return first and distributed.is_initialized() and distributed.get_rank() != 0


# ---- networks ------------------------------------------------------------------------------------
def get_model_state_dict(
    model: Any, *, submodules: Iterable[Any] | None = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """The state of a network, by the names of parameters without wrappers; all processes call it.

    Args:
        model: The network.
        submodules: Only the state of these.
        options: How it is made.

    Example:
        >>> from flambeau import nn
        >>> from flambeau.distributed.checkpoint.state_dict import get_model_state_dict
        >>> list(get_model_state_dict(nn.Linear(1, 1)))
        ['weight', 'bias']
    """
    given = options or StateDictOptions()
    state, names = _plain_state(model), names_in(model)
    frozen = {name for name, p in model.named_parameters() if not p.requires_grad}
    chosen = _chosen(model, submodules)
    found = {}
    for clean, name in names.items():
        left_out = given.ignore_frozen_params and (name in frozen or clean in frozen)
        if not left_out and (chosen is None or name.startswith(chosen)):
            found[clean] = _shown(state[name], given)
    return {} if _is_empty(given) else found


def _chosen(model: Any, submodules: Iterable[Any] | None) -> tuple[str, ...] | None:
    if submodules is None:
        return None
    wanted = set(map(id, submodules))
    return tuple(f"{path}." for path, module in model.named_modules() if id(module) in wanted)


def set_model_state_dict(
    model: Any, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Let a network take a state, of whole tensors or of `DTensor`; all processes call it.

    Args:
        model: The network.
        model_state_dict: The state.
        options: How it is taken.

    Returns:
        The names that are missing, and those that nothing here has.
    """
    given = options or StateDictOptions()
    names, own = names_in(model), _plain_state(model)
    state = _broadcast(model_state_dict, {clean: own[name] for clean, name in names.items()},
                       given)
    made = {}
    for clean, value in state.items():
        name = names.get(clean, clean)
        parameter = own.get(name)
        made[name] = taken(value, parameter) if isinstance(parameter, DTensor) else value
    return model.load_state_dict(made, strict=given.strict)


def _broadcast(
    state: dict[str, Any], own: dict[str, Any], options: StateDictOptions
) -> dict[str, Any]:
    """The state that the first process has, in all."""
    if not options.broadcast_from_rank0 or not distributed.is_initialized():
        return state
    rank = distributed.get_rank()
    listed: list[Any] = [list(state) if rank == 0 else None]
    distributed.broadcast_object_list(listed, 0)
    found = {}
    for name in listed[0]:
        model = own.get(name)
        if not isinstance(model, Tensor):
            box = [state[name] if rank == 0 else None]
            distributed.broadcast_object_list(box, 0)
            found[name] = box[0]
            continue
        whole = state[name].detach().contiguous().clone() if rank == 0 else \
            flambeau.empty(model.shape, dtype=model.dtype)
        distributed.broadcast(whole, 0)
        found[name] = whole
    return found


# ---- optimizers ----------------------------------------------------------------------------------
def _listed(optimizers: Any) -> list[Any]:
    return list(optimizers) if isinstance(optimizers, list | tuple) else [optimizers]


def _parameter_names(model: Any) -> dict[int, str]:
    """Names of parameters, without those of wrappers, by identity."""
    clean = {name: short for short, name in names_in(model).items()}
    found = {}
    for name, p in model.named_parameters():
        stripped = name.replace(PREFIX, "")
        found[id(p)] = clean.get(name, clean.get(stripped, stripped))
    return found


def _begin_state(optimizer: Any) -> None:
    """Let an optimizer have the state that its first step makes, without changing parameters."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if optimizer.state or any(p.grad is not None for p in parameters):
        return
    rates = [group.get("lr") for group in optimizer.param_groups]
    for p in parameters:
        if p.requires_grad:
            p.grad = flambeau.zeros_like(p)
    for group in optimizer.param_groups:
        if "lr" in group:
            group["lr"] = 0.0
    optimizer.step()
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        if "lr" in group:
            group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def get_optimizer_state_dict(
    model: Any, optimizers: Any, *, submodules: Iterable[Any] | None = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """The state of optimizers, by the names of parameters; all processes call it.

    Args:
        model: The network.
        optimizers: An optimizer of its parameters, or several.
        submodules: Only the state of their parameters.
        options: How it is made.
    """
    given = options or StateDictOptions()
    names, chosen = _parameter_names(model), _chosen(model, submodules)
    state: dict[str, Any] = {}
    groups: list[dict[str, Any]] = []
    for optimizer in _listed(optimizers):
        _begin_state(optimizer)
        plain = optimizer.state_dict()
        flat = [names[id(p)] for group in optimizer.param_groups for p in group["params"]]
        for i, values in plain["state"].items():
            state[flat[i]] = {key: _shown(each, given) for key, each in values.items()}
        at = 0
        for group in plain["param_groups"]:
            count = len(group["params"])
            groups.append({**group, "params": flat[at : at + count]})
            at += count
    if chosen is not None:
        state = {name: each for name, each in state.items() if name.startswith(chosen)}
        groups = [{**group, "params": [n for n in group["params"] if n.startswith(chosen)]}
                  for group in groups]
    if _is_empty(given):
        return {}
    made = {"state": state, "param_groups": groups}
    return _flattened(made) if given.flatten_optimizer_state_dict else made


def _flattened(state: dict[str, Any]) -> dict[str, Any]:
    """The state of optimizers with one level of names."""
    flat = {f"state.{name}.{key}": value for name, values in state["state"].items()
            for key, value in values.items()}
    for group in state["param_groups"]:
        for name in group["params"]:
            flat.update({f"param_groups.{name}.{key}": value for key, value in group.items()
                         if key != "params"})
    return flat


def _nested(flat: dict[str, Any], optimizers: list[Any], names: dict[int, str]) -> dict[str, Any]:
    """The state of optimizers from one with one level of names."""
    state: dict[str, Any] = {}
    groups = []
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            own = [names[id(p)] for p in group["params"]]
            options = {key: flat.get(f"param_groups.{own[0]}.{key}", value)
                       for key, value in group.items() if key != "params"} if own else {}
            groups.append({**options, "params": own})
            for name in own:
                begin = f"state.{name}."
                values = {key.removeprefix(begin): value for key, value in flat.items()
                          if key.startswith(begin) and "." not in key.removeprefix(begin)}
                if values:
                    state[name] = values
    return {"state": state, "param_groups": groups}


def set_optimizer_state_dict(
    model: Any, optimizers: Any, optim_state_dict: dict[str, Any], *,
    options: StateDictOptions | None = None,
) -> None:
    """Let optimizers take a state by the names of parameters; all processes call it.

    Args:
        model: The network.
        optimizers: An optimizer of its parameters, or several.
        optim_state_dict: What `get_optimizer_state_dict` gave.
        options: How it is taken.

    Raises:
        NotImplementedError: ``broadcast_from_rank0`` is asked for.
    """
    given = options or StateDictOptions()
    if given.broadcast_from_rank0:
        raise NotImplementedError("set_optimizer_state_dict(): broadcast_from_rank0 is not made: "
                                  "give the state to all processes, as checkpoint.load does")
    names, every = _parameter_names(model), _listed(optimizers)
    nested = optim_state_dict if "param_groups" in optim_state_dict else _nested(
        optim_state_dict, every, names)
    for optimizer in every:
        state: dict[int, Any] = {}
        groups, number = [], 0
        for group in optimizer.param_groups:
            own = [names[id(p)] for p in group["params"]]
            alike = [each for each in nested["param_groups"] if set(own) & set(each["params"])]
            saved: dict[str, Any] = alike[0] if alike else {}
            options_of = {key: value for key, value in saved.items() if key != "params"}
            numbers = range(number, number + len(own))
            groups.append({**group, **options_of, "params": list(numbers)})
            for i, name, p in zip(numbers, own, group["params"], strict=True):
                if name in nested["state"]:
                    values = nested["state"][name]
                    state[i] = {key: taken(each, p) if isinstance(p, DTensor) else each
                                for key, each in values.items()}
            number += len(own)
        optimizer.load_state_dict({"state": state, "param_groups": groups})


# ---- both ----------------------------------------------------------------------------------------
def get_state_dict(
    model: Any, optimizers: Any, *, submodules: Iterable[Any] | None = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The states of a network and of its optimizers; see the functions of one.

    Args:
        model: The network.
        optimizers: An optimizer of its parameters, or several.
        submodules: Only the state of these.
        options: How they are made.
    """
    chosen = None if submodules is None else list(submodules)
    return (get_model_state_dict(model, submodules=chosen, options=options),
            get_optimizer_state_dict(model, optimizers, submodules=chosen, options=options))


def set_state_dict(
    model: Any, optimizers: Any, *, model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any], options: StateDictOptions | None = None,
) -> Any:
    """Let a network and its optimizers take their states; see the functions of one.

    Args:
        model: The network.
        optimizers: An optimizer of its parameters, or several.
        model_state_dict: The network's state.
        optim_state_dict: The optimizers' state.
        options: How they are taken.
    """
    result = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return result
