"""RMSprop: steps scaled by the root mean square of recent gradients."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor

from ._checks import at_least_zero, check_flags, check_rate
from ._fused import FusedOptimizer, Number, zeros
from ._rules import RMSPROP, Rules


class RMSprop(FusedOptimizer):
    r"""RMSprop (Tieleman and Hinton, 2012; centered: Graves, Generating Sequences, 2013).

    With gradient ``g`` (its negative if ``maximize``) plus ``weight_decay * p``:
    ``v = alpha * v + (1 - alpha) * g**2``; if ``centered``, ``a = alpha * a + (1 - alpha) * g``
    and ``v - a**2`` replaces ``v``; ``d = g / (sqrt(v) + eps)``;
    ``p = p - lr * d``, or with momentum ``b = momentum * b + d`` and ``p = p - lr * b``.

    Args:
        params: Parameters, (name, parameter) pairs, or dicts of either with options of their
            own.
        lr: The learning rate, a number or a tensor with one element.
        alpha: Decay rate of the averages.
        eps: Keeps the division away from zero.
        weight_decay: Factor of the parameter that is added to the gradient.
        momentum: How much of the last direction is kept.
        centered: Divide by the standard deviation.
        capturable: Count steps on the parameters' device, so that a CUDA graph of a step can be
            replayed.
        foreach: Accepted for PyTorch's sake; the update is always one fused pass.
        maximize: Go up instead of down.
        differentiable: Record the step, so that gradients flow through it to what the
            gradients, the parameters and the options come from. Parameters are then no leaves.

    Raises:
        ValueError: A number is out of range.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> x = flambeau.tensor([1.0], requires_grad=True)
        >>> optimizer = optim.RMSprop([x], lr=0.05)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x.detach()
        tensor([0.5000])
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        at_least_zero(eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        check_flags(foreach=foreach, differentiable=differentiable)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _rules(self, group: dict[str, Any], key: Any) -> Rules:
        pair = RMSPROP[bool(group["centered"]), group["momentum"] > 0]
        return pair

    def _first_state(
        self, param: Tensor, group: dict[str, Any], number: Number = float
    ) -> dict[str, Any]:
        names = ["momentum_buffer"] if group["momentum"] > 0 else []
        names += ["grad_avg"] if group["centered"] else []
        return zeros(param, "square_avg", *names)

    def _scalars(self, group: dict[str, Any], key: Any, number: Number = float) -> tuple[Any, ...]:
        alpha, momentum = group["alpha"], group["momentum"]
        scalars = (number(group["lr"]), alpha, 1.0 - alpha, group["eps"])
        return (*scalars, momentum) if momentum > 0 else scalars
