"""How ``module.to(...)`` changes parameters: their memory, the tensors, or what they hold."""

from __future__ import annotations

from flambeau.nn.modules.module._changing import way

__all__ = [
    "get_overwrite_module_params_on_conversion",
    "get_swap_module_params_on_conversion",
    "set_overwrite_module_params_on_conversion",
    "set_swap_module_params_on_conversion",
]


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Say whether ``module.to(...)`` and the like make new parameters.

    Args:
        value: True for new parameters; False, as at first, for the same with other memory.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> net = nn.Linear(2, 1)
        >>> weight = net.weight
        >>> flambeau.__future__.set_overwrite_module_params_on_conversion(True)
        >>> net.double().weight is weight, weight.dtype
        (False, flambeau.float32)
        >>> flambeau.__future__.set_overwrite_module_params_on_conversion(False)
    """
    way.overwrites = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether ``module.to(...)`` and the like make new parameters."""
    return way.overwrites


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Say whether ``module.to(...)`` and ``load_state_dict`` exchange parameters' contents.

    Args:
        value: True for `flambeau.utils.swap_tensors`, with which views made before keep the old
            memory; False, as at first, for the same parameters with other memory.
    """
    way.swaps = value


def get_swap_module_params_on_conversion() -> bool:
    """Whether ``module.to(...)`` exchanges parameters' contents."""
    return way.swaps
