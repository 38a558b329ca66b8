"""State dicts of `FullyShardedDataParallel` and of optimizers of its parameters."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto
from typing import Any

from flambeau import Tensor, distributed
from flambeau.distributed.tensor import DTensor

from ._summoned import part_of
from .api import (
    CONFIGS,
    FullOptimStateDictConfig,
    OptimStateDictConfig,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)

PREFIX = "_fsdp_wrapped_module."


class OptimStateKeyType(Enum):
    """What parameters are called in the state of an optimizer: by names or by numbers."""

    PARAM_NAME = auto()
    PARAM_ID = auto()


def settings_of(
    kind: StateDictType, config: StateDictConfig | None, optim: OptimStateDictConfig | None
) -> StateDictSettings:
    """Settings of a kind of state dicts, with defaults.

    Raises:
        RuntimeError: A configuration is of another kind.
    """
    wanted, wanted_optim = CONFIGS[kind]
    for given, expected in ((config, wanted), (optim, wanted_optim)):
        if given is not None and type(given) is not expected:
            raise RuntimeError(f"Expected state_dict_config of type {expected} but got "
                               f"{type(given)}")
    return StateDictSettings(kind, config or wanted(), optim or wanted_optim())


def shown(value: Any, settings: StateDictSettings, config: Any) -> Any:
    """A shared tensor as a kind of state dict has it."""
    if not isinstance(value, DTensor):
        return value
    if settings.state_dict_type is StateDictType.FULL_STATE_DICT:
        plain: Any = value.detach()
        whole = plain.full_tensor()
        return whole.cpu() if config.offload_to_cpu else whole
    if settings.state_dict_type is StateDictType.LOCAL_STATE_DICT:
        return value.to_local().detach()
    return value.detach()


def taken(value: Any, parameter: Any) -> Any:
    """A tensor of any kind of state dict as this process's part, shared as a parameter is."""
    spec = parameter._spec
    if isinstance(value, DTensor) or not isinstance(value, Tensor):
        return value
    if tuple(value.shape) == spec.shape:
        return DTensor(part_of(value, spec), spec)
    if tuple(value.shape) == tuple(parameter._local_tensor.shape):
        return DTensor(value, spec)
    return value


def empties(config: Any) -> bool:
    """Whether this process's state dict is to be empty."""
    return getattr(config, "rank0_only", False) and distributed.get_rank() != 0


