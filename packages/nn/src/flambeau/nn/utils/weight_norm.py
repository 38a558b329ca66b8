"""Weight norm as a hook before ``forward``, the older way; see ``parametrizations``."""

from __future__ import annotations

from typing import Any

from ..modules.module import Module
from ..parameter import Parameter
from ._hooked import find, install
from ._norms import norm_except, of_norm, tensor_of


class WeightNorm:
    """Computes the weight from its norm and its direction."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim
        self.handle: Any = None

    def compute_weight(self, module: Module) -> Any:
        """The weight."""
        norm, direction = (getattr(module, f"{self.name}_{letter}") for letter in "gv")
        return of_norm(direction, norm, self.dim)

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))

    def remove(self, module: Module) -> None:
        """Leave the weight as a parameter."""
        weight = self.compute_weight(module).detach()
        for name in (self.name, f"{self.name}_g", f"{self.name}_v"):
            delattr(module, name)
        module.register_parameter(self.name, Parameter(weight))
        self.handle.remove()


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    r"""Train the norm of a weight and its direction apart, as ``weight_g`` and ``weight_v``.

    The weight is computed before each ``forward``. ``nn.utils.parametrizations.weight_norm`` is
    the newer way; it loads what this one saved (Salimans and Kingma, Weight Normalization, 2016).

    Args:
        module: The module that has the weight.
        name: The name of the weight.
        dim: There is one norm for each index along this dimension; None for one norm of all.

    Returns:
        The module.

    Raises:
        RuntimeError: The weight has it already.
        ValueError: There is no such weight.

    Example:
        >>> from flambeau import nn
        >>> layer = nn.utils.weight_norm(nn.Linear(20, 40))
        >>> tuple(layer.weight_g.shape), tuple(layer.weight_v.shape)
        ((40, 1), (40, 20))
    """
    hook = WeightNorm(name, dim)
    weight = tensor_of(module, name)
    install(module, hook, "weight_norm")
    delattr(module, name)
    norm = norm_except(weight.detach(), hook.dim)
    module.register_parameter(f"{name}_g", Parameter(norm))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    hook(module, None)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight a plain parameter again.

    Args:
        module: The module that has the weight.
        name: The name of the weight.

    Returns:
        The module.

    Raises:
        ValueError: The weight has no weight norm.

    Example:
        >>> from flambeau import nn
        >>> layer = nn.utils.remove_weight_norm(nn.utils.weight_norm(nn.Linear(2, 3)))
        >>> sorted(layer.state_dict())
        ['bias', 'weight']
    """
    find(module, WeightNorm, name, "weight_norm").remove(module)
    return module
