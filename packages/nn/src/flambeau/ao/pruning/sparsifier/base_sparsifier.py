"""The base of what decides which weights are zero."""
from __future__ import annotations

import abc
import copy
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import flambeau
from flambeau import nn
from flambeau.ao.pruning.sparsifier.utils import (
    FakeSparsity,
    get_arg_info_from_tensor_fqn,
    module_contains_param,
    module_to_fqn,
    swap_module,
)
from flambeau.nn.utils import parametrize

__all__ = ["KEYS_NOT_IN_STATE_DICT", "SUPPORTED_MODULES", "BaseSparsifier"]

#: The layers that are taken where no configuration names tensors.
SUPPORTED_MODULES = {nn.Linear}
KEYS_NOT_IN_STATE_DICT = ["module", "module_fqn", "tensor_name"]


class BaseSparsifier(abc.ABC):
    """Masks of tensors, which `update_mask` of a derived class computes.

    Args:
        defaults: Arguments of `update_mask` that the configuration of a tensor may replace.

    Attributes:
        groups: For each tensor, its configuration with ``module`` and ``tensor_name``.
        state: For the path of each tensor, its ``mask`` and what derived classes note.
        enable_mask_update: Whether `step` computes masks.
    """

    def __init__(self, defaults: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.defaults = defaults or {}
        self.state: dict[str, dict[str, Any]] = defaultdict(dict)
        self.groups: list[dict[str, Any]] = []
        self.enable_mask_update = True
        self._step_count = 0

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "groups": self.groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({"enable_mask_update": True, "_step_count": 0, **state})

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.groups):
            lines += [f"\tGroup {i}", f"\t    module: {group['module']}"]
            lines += [f"\t    {key}: {group[key]}" for key in sorted(group) if key != "module"]
        return "\n".join(lines) + ("\n)" if self.groups else ")")

    # ---- state -----------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """The ``state``, masks included, and the ``groups`` without their layers."""
        groups = [{key: value for key, value in group.items() if key not in KEYS_NOT_IN_STATE_DICT}
                  for group in self.groups]
        return {"state": self.state, "groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> None:
        """Take the masks, which the network shares from then on, and the configurations.

        Args:
            state_dict: Of `state_dict`.
            strict: Whether tensors that the network lacks are refused; else they are passed over.

        Raises:
            RuntimeError: The network has no such tensor.
        """
        groups = copy.deepcopy(state_dict["groups"])
        for path, facts in state_dict["state"].items():
            found = get_arg_info_from_tensor_fqn(self.model, path)
            module, name = found["module"], found["tensor_name"]
            if module is None:
                if strict:
                    raise RuntimeError(f"load_state_dict(): the network has no {path}; call "
                                       "prepare() with the network that the state is of")
                continue
            for group in groups:
                if group["tensor_fqn"] == path:
                    group.update(found)
            if facts.get("mask") is not None:
                _masked(module, name).mask = facts["mask"]
        self.state = defaultdict(dict, {path: dict(facts)
                                        for path, facts in state_dict["state"].items()})
        self.groups = groups

    # ---- networks --------------------------------------------------------------------------------
    def make_config_from_model(self, model: nn.Module,
                               SUPPORTED_MODULES: Iterable[Any] = SUPPORTED_MODULES) -> None:
        """Take the weights of all layers of these classes."""
        self.config, pending = [], [model]
        while pending:
            for _, child in pending.pop().named_children():
                if type(child) in SUPPORTED_MODULES:
                    self.config.append({"tensor_fqn": f"{module_to_fqn(model, child)}.weight"})
                else:
                    pending.append(child)

    def prepare(self, model: nn.Module, config: list[dict[str, Any]] | None) -> None:
        """Give tensors of a network masks, of ones at first.

        Args:
            model: The network, which is changed.
            config: For each tensor a dict with ``tensor_fqn``, its path, and arguments that
                replace the defaults; all weights of `SUPPORTED_MODULES` when None.

        Raises:
            ValueError: A configuration is no dict, lacks ``tensor_fqn``, or contradicts it.
        """
        self.model = model
        if config is None:
            self.make_config_from_model(model)
        else:
            self.config = config
        for each in self.config:
            if not isinstance(each, dict) or each.get("tensor_fqn") is None:
                raise ValueError("prepare(): a configuration is a dict with the path of a tensor, "
                                 f"such as {{'tensor_fqn': 'linear.weight'}}, got {each!r}")
            group = {**copy.deepcopy(self.defaults), **each}
            found = get_arg_info_from_tensor_fqn(model, group["tensor_fqn"].removeprefix("."))
            for key in ("module", "module_fqn", "tensor_name"):
                if key in group and group[key] != found[key]:
                    raise ValueError(f"prepare(): {key} is not that of tensor_fqn "
                                     f"{group['tensor_fqn']!r}; leave {key} out")
            self.groups.append({**group, **found})
        self._prepare()

    def _prepare(self, *args: Any, **kwargs: Any) -> None:
        for group in self.groups:
            module, name = group["module"], group["tensor_name"]
            mask = group.get("mask")
            if mask is None:
                mask = flambeau.ones_like(getattr(module, name)).detach()
            self.state[group["tensor_fqn"]]["mask"] = mask
            made = group.get("parametrization", FakeSparsity)(mask)
            parametrize.register_parametrization(module, name, made)

    def squash_mask(self, params_to_keep: Iterable[str] | None = None,
                    params_to_keep_per_layer: dict[str, Iterable[str]] | None = None,
                    *args: Any, **kwargs: Any) -> None:
        """Write the zeros to the tensors themselves, which have no masks from then on.

        Args:
            params_to_keep: Keys of the groups that layers keep, in a dict ``sparse_params``.
            params_to_keep_per_layer: The path of a layer -> keys that it keeps besides.
        """
        for group in self.groups:
            module = group["module"]
            parametrize.remove_parametrizations(module, group["tensor_name"],
                                                leave_parametrized=True)
            of_layer = (params_to_keep_per_layer or {}).get(group["module_fqn"]) or ()
            kept = {key: group[key] for key in (*(params_to_keep or ()), *of_layer)}
            if kept:
                module.sparse_params = kept

    def convert(self, module: nn.Module, mapping: dict[Any, Any] | None = None,
                inplace: bool = False, parameterization: type[nn.Module] = FakeSparsity) -> Any:
        """Replace layers that have masks.

        Args:
            module: The network.
            mapping: The class of a layer -> the class whose ``from_dense`` makes the other.
            inplace: Whether the network itself is changed.
            parameterization: The class of the masks.

        Returns:
            The network, or its copy.
        """
        if mapping is None:
            raise NotImplementedError("convert(): write mapping={nn.Linear: ...}, with a class "
                                      "that has from_dense")
        module = module if inplace else copy.deepcopy(module)
        for name, child in list(module.named_children()):
            if module_contains_param(child, parameterization) \
                    and parametrize.type_before_parametrizations(child) in mapping:
                setattr(module, name, swap_module(child, mapping))
            else:
                self.convert(child, mapping, True, parameterization)
        return module

    # ---- steps -----------------------------------------------------------------------------------
    def step(self, use_path: bool = True) -> None:
        """Compute the mask of each tensor."""
        self._step_count += 1
        if self.enable_mask_update:
            with flambeau.no_grad():
                for group in self.groups:
                    self.update_mask(**group)

    @abc.abstractmethod
    def update_mask(self, module: nn.Module, tensor_name: str, **kwargs: Any) -> None:
        """Compute the mask of a tensor: ``module.parametrizations[tensor_name][0].mask``."""


def _masked(module: nn.Module, name: str) -> Any:
    """The parametrization of a tensor that has its mask, which is made where it lacks."""
    if parametrize.is_parametrized(module, name):
        for each in module.parametrizations[name]:
            if isinstance(each, FakeSparsity):
                return each
    made = FakeSparsity(flambeau.ones_like(getattr(module, name)).detach())
    parametrize.register_parametrization(module, name, made)
    return made
