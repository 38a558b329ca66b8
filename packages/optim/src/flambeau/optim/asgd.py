"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor

from ._checks import at_least_zero, check_flags, check_rate
from ._fused import FusedOptimizer, Number
from ._rules import ASGD as ASGD_RULES
from ._rules import Rules


class ASGD(FusedOptimizer):
    r"""Averaged SGD (Polyak and Juditsky, Acceleration by Averaging, 1992).

    With gradient ``g`` (its negative if ``maximize``) plus ``weight_decay * p`` in step ``t``:
    ``p = (1 - lambd * eta) * p - eta * g``, ``ax = ax + mu * (p - ax)``, and for the next step
    ``eta = lr / (1 + lambd * lr * t)**alpha``, ``mu = 1 / max(1, t - t0)``. The averages are in
    ``optimizer.state[p]["ax"]``.

    Args:
        params: Parameters, (name, parameter) pairs, or dicts of either with options of their
            own.
        lr: The learning rate, a number or a tensor with one element.
        lambd: How fast the parameters decay.
        alpha: The power by which ``eta`` falls.
        t0: The step at which averaging starts.
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
        >>> optimizer = optim.ASGD([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x.detach()
        tensor([0.8000])
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_rate(lr)
        at_least_zero(weight_decay=weight_decay)
        check_flags(foreach=foreach, differentiable=differentiable)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    _counted = ("step", "eta", "mu")

    def _rules(self, group: dict[str, Any], key: Any) -> Rules:
        return ASGD_RULES

    def _first_state(
        self, param: Tensor, group: dict[str, Any], number: Number = float
    ) -> dict[str, Any]:
        return {"step": 0, "eta": number(group["lr"]), "mu": 1.0, "ax": flambeau.zeros_like(param)}

    def _advance(
        self, param: Tensor, state: dict[str, Any], group: dict[str, Any], number: Number = float
    ) -> Any:
        """The values that this step uses; those of the next one go into the state."""
        key = state["eta"], state["mu"]
        step = state["step"] = state["step"] + 1
        lr = number(group["lr"])
        state["eta"] = lr / (1.0 + group["lambd"] * lr * step) ** group["alpha"]
        averaged = step - group["t0"]
        counts = isinstance(averaged, Tensor)
        state["mu"] = 1.0 / (averaged.clamp(min=1.0) if counts else max(1.0, averaged))
        return key

    def _scalars(self, group: dict[str, Any], key: Any, number: Number = float) -> tuple[Any, ...]:
        eta, mu = key
        return eta, 1.0 - group["lambd"] * eta, mu
