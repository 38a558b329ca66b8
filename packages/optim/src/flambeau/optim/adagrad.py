"""Adagrad: steps that shrink with the squares of all gradients so far."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor

from ._checks import at_least_zero, check_flags, check_rate
from ._fused import FusedOptimizer, Number
from ._rules import ADAGRAD, Rules
from ._sparse import at_rows, refuse_decay


class Adagrad(FusedOptimizer):
    r"""Adagrad (Duchi et al., Adaptive Subgradient Methods for Online Learning, 2011).

    With gradient ``g`` (its negative if ``maximize``) plus ``weight_decay * p`` in step ``t``:
    ``s = s + g**2``, ``p = p - lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps)``.

    Args:
        params: Parameters, (name, parameter) pairs, or dicts of either with options of their
            own.
        lr: The learning rate, a number or a tensor with one element.
        lr_decay: How fast the learning rate falls.
        weight_decay: Factor of the parameter that is added to the gradient.
        initial_accumulator_value: What the sums of squares begin with.
        eps: Keeps the division away from zero.
        foreach: Accepted for PyTorch's sake; the update is always one fused pass.
        maximize: Go up instead of down.
        differentiable: Record the step, so that gradients flow through it to what the
            gradients, the parameters and the options come from. Parameters are then no leaves.
        fused: Accepted, as ``foreach``.

    Raises:
        ValueError: A number is out of range.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> x = flambeau.tensor([1.0], requires_grad=True)
        >>> optimizer = optim.Adagrad([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x.detach()
        tensor([0.9000])
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        at_least_zero(
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )
        check_flags(foreach=foreach, fused=fused, differentiable=differentiable)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

        for group in self.param_groups:
            for param in group["params"]:
                param.numel()  # an uninitialized parameter, which has no shape yet, refuses
                self.state[param].update(self._first_state(param, group))

    def _rules(self, group: dict[str, Any], key: Any) -> Rules:
        return ADAGRAD

    def _first_state(
        self, param: Tensor, group: dict[str, Any], number: Number = float
    ) -> dict[str, Any]:
        value = group["initial_accumulator_value"]
        first = complex(value, value) if param.is_complex() else value
        return {"step": 0, "sum": flambeau.full_like(param.detach(), first)}

    def _update_sparse(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        refuse_decay(group)
        state = self.state[param]
        key = self._advance(param, state, group)
        grad = grad.coalesce()
        values = grad.values()
        if not values.numel():
            return
        rate, eps = self._scalars(group, key)
        sums = state["sum"]
        sums.add_(at_rows(grad, values * values))
        scale = sums.sparse_mask(grad).values().sqrt_().add_(eps)
        param.add_(at_rows(grad, values / scale), alpha=-rate)

    def _scalars(self, group: dict[str, Any], key: Any, number: Number = float) -> tuple[Any, ...]:
        return number(group["lr"]) / (1.0 + (key - 1) * group["lr_decay"]), group["eps"]
