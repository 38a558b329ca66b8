"""NAdam: Adam that looks ahead along its average."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor

from ._checks import at_least_zero, check_betas, check_flags, check_rate
from ._fused import FusedOptimizer, Number, averages
from ._rules import NADAM, Rules


class NAdam(FusedOptimizer):
    r"""Adam with Nesterov momentum (Dozat, Incorporating Nesterov Momentum into Adam, 2016).

    With gradient ``g`` (its negative if ``maximize``) plus ``weight_decay * p`` in step ``t``,
    Adam's averages ``m`` and ``v``, ``mu(t) = beta1 * (1 - 0.96**(t * momentum_decay) / 2)`` and
    ``P(t) = mu(1) * ... * mu(t)``:
    ``p = p - lr * (mu(t + 1) * m / (1 - P(t + 1)) + (1 - mu(t)) * g / (1 - P(t)))``
    ``/ (sqrt(v / (1 - beta2**t)) + eps)``.

    Args:
        params: Parameters, (name, parameter) pairs, or dicts of either with options of their
            own.
        lr: The learning rate, a number or a tensor with one element.
        betas: Decay rates of the two averages.
        eps: Keeps the division away from zero.
        weight_decay: Factor of the parameter that is added to the gradient, or, with
            ``decoupled_weight_decay``, by which times ``lr`` the parameter shrinks.
        momentum_decay: How slowly the momentum grows to ``beta1``.
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
        >>> optimizer = optim.NAdam([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x.detach()
        tensor([0.8944])
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        at_least_zero(eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay)
        check_betas(betas)
        check_flags(foreach=foreach, differentiable=differentiable)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    _counted = ("step", "mu_product")

    def _rules(self, group: dict[str, Any], key: Any) -> Rules:
        return NADAM

    def _first_state(
        self, param: Tensor, group: dict[str, Any], number: Number = float
    ) -> dict[str, Any]:
        return {"step": 0, "mu_product": 1.0, **averages(param)}

    def _advance(
        self, param: Tensor, state: dict[str, Any], group: dict[str, Any], number: Number = float
    ) -> Any:
        step = state["step"] = state["step"] + 1
        product = state["mu_product"] = state["mu_product"] * _momentum(group, step, number)
        return step, product

    def _scalars(self, group: dict[str, Any], key: Any, number: Number = float) -> tuple[Any, ...]:
        step, product = key
        beta1, beta2 = map(number, group["betas"])
        lr = number(group["lr"])
        root2 = (1.0 - beta2**step) ** 0.5
        ahead = _momentum(group, step + 1, number)
        of_average = lr * root2 * ahead / (1.0 - product * ahead)
        of_gradient = lr * root2 * (1.0 - _momentum(group, step, number)) / (1.0 - product)
        keep = 1.0 - lr * group["weight_decay"] if group["decoupled_weight_decay"] else 1.0
        eps = root2 * group["eps"]
        return of_average, of_gradient, beta1, 1.0 - beta1, beta2, 1.0 - beta2, eps, keep


def _momentum(group: dict[str, Any], step: int, number: Number) -> Any:
    """The momentum of a step, which grows to the first beta."""
    return number(group["betas"][0]) * (1.0 - 0.5 * 0.96 ** (step * group["momentum_decay"]))
