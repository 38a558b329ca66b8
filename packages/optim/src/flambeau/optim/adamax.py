"""Adamax: Adam with the largest recent gradient instead of the root mean square."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor

from ._checks import at_least_zero, check_betas, check_flags, check_rate
from ._fused import FusedOptimizer, Number, zeros
from ._rules import ADAMAX, Rules


class Adamax(FusedOptimizer):
    r"""Adam with an infinity norm (Kingma and Ba, Adam, 2015).

    With gradient ``g`` (its negative if ``maximize``) plus ``weight_decay * p`` in step ``t``:
    ``m = beta1 * m + (1 - beta1) * g``, ``u = max(beta2 * u, |g| + eps)``,
    ``p = p - lr / (1 - beta1**t) * m / u``.

    Args:
        params: Parameters, (name, parameter) pairs, or dicts of either with options of their
            own.
        lr: The learning rate, a number or a tensor with one element.
        betas: Decay rates of the average and of the norm.
        eps: Keeps the norm away from zero.
        weight_decay: Factor of the parameter that is added to the gradient.
        foreach: Accepted for PyTorch's sake; the update is always one fused pass.
        maximize: Go up instead of down.
        differentiable: Record the step, so that gradients flow through it to what the
            gradients, the parameters and the options come from. Parameters are then no leaves.
        capturable: Count steps on the parameters' device, so that a CUDA graph of a step can be
            replayed.

    Raises:
        ValueError: A number is out of range.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> x = flambeau.tensor([1.0], requires_grad=True)
        >>> optimizer = optim.Adamax([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x.detach()
        tensor([0.9000])
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
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
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _rules(self, group: dict[str, Any], key: Any) -> Rules:
        return ADAMAX

    def _first_state(
        self, param: Tensor, group: dict[str, Any], number: Number = float
    ) -> dict[str, Any]:
        return zeros(param, "exp_avg", "exp_inf")

    def _scalars(self, group: dict[str, Any], key: Any, number: Number = float) -> tuple[Any, ...]:
        beta1, beta2 = map(number, group["betas"])
        return number(group["lr"]) / (1.0 - beta1**key), beta1, 1.0 - beta1, beta2, group["eps"]
