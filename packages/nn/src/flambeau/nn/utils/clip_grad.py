"""Limiting gradients."""

from __future__ import annotations

import math
from collections.abc import Iterable

import flambeau
from flambeau import Tensor


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Tensor:
    """The norm of all elements of all tensors taken as one vector.

    Args:
        tensors: One tensor or several.
        norm_type: The exponent; ``inf`` for the greatest magnitude.
        error_if_nonfinite: Raise when the norm is nan or infinite.

    Raises:
        RuntimeError: The norm is not finite and ``error_if_nonfinite`` is set.

    Example:
        >>> import flambeau
        >>> get_total_norm([flambeau.tensor([3.0]), flambeau.tensor([4.0])])
        tensor(5.)
    """
    listed = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not listed:
        return flambeau.tensor(0.0)
    with flambeau.no_grad():
        norms = [_norm(tensor, norm_type) for tensor in listed]
        total = norms[0] if len(norms) == 1 else _norm(flambeau.stack(norms), norm_type)
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
    grads = _grads(parameters)
    total = get_total_norm(grads, norm_type, error_if_nonfinite)
    with flambeau.no_grad():
        scale = flambeau.clamp(float(max_norm) / (total + 1e-6), max=1.0)
        for grad in grads:
            grad.mul_(scale.to(grad.dtype))
    return total


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
        for grad in _grads(parameters):
            grad.clamp_(-limit, limit)


def _grads(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    listed = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [parameter.grad for parameter in listed if parameter.grad is not None]


def _norm(tensor: Tensor, order: float) -> Tensor:
    magnitudes = tensor.detach().abs()
    if order == math.inf:
        return magnitudes.max()
    if order == 2.0:
        return (magnitudes * magnitudes).sum().sqrt()
    return magnitudes.pow(order).sum().pow(1.0 / order)
