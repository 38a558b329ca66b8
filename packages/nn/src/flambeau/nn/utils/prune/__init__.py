"""Pruning: parameters some of whose elements are zero and stay zero while training goes on.

Each function makes ``name`` a product of the parameter ``name_orig`` and the buffer
``name_mask``, computed before each ``forward``; ``remove`` makes it a plain parameter again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import flambeau
from flambeau import Tensor

from ...modules.module import Module
from ...modules.module._hooks import hooks_of
from .base import BasePruningMethod, PruningContainer, combined_mask, method_of
from .methods import (
    Amount,
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    RandomStructured,
    RandomUnstructured,
)

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


def identity(module: Module, name: str) -> Module:
    """Put a mask of ones in place, and return the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: Amount) -> Module:
    """Prune elements at random.

    Args:
        module: The module that has the parameter.
        name: The name of the parameter.
        amount: How many of those that are left, or which fraction.

    Returns:
        The module.

    Example:
        >>> from flambeau import nn
        >>> layer = nn.utils.prune.random_unstructured(nn.Linear(4, 5), "weight", amount=0.25)
        >>> int((layer.weight == 0).sum())
        5
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Module, name: str, amount: Amount, importance_scores: Tensor | None = None
) -> Module:
    """Prune the elements of the smallest magnitudes.

    Args:
        module: The module that has the parameter.
        name: The name of the parameter.
        amount: How many of those that are left, or which fraction.
        importance_scores: What is chosen by, instead of the parameter; of its shape.

    Returns:
        The module.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> layer = nn.Linear(3, 1, bias=False)
        >>> _ = layer.weight.data.copy_(flambeau.tensor([[1.0, -3.0, 2.0]]))
        >>> nn.utils.prune.l1_unstructured(layer, "weight", amount=1).weight.tolist()
        [[0.0, -3.0, 2.0]]
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: Amount, dim: int) -> Module:
    """Prune whole rows, columns or channels at random.

    Args:
        module: The module that has the parameter.
        name: The name of the parameter.
        amount: How many of those that are left, or which fraction.
        dim: The dimension they lie along.

    Returns:
        The module.
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module,
    name: str,
    amount: Amount,
    n: Any,
    dim: int,
    importance_scores: Tensor | None = None,
) -> Module:
    """Prune the rows, columns or channels that have the smallest norms.

    Args:
        module: The module that has the parameter.
        name: The name of the parameter.
        amount: How many of those that are left, or which fraction.
        n: The exponent of the norm, such as 2 or ``inf``.
        dim: The dimension they lie along.
        importance_scores: What is chosen by, instead of the parameter; of its shape.

    Returns:
        The module.

    Example:
        >>> from flambeau import nn
        >>> layer = nn.utils.prune.ln_structured(nn.Linear(4, 5), "weight", amount=2, n=2, dim=0)
        >>> int((layer.weight == 0).all(1).sum())
        2
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune what a mask of ones and zeros leaves out, and return the module."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: Mapping[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune elements of several parameters, chosen as if these were one vector.

    Args:
        parameters: Modules and names of their parameters.
        pruning_method: A method of type ``"unstructured"``.
        importance_scores: What is chosen by, by module and name; the parameter for others.
        kwargs: What the method is constructed with.

    Raises:
        TypeError: The method is not unstructured, or ``parameters`` are no pairs.

    Example:
        >>> from flambeau import nn
        >>> net = nn.Sequential(nn.Linear(10, 4), nn.Linear(4, 1))
        >>> prune = nn.utils.prune
        >>> chosen = [(net[0], "weight"), (net[1], "weight")]
        >>> prune.global_unstructured(chosen, prune.L1Unstructured, amount=10)
        >>> sum(int((layer.weight == 0).sum()) for layer in net)
        10
    """
    pairs, given = list(parameters), dict(importance_scores or {})
    if not pairs or any(not isinstance(p, tuple | list) or len(p) != 2 for p in pairs):
        raise TypeError("global_unstructured() takes pairs (module, name of a parameter)")
    method: Any = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            "global_unstructured() takes methods of type 'unstructured'; "
            f"{pruning_method.__name__} is {method.PRUNING_TYPE!r}"
        )
    pairs = [(module, name) for module, name in pairs]
    scores = [_default(given.get((module, name)), module, name) for module, name in pairs]
    masks = [_mask(module, name) for module, name in pairs]
    with flambeau.no_grad():
        whole = combined_mask(method, _joined(scores), _joined(masks))
    sizes = [mask.numel() for mask in masks]
    for (module, name), mask, part in zip(pairs, masks, whole.split(sizes), strict=True):
        custom_from_mask(module, name, part.reshape(mask.shape))


def remove(module: Module, name: str) -> Module:
    """Make the pruned values a plain parameter.

    Args:
        module: The module that has the parameter.
        name: The name of the parameter.

    Returns:
        The module.

    Raises:
        ValueError: The parameter is not pruned.

    Example:
        >>> from flambeau import nn
        >>> prune = nn.utils.prune
        >>> layer = prune.remove(prune.random_unstructured(nn.Linear(2, 3), "weight", 2), "weight")
        >>> sorted(layer.state_dict()), int((layer.weight == 0).sum())
        (['bias', 'weight'], 2)
    """
    method = method_of(module, name)
    if method is None:
        raise ValueError(
            f"parameter {name!r} of {type(module).__name__} has to be pruned before pruning can "
            "be removed"
        )
    method.remove(module)
    method.handle.remove()
    return module


def is_pruned(module: Module) -> bool:
    """Whether a parameter of the module, or of one below it, is pruned.

    Example:
        >>> from flambeau import nn
        >>> net = nn.Sequential(nn.Linear(2, 2))
        >>> before = nn.utils.prune.is_pruned(net)
        >>> _ = nn.utils.prune.identity(net[0], "weight")
        >>> before, nn.utils.prune.is_pruned(net)
        (False, True)
    """
    return any(
        isinstance(hook, BasePruningMethod)
        for each in module.modules()
        for hook in hooks_of(each, "forward_pre")
    )


def _default(scores: Tensor | None, module: Module, name: str) -> Tensor:
    return getattr(module, name) if scores is None else scores


def _mask(module: Module, name: str) -> Tensor:
    tensor = getattr(module, name).detach()
    mask: Any = getattr(module, f"{name}_mask", None)
    return flambeau.ones_like(tensor) if mask is None else mask


def _joined(tensors: list[Tensor]) -> Tensor:
    return flambeau.cat([tensor.detach().reshape(-1) for tensor in tensors])
