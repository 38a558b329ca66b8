"""RAdam: Adam that waits until its average of squares can be trusted."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor

from ._checks import at_least_zero, check_betas, check_flags, check_rate
from ._fused import FusedOptimizer, Number, averages
from ._rules import ADAM, RADAM_COUNTED, RADAM_EARLY, Rules


class RAdam(FusedOptimizer):
    r"""Rectified Adam (Liu et al., On the Variance of the Adaptive Learning Rate and Beyond, 2020).

    With gradient ``g`` (its negative if ``maximize``) plus ``weight_decay * p`` in step ``t`` and
    Adam's averages ``m`` and ``v``: ``R = 2 / (1 - beta2) - 1``,
    ``r = R - 2 * t * beta2**t / (1 - beta2**t)``. If ``r > 5``,
    ``p = p - lr * m / (1 - beta1**t) * s * sqrt(1 - beta2**t) / (sqrt(v) + eps)`` with
    ``s = sqrt((r - 4) * (r - 2) * R / ((R - 4) * (R - 2) * r))``, and before that
    ``p = p - lr * m / (1 - beta1**t)``.

    Args:
        params: Parameters, (name, parameter) pairs, or dicts of either with options of their
            own.
        lr: The learning rate, a number or a tensor with one element.
        betas: Decay rates of the two averages.
        eps: Keeps the division away from zero.
        weight_decay: Factor of the parameter that is added to the gradient, or, with
            ``decoupled_weight_decay``, by which times ``lr`` the parameter shrinks.
        decoupled_weight_decay: Decay as AdamW does.
        foreach: Accepted for PyTorch's sake; the update is always one fused pass.
        maximize: Go up instead of down.
        capturable: Count steps on the parameters' device, so that a CUDA graph of a step can be
            replayed.
        differentiable: Record the step, so that gradients flow through it to what the
            gradients, the parameters and the options come from. Parameters are then no leaves.

    Raises:
        ValueError: A number is out of range.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> x = flambeau.tensor([1.0], requires_grad=True)
        >>> optimizer = optim.RAdam([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x.detach()
        tensor([0.8000])
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        at_least_zero(eps=eps, weight_decay=weight_decay)
        check_betas(betas)
        check_flags(foreach=foreach, differentiable=differentiable)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _rules(self, group: dict[str, Any], key: Any) -> Rules:
        if isinstance(key, Tensor):
            return RADAM_COUNTED
        early = _rectification(float(group["betas"][1]), key) is None
        return RADAM_EARLY if early else ADAM

    def _first_state(
        self, param: Tensor, group: dict[str, Any], number: Number = float
    ) -> dict[str, Any]:
        return {"step": 0, **averages(param)}

    def _scalars(self, group: dict[str, Any], key: Any, number: Number = float) -> tuple[Any, ...]:
        beta1, beta2 = map(number, group["betas"])
        lr = number(group["lr"])
        step_size = lr / (1.0 - beta1**key)
        keep = 1.0 - lr * group["weight_decay"] if group["decoupled_weight_decay"] else 1.0
        betas = (beta1, 1.0 - beta1, beta2, 1.0 - beta2)
        if isinstance(key, Tensor):
            length = _length(beta2, key)
            early = (length <= 5.0).to(key.dtype)
            factor = _factor(beta2, length) * (1.0 - beta2**key) ** 0.5
            factor = flambeau.where(length <= 5.0, 1.0, factor)
            return (-step_size * factor, *betas, group["eps"], keep, early)
        rectification = _rectification(beta2, key)
        if rectification is None:
            return (-step_size, *betas, keep)
        step_size = step_size * rectification * (1.0 - beta2**key) ** 0.5
        return (-step_size, *betas, group["eps"], keep)


def _rectification(beta2: Any, step: int) -> Any:
    """What the variance of the step size calls for; None while it cannot be estimated."""
    length = _length(beta2, step)
    return None if length <= 5.0 else _factor(beta2, length)


def _length(beta2: Any, step: Any) -> Any:
    """The length of the simple average that the moving one stands for."""
    return _longest(beta2) - 2.0 * step * beta2**step / (1.0 - beta2**step)


def _longest(beta2: Any) -> Any:
    return 2.0 / (1.0 - beta2) - 1.0


def _factor(beta2: Any, length: Any) -> Any:
    longest = _longest(beta2)
    variance = (longest - 4.0) * (longest - 2.0) * length
    return ((length - 4.0) * (length - 2.0) * longest / variance) ** 0.5
