"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor

from ._checks import at_least_zero, check_flags, check_rate
from ._fused import Columns, FusedOptimizer, Number
from ._rules import SGD as PLAIN
from ._rules import SGD_MOMENTUM as MOMENTUM
from ._rules import SGD_NESTEROV as NESTEROV
from ._rules import Rules
from ._sparse import refuse_decay


class SGD(FusedOptimizer):
    r"""Stochastic gradient descent, with momentum if wanted.

    With gradient ``g`` (its negative if ``maximize``) plus ``weight_decay * p``:
    ``p = p - lr * g`` without momentum; otherwise ``b = momentum * b + (1 - dampening) * g``
    (``b = g`` in the first step) and ``p = p - lr * b``, or
    ``p = p - lr * (g + momentum * b)`` with ``nesterov`` (Sutskever et al., On the importance of
    initialization and momentum in deep learning, 2013).

    Args:
        params: Parameters, (name, parameter) pairs, or dicts of either with options of their own.
        lr: The learning rate, a number or a tensor with one element.
        momentum: How much of the last direction is kept.
        dampening: How much the gradient is weakened when there is momentum.
        weight_decay: Factor of the parameter that is added to the gradient.
        nesterov: Look ahead along the momentum.
        maximize: Go up instead of down.
        foreach: Accepted for PyTorch's sake; the update is always one fused pass.
        differentiable: Record the step, so that gradients flow through it to what the
            gradients, the parameters and the options come from. Parameters are then no leaves.
        fused: Accepted, as ``foreach``.

    Raises:
        ValueError: A number is negative, or ``nesterov`` stands without momentum.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> x = flambeau.tensor([1.0], requires_grad=True)
        >>> optimizer = optim.SGD([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x.detach()
        tensor([0.8000])
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        at_least_zero(momentum=momentum, weight_decay=weight_decay)
        check_flags(foreach=foreach, fused=fused, differentiable=differentiable)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("nesterov=True needs momentum > 0 and dampening = 0")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def _advance_all(self, group: dict[str, Any], number: Number = float) -> dict[Any, Columns]:
        if group["momentum"] != 0:
            return super()._advance_all(group, number)
        params = [param for param in group["params"] if param.grad is not None]
        return {False: (params, [], [param.grad for param in params])} if params else {}

    def _first_state(
        self, param: Tensor, group: dict[str, Any], number: Number = float
    ) -> dict[str, Any]:
        return {}

    def _advance(
        self, param: Tensor, state: dict[str, Any], group: dict[str, Any], number: Number = float
    ) -> Any:
        """Whether the step is the first: its direction is the gradient itself, not damped."""
        if state.get("momentum_buffer") is not None:
            return False
        state["momentum_buffer"] = flambeau.zeros_like(param)
        return True

    def _rules(self, group: dict[str, Any], key: Any) -> Rules:
        if group["momentum"] == 0:
            return PLAIN
        return NESTEROV if group["nesterov"] else MOMENTUM

    def _update_sparse(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        refuse_decay(group)
        momentum, state = group["momentum"], self.state[param]
        if momentum != 0:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = grad.clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            state["momentum_buffer"] = buffer
            grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        param.add_(grad, alpha=-float(group["lr"]))

    def _scalars(self, group: dict[str, Any], key: Any, number: Number = float) -> tuple[Any, ...]:
        lr = number(group["lr"])
        if group["momentum"] == 0:
            return (lr,)
        return lr, number(group["momentum"]), 1.0 if key else 1.0 - group["dampening"]