class States:
    """The state dicts of a wrapper."""

    _settings: StateDictSettings

    def _begin_states(self) -> None:
        module: Any = self
        module._settings = settings_of(StateDictType.FULL_STATE_DICT, None, None)
        module.register_load_state_dict_pre_hook(_take)

    # ---- kinds -------------------------------------------------------------------------------
    @staticmethod
    def set_state_dict_type(
        module: Any, state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> StateDictSettings:
        """Choose what state dicts of a module are made of.

        Args:
            module: The wrapper, or a module with wrappers in it.
            state_dict_type: Whole tensors, plain parts, or `DTensor`.
            state_dict_config: How they are made.
            optim_state_dict_config: How those of optimizers are made.

        Returns:
            The former settings.

        Raises:
            RuntimeError: A configuration is of another kind.
        """
        made = settings_of(state_dict_type, state_dict_config, optim_state_dict_config)
        former = States.get_state_dict_type(module)
        for each in module.modules():
            if isinstance(each, States):
                each._settings = made
        return former

    @staticmethod
    def get_state_dict_type(module: Any) -> StateDictSettings:
        """What state dicts of a module are made of.

        Args:
            module: The wrapper, or a module with wrappers in it.
        """
        found = (each._settings for each in module.modules() if isinstance(each, States))
        return next(found, settings_of(StateDictType.FULL_STATE_DICT, None, None))

    @staticmethod
    @contextmanager
    def state_dict_type(
        module: Any, state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> Iterator[None]:
        """Choose what state dicts are made of in the block; see `set_state_dict_type`.

        Args:
            module: The wrapper, or a module with wrappers in it.
            state_dict_type: Whole tensors, plain parts, or `DTensor`.
            state_dict_config: How they are made.
            optim_state_dict_config: How those of optimizers are made.
        """
        former = States.set_state_dict_type(
            module, state_dict_type, state_dict_config, optim_state_dict_config)
        try:
            yield
        finally:
            States.set_state_dict_type(
                module, former.state_dict_type, former.state_dict_config,
                former.optim_state_dict_config)

    # ---- of modules --------------------------------------------------------------------------
    def state_dict(self, *, destination: Any = None, prefix: str = "",
                   keep_vars: bool = False) -> Any:
        """Parameters and buffers by name; all processes call it.

        Args:
            destination: A dict to write to.
            prefix: What names begin with.
            keep_vars: Accepted for compatibility.
        """
        plain: Any = super()
        found = plain.state_dict(prefix=prefix, keep_vars=keep_vars)
        result = OrderedDict() if destination is None else destination
        for name, value in found.items():
            value = shown(value, self._settings, self._settings.state_dict_config)
            if not empties(self._settings.state_dict_config):
                result[name.replace(PREFIX, "")] = value
        return result

    # ---- of optimizers -----------------------------------------------------------------------
    @staticmethod
    def optim_state_dict(model: Any, optim: Any, optim_state_dict: Any = None,
                         group: Any = None) -> dict[str, Any]:
        """The state of an optimizer by names of parameters; all processes call it.

        Args:
            model: The wrapper, or a module with wrappers in it.
            optim: The optimizer.
            optim_state_dict: Its ``state_dict()``, if that was changed.
            group: Accepted for compatibility.
        """
        settings = States.get_state_dict_type(model)
        return named_state(model, optim, optim_state_dict, settings)

    @staticmethod
    def full_optim_state_dict(model: Any, optim: Any, optim_input: Any = None,
                              rank0_only: bool = True, group: Any = None) -> dict[str, Any]:
        """The state of an optimizer by names of parameters, with whole tensors.

        Args:
            model: The wrapper, or a module with wrappers in it.
            optim: The optimizer.
            optim_input: Accepted for compatibility.
            rank0_only: Whether only the first process has it.
            group: Accepted for compatibility.
        """
        config = FullOptimStateDictConfig(rank0_only=rank0_only)
        settings = settings_of(StateDictType.FULL_STATE_DICT, None, config)
        return named_state(model, optim, None, settings)

    @staticmethod
    def sharded_optim_state_dict(model: Any, optim: Any, group: Any = None) -> dict[str, Any]:
        """The state of an optimizer by names of parameters, with `DTensor`.

        Args:
            model: The wrapper, or a module with wrappers in it.
            optim: The optimizer.
            group: Accepted for compatibility.
        """
        settings = settings_of(StateDictType.SHARDED_STATE_DICT, None, None)
        return named_state(model, optim, None, settings)

    @staticmethod
    def optim_state_dict_to_load(
        model: Any, optim: Any, optim_state_dict: dict[str, Any],
        is_named_optimizer: bool = False, load_directly: bool = False, group: Any = None,
    ) -> dict[str, Any]:
        """What an optimizer's ``load_state_dict`` takes, of a state by names of parameters.

        Args:
            model: The wrapper, or a module with wrappers in it.
            optim: The optimizer.
            optim_state_dict: What `optim_state_dict` gave, of any kind.
            is_named_optimizer: Accepted for compatibility.
            load_directly: Whether the optimizer is to load it.
            group: Accepted for compatibility.
        """
        made = numbered_state(model, optim, optim_state_dict)
        if load_directly:
            optim.load_state_dict(made)
        return made

    @staticmethod
    def shard_full_optim_state_dict(full_optim_state_dict: dict[str, Any], model: Any,
                                    optim_input: Any = None, optim: Any = None) -> dict[str, Any]:
        """What an optimizer's ``load_state_dict`` takes, of a state with whole tensors.

        Args:
            full_optim_state_dict: What `full_optim_state_dict` gave, in all processes.
            model: The wrapper, or a module with wrappers in it.
            optim_input: Accepted for compatibility.
            optim: The optimizer.
        """
        return numbered_state(model, optim, full_optim_state_dict)

    flatten_sharded_optim_state_dict = shard_full_optim_state_dict


def names_of(model: Any, optim: Any) -> list[list[str]]:
    """The names of an optimizer's parameters, without those of wrappers, by groups."""
    names = {id(p): name.replace(PREFIX, "") for name, p in model.named_parameters()}
    return [[names[id(p)] for p in group["params"]] for group in optim.param_groups]


def named_state(
    model: Any, optim: Any, state_dict: Any, settings: StateDictSettings
) -> dict[str, Any]:
    """The state of an optimizer by names of parameters."""
    given = optim.state_dict() if state_dict is None else state_dict
    grouped = names_of(model, optim)
    flat = [name for names in grouped for name in names]
    config = settings.optim_state_dict_config
    state = {flat[i]: {key: shown(value, settings, config) for key, value in values.items()}
             for i, values in given["state"].items()}
    groups = [{**group, "params": names}
              for group, names in zip(given["param_groups"], grouped, strict=True)]
    return {} if empties(config) else {"state": state, "param_groups": groups}


def numbered_state(model: Any, optim: Any, named: dict[str, Any]) -> dict[str, Any]:
    """What an optimizer's ``load_state_dict`` takes."""
    parameters = {name.replace(PREFIX, ""): p for name, p in model.named_parameters()}
    state, groups, number = {}, [], 0
    by_names = {tuple(sorted(group["params"])): group for group in named["param_groups"]}
    for names, own in zip(names_of(model, optim), optim.param_groups, strict=True):
        saved = by_names.get(tuple(sorted(names)), own)
        groups.append({**saved, "params": list(range(number, number + len(names)))})
        for name in names:
            if name in named["state"]:
                p = parameters[name]
                state[number] = {
                    key: taken(value, p) if isinstance(p, DTensor) else value
                    for key, value in named["state"][name].items()}
            number += 1
    return {"state": state, "param_groups": groups}


def _take(module: Any, state_dict: Any, prefix: str, *_: Any) -> None:
    """Give the values of a state dict the names and parts of a wrapper's parameters."""
    inner = dict(module._fsdp_wrapped_module.named_parameters(remove_duplicate=False))
    for name in [key for key in state_dict if key.startswith(prefix)]:
        rest = name.removeprefix(prefix)
        if rest.startswith(PREFIX):
            continue
        value = state_dict.pop(name)
        parameter = inner.get(rest)
        if isinstance(parameter, DTensor):
            value = taken(value, parameter)
        state_dict[prefix + PREFIX + rest] = value
