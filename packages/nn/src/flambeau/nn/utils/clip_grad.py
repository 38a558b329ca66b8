"""Limiting gradients."""

from __future__ import annotations

import math
import types
import warnings
from collections.abc import Iterable

import flambeau
from flambeau import Tensor


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all elements of all tensors taken as one vector.

    Args:
        tensors: One tensor or several.
        norm_type: The exponent; ``inf`` for the greatest magnitude.
        error_if_nonfinite: Raise when the norm is nan or infinite.
        foreach: Accepted for PyTorch's sake; there is one way here.

    Raises:
        RuntimeError: The norm is not finite and ``error_if_nonfinite`` is set.

    Example:
        >>> import flambeau
        >>> get_total_norm([flambeau.tensor([3.0]), flambeau.tensor([4.0])])
        tensor(5.)
    """
    listed = _tensors("get_total_norm", "tensors", tensors)
    if not listed:
        return flambeau.tensor(0.0)
    order, device = float(norm_type), listed[0].device
    with flambeau.no_grad():
        norms = [flambeau.linalg.vector_norm(tensor, order).to(device) for tensor in listed]
        total = flambeau.linalg.vector_norm(flambeau.stack(norms), order)
    if error_if_nonfinite and not math.isfinite(float(total)):
        raise RuntimeError(
            f"the total norm of order {norm_type} of the gradients is {float(total)}, so they "
            "cannot be scaled; set error_if_nonfinite=False to scale by it anyway"
        )
    return total


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients together so that their total norm is at most ``max_norm``.

    Each gradient is multiplied by ``min(1, max_norm / (total norm + 1e-6))``, in place.

    Args:
        parameters: One parameter or several; those without a gradient do not count.
        max_norm: The greatest norm allowed.
        norm_type: The exponent of the norm; ``inf`` for the greatest magnitude.
        error_if_nonfinite: Raise when the norm is nan or infinite.
        foreach: Accepted for PyTorch's sake; there is one way here.

    Returns:
        The total norm before scaling.

    Raises:
        RuntimeError: The norm is not finite and ``error_if_nonfinite`` is set.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> p = nn.Parameter(flambeau.zeros(2))
        >>> p.grad = flambeau.tensor([3.0, 4.0])
        >>> clip_grad_norm_(p, max_norm=1.0)
        tensor(5.)
        >>> p.grad
        tensor([0.6000, 0.8000])
    """
    listed = _listed("clip_grad_norm_", parameters)
    total = get_total_norm(_grads(listed), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(listed, max_norm, total)
    return total


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,
) -> None:
    """Scale all gradients together by ``min(1, max_norm / (total_norm + 1e-6))``, in place.

    Args:
        parameters: One parameter or several; those without a gradient do not count.
        max_norm: The greatest norm allowed.
        total_norm: The norm they have, from ``get_total_norm``.
        foreach: Accepted for PyTorch's sake; there is one way here.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> p = nn.Parameter(flambeau.zeros(2))
        >>> p.grad = flambeau.tensor([3.0, 4.0])
        >>> clip_grads_with_norm_(p, 1.0, get_total_norm([p.grad]))
        >>> p.grad
        tensor([0.6000, 0.8000])
    """
    with flambeau.no_grad():
        scale = flambeau.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
        for grad in _grads(_listed("clip_grads_with_norm_", parameters)):
            grad.mul_(scale.to(device=grad.device, dtype=grad.dtype))


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The older name of ``clip_grad_norm_``, which warns."""
    warnings.warn(
        "clip_grad_norm is deprecated in favor of clip_grad_norm_", FutureWarning, stacklevel=2
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Limit every element of the gradients to ``[-clip_value, clip_value]``, in place.

    Args:
        parameters: One parameter or several; those without a gradient do not count.
        clip_value: The greatest magnitude allowed.
        foreach: Accepted for PyTorch's sake; there is one way here.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> p = nn.Parameter(flambeau.zeros(2))
        >>> p.grad = flambeau.tensor([3.0, -0.5])
        >>> clip_grad_value_(p, 1.0)
        >>> p.grad
        tensor([ 1.0000, -0.5000])
    """
    limit = float(clip_value)
    with flambeau.no_grad():
        for grad in _grads(_listed("clip_grad_value_", parameters)):
            grad.clamp_(-limit, limit)


def _tensors(name: str, argument: str, given: Tensor | Iterable[Tensor]) -> list[Tensor]:
    if isinstance(given, Tensor):
        return [given]
    listed = list(given) if isinstance(given, Iterable) else [given]
    for each in listed:
        if not isinstance(each, Tensor):
            raise TypeError(
                f"{name}(): argument '{argument}' must be a Tensor or Tensors, as "
                f"module.parameters() gives them, not {type(each).__name__}"
            )
    return listed


def _listed(name: str, parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    listed = _tensors(name, "parameters", parameters)
    if not listed and isinstance(parameters, types.GeneratorType):
        warnings.warn(
            "the generator of parameters is empty, no gradient is clipped; one that was used "
            "before is: call parameters() again",
            stacklevel=3,
        )
    return listed


def _grads(parameters: list[Tensor]) -> list[Tensor]:
    return [parameter.grad for parameter in parameters if parameter.grad is not None]
