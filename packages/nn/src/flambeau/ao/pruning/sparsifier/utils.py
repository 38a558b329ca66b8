"""Masks as parametrizations, and layers by their paths."""
from __future__ import annotations

from typing import Any

from flambeau import Tensor, nn
from flambeau.nn.utils.parametrize import is_parametrized, type_before_parametrizations

__all__ = ["FakeSparsity", "fqn_to_module", "get_arg_info_from_tensor_fqn",
           "module_contains_param", "module_to_fqn", "swap_module"]


class FakeSparsity(nn.Module):
    """A parametrization that multiplies by a mask, which ``state_dict`` leaves out.

    Args:
        mask: Zeros and ones, in the shape of the parameter.
    """

    mask: Tensor

    def __init__(self, mask: Tensor) -> None:
        super().__init__()
        self.register_buffer("mask", mask)

    def forward(self, x: Tensor) -> Tensor:
        """The numbers where the mask is one."""
        if self.mask.shape != x.shape:
            raise ValueError(f"FakeSparsity: the mask has shape {list(self.mask.shape)}, the "
                             f"parameter {list(x.shape)}; make the mask with ones_like")
        return self.mask * x

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Nothing: masks are part of the state of a sparsifier."""
        return {}


def module_contains_param(module: nn.Module, parametrization: type[nn.Module]) -> bool:
    """Whether a parameter of a layer has a parametrization of a class."""
    return is_parametrized(module) and any(
        isinstance(each, parametrization)
        for several in module.parametrizations.values() for each in several)


def swap_module(mod: nn.Module, mapping: dict[Any, Any]) -> nn.Module:
    """The layer that ``from_dense`` of another class makes, with the hooks; or the layer itself."""
    kind = mapping.get(type_before_parametrizations(mod))
    if kind is None:
        return mod
    made: nn.Module = kind.from_dense(mod)
    for before in mod._forward_pre_hooks.values():
        made.register_forward_pre_hook(before)
    for after in mod._forward_hooks.values():
        made.register_forward_hook(after)
    devices = {each.device for each in (*mod.parameters(), *mod.buffers())}
    return made.to(devices.pop()) if len(devices) == 1 else made


def module_to_fqn(model: nn.Module, module: nn.Module, prefix: str = "") -> str | None:
    """The path of a layer in a network, or None."""
    for name, each in model.named_modules(remove_duplicate=False):
        if each is module:
            return prefix + name if name else ""
    return None


def fqn_to_module(model: Any, path: str) -> Any:
    """The layer or tensor at a path, or None."""
    for name in path.split(".") if path else ():
        model = getattr(model, name, None)
    return model


def get_arg_info_from_tensor_fqn(model: nn.Module, tensor_fqn: str) -> dict[str, Any]:
    """What a path of a tensor consists of.

    Returns:
        ``module_fqn``, ``module`` (or None), ``tensor_name`` and ``tensor_fqn``.
    """
    module_fqn, _, name = tensor_fqn.rpartition(".")
    return {"module_fqn": module_fqn, "module": fqn_to_module(model, module_fqn),
            "tensor_name": name, "tensor_fqn": tensor_fqn}
