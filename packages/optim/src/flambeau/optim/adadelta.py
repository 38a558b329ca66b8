"""Adadelta: steps in the scale of recent steps."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor

from ._checks import at_least_zero, check_flags, check_rate
from ._fused import FusedOptimizer, Number, zeros
from ._rules import ADADELTA, Rules


class Adadelta(FusedOptimizer):
    r"""Adadelta (Zeiler, ADADELTA: An Adaptive Learning Rate Method, 2012).

    With gradient ``g`` (its negative if ``maximize``) plus ``weight_decay * p``:
    ``v = rho * v + (1 - rho) * g**2``, ``d = sqrt(u + eps) / sqrt(v + eps) * g``,
    ``u = rho * u + (1 - rho) * d**2``, ``p = p - lr * d``.

    Args:
        params: Parameters, (name, parameter) pairs, or dicts of either with options of their
            own.
        lr: The learning rate, a number or a tensor with one element.
        rho: Decay rate of the averages of squares.
        eps: Keeps the roots away from zero.
        weight_decay: Factor of the parameter that is added to the gradient.
        foreach: Accepted for PyTorch's sake; the update is always one fused pass.
        capturable: Count steps on the parameters' device, so that a CUDA graph of a step can be
            replayed.
        maximize: Go up instead of down.
        differentiable: Record the step, so that gradients flow through it to what the
            gradients, the parameters and the options come from. Parameters are then no leaves.

    Raises:
        ValueError: A number is out of range.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> x = flambeau.tensor([1.0], requires_grad=True)
        >>> optimizer = optim.Adadelta([x], lr=1.0)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x.detach()
        tensor([0.9968])
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        at_least_zero(eps=eps, weight_decay=weight_decay)
        check_flags(foreach=foreach, differentiable=differentiable)
        if not 0 <= rho <= 1:
            raise ValueError(f"rho is between 0 and 1, not {rho}")
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _rules(self, group: dict[str, Any], key: Any) -> Rules:
        return ADADELTA

    def _first_state(
        self, param: Tensor, group: dict[str, Any], number: Number = float
    ) -> dict[str, Any]:
        return zeros(param, "square_avg", "acc_delta")

    def _scalars(self, group: dict[str, Any], key: Any, number: Number = float) -> tuple[Any, ...]:
        return number(group["lr"]), group["rho"], 1.0 - group["rho"], group["eps"]
