"""Adam and AdamW: steps scaled by running averages of the gradient and of its square."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import itemgetter
from typing import Any

import flambeau
from flambeau import Tensor

from ._checks import at_least_zero, check_betas
from ._rows import ADAM, ADAM_AMSGRAD
from ._update import apply_update
from .optimizer import Optimizer

# By row: what reads the averages among its operands from the state of a parameter.
_AVERAGES: dict[str, Any] = {row.name: itemgetter(*row.writes[1:]) for row in (ADAM, ADAM_AMSGRAD)}


class Adam(Optimizer):
    r"""Adam.

    With gradient ``g`` (its negative if ``maximize``) plus ``weight_decay * p`` in step ``t``:
    ``m = beta1 * m + (1 - beta1) * g``, ``v = beta2 * v + (1 - beta2) * g**2``,
    ``p = p - lr * (m / (1 - beta1**t)) / (sqrt(v / (1 - beta2**t)) + eps)``;
    with ``amsgrad`` the greatest ``v`` so far takes the place of ``v``.

    Args:
        params: Parameters, or dicts of parameters with options of their own.
        lr: The learning rate.
        betas: Decay rates of the two averages.
        eps: Keeps the division away from zero.
        weight_decay: Factor of the parameter that is added to the gradient, or, with
            ``decoupled_weight_decay``, by which times ``lr`` the parameter shrinks.
        amsgrad: Never let the scale of the step grow again.
        foreach: Accepted for PyTorch's sake; the update is always one fused pass.
        maximize: Go up instead of down.
        fused: Likewise accepted.
        decoupled_weight_decay: Decay as AdamW does.

    Raises:
        ValueError: A number is out of range.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> x = flambeau.tensor([1.0], requires_grad=True)
        >>> optimizer = optim.Adam([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x.detach()
        tensor([0.9000])
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        at_least_zero(lr=lr, eps=eps, weight_decay=weight_decay)
        check_betas(betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def _update_group(self, group: dict[str, Any]) -> None:
        row = ADAM_AMSGRAD if group["amsgrad"] else ADAM
        for step, operands in self._advance(group, _AVERAGES[row.name]).items():
            apply_update(row, operands, _scalars(group, step))

    def _advance(
        self, group: dict[str, Any], averages: Callable[[dict[str, Any]], tuple[Tensor, ...]]
    ) -> dict[int, list[tuple[Tensor, ...]]]:
        """Count a step for every parameter with a gradient; the operands by number of steps."""
        by_step: dict[int, list[tuple[Tensor, ...]]] = {}
        for param in group["params"]:
            grad = param.grad
            if grad is None:
                continue
            state = self.state[param]
            if not state:
                state.update(_first_state(param, group["amsgrad"]))
            step = state["step"] = state["step"] + 1
            by_step.setdefault(step, []).append((param, *averages(state), grad))
        return by_step


class AdamW(Adam):
    r"""Adam whose weight decay does not pass through the averages: first ``p = p * (1 - lr * wd)``.

    Args:
        params: Parameters, or dicts of parameters with options of their own.
        lr: The learning rate.
        betas: Decay rates of the two averages.
        eps: Keeps the division away from zero.
        weight_decay: The decay ``wd``.
        amsgrad: Never let the scale of the step grow again.
        maximize: Go up instead of down.
        foreach: Accepted for PyTorch's sake; the update is always one fused pass.
        fused: Likewise.

    Raises:
        ValueError: A number is out of range.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> x = flambeau.tensor([1.0], requires_grad=True)
        >>> optimizer = optim.AdamW([x], lr=0.1, weight_decay=0.5)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x.detach()
        tensor([0.8500])
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            maximize=maximize,
            decoupled_weight_decay=True,
        )


def _first_state(param: Tensor, amsgrad: bool) -> dict[str, Any]:
    names = ["exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if amsgrad else [])]
    return {"step": 0, **{name: flambeau.zeros_like(param) for name in names}}


def _scalars(group: dict[str, Any], step: int) -> tuple[float, ...]:
    """The run-time scalars of one step, in the row's order."""
    beta1, beta2 = map(float, group["betas"])
    lr = float(group["lr"])
    decay = group["weight_decay"]
    decoupled = group["decoupled_weight_decay"]
    return (
        lr / (1.0 - beta1**step),
        beta1,
        1.0 - beta1,
        beta2,
        1.0 - beta2,
        math.sqrt(1.0 - beta2**step),
        group["eps"],
        1.0 - lr * decay if decoupled else 1.0,
        0.0 if decoupled else decay,
        -1.0 if group["maximize"] else 1.0,
    )
