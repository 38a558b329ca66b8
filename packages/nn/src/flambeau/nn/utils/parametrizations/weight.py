"""Weights of given norms."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor

from ...modules.module import Module
from .._norms import norm_except, of_norm, tensor_of
from ..parametrize import register_parametrization


class _WeightNorm(Module):
    """``g * v / |v|``."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        """Give the direction its norm."""
        return of_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Norm and direction."""
        return norm_except(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    r"""Train the norm of a weight and its direction apart from each other.

    ``w = g * v / |v|``; ``g`` is ``parametrizations.weight.original0`` and ``v`` is
    ``original1`` (Salimans and Kingma, Weight Normalization, 2016). Weights that the older
    ``nn.utils.weight_norm`` saved can be loaded.

    Args:
        module: The module that has the weight.
        name: The name of the weight.
        dim: There is one norm for each index along this dimension; None for one norm of all.

    Returns:
        The module.

    Raises:
        ValueError: It has no such weight.

    Example:
        >>> from flambeau import nn
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(20, 40))
        >>> [tuple(p.shape) for p in layer.parametrizations.weight.parameters()]
        [(40, 1), (40, 20)]
    """
    tensor_of(module, name)
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module.register_load_state_dict_pre_hook(_Renames(name))
    return module


class _Renames:
    """Finds what the older ``weight_norm`` saved under its names."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, module: Any, state_dict: Any, prefix: str, *rest: Any) -> None:
        older = [f"{prefix}{self.name}_{letter}" for letter in "gv"]
        if all(key in state_dict for key in older):
            for index, key in enumerate(older):
                newer = f"{prefix}parametrizations.{self.name}.original{index}"
                state_dict[newer] = state_dict.pop(key)
