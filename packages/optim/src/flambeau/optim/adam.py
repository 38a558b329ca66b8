"""Adam and AdamW: steps scaled by running averages of the gradient and of its square."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor

from ._checks import at_least_zero, check_betas, check_flags, check_rate
from ._fused import FusedOptimizer, Number, zeros
from ._rules import ADAM, ADAM_AMSGRAD, Rules


class Adam(FusedOptimizer):
    r"""Adam (Kingma and Ba, Adam: A Method for Stochastic Optimization, 2015).

    With gradient ``g`` (its negative if ``maximize``) plus ``weight_decay * p`` in step ``t``:
    ``m = beta1 * m + (1 - beta1) * g``, ``v = beta2 * v + (1 - beta2) * g**2``,
    ``p = p - lr * (m / (1 - beta1**t)) / (sqrt(v / (1 - beta2**t)) + eps)``;
    with ``amsgrad`` the greatest ``v`` so far replaces ``v`` (Reddi et al., On the
    Convergence of Adam and Beyond, 2018).

    Args:
        params: Parameters, (name, parameter) pairs, or dicts of either with options of their own.
        lr: The learning rate, a number or a tensor with one element.
        betas: Decay rates of the two averages.
        eps: Keeps the division away from zero.
        weight_decay: Factor of the parameter that is added to the gradient, or, with
            ``decoupled_weight_decay``, by which times ``lr`` the parameter shrinks.
        amsgrad: Never let the scale of the step grow again.
        foreach: Accepted for PyTorch's sake; the update is always one fused pass.
        maximize: Go up instead of down.
        capturable: Count steps on the parameters' device, so that a CUDA graph of a step can be
            replayed.
        differentiable: Record the step, so that gradients flow through it to what the
            gradients, the parameters and the options come from. Parameters are then no leaves.
        fused: Accepted, as ``foreach``.
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
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_rate(lr)
        at_least_zero(eps=eps, weight_decay=weight_decay)
        check_betas(betas)
        check_flags(foreach=foreach, fused=fused, differentiable=differentiable)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def _rules(self, group: dict[str, Any], key: Any) -> Rules:
        return ADAM_AMSGRAD if group["amsgrad"] else ADAM

    def _first_state(
        self, param: Tensor, group: dict[str, Any], number: Number = float
    ) -> dict[str, Any]:
        return zeros(param, "exp_avg", "exp_avg_sq", *["max_exp_avg_sq"] * group["amsgrad"])

    def _scalars(self, group: dict[str, Any], key: Any, number: Number = float) -> tuple[Any, ...]:
        beta1, beta2 = map(number, group["betas"])
        lr = number(group["lr"])
        root2 = (1.0 - beta2**key) ** 0.5
        step_size = lr * root2 / (1.0 - beta1**key)
        keep = 1.0 - lr * group["weight_decay"] if group["decoupled_weight_decay"] else 1.0
        return (-step_size, beta1, 1.0 - beta1, beta2, 1.0 - beta2, root2 * group["eps"], keep)


class AdamW(Adam):
    r"""Adam whose weight decay does not pass through the averages: first ``p = p * (1 - lr * wd)``
    (Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2019).

    Args:
        params: Parameters, (name, parameter) pairs, or dicts of either with options of their own.
        lr: The learning rate, a number or a tensor with one element.
        betas: Decay rates of the two averages.
        eps: Keeps the division away from zero.
        weight_decay: The decay ``wd``.
        amsgrad: Never let the scale of the step grow again.
        maximize: Go up instead of down.
        foreach: Accepted for PyTorch's sake; the update is always one fused pass.
        capturable: Count steps on the parameters' device, so that a CUDA graph of a step can be
            replayed.
        differentiable: Record the step, so that gradients flow through it to what the
            gradients, the parameters and the options come from. Parameters are then no leaves.
        fused: Accepted, as ``foreach``.

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
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
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
            foreach=foreach,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
