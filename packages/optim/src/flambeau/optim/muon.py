"""Muon: momentum whose direction is made orthogonal, for weight matrices."""

from __future__ import annotations

import math
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.core import register_op
from flambeau.core.once import once

from ._checks import at_least_zero, check_rate
from ._rules import SHRINK_AND_MOVE
from ._update import apply_update
from .optimizer import Optimizer


class Muon(Optimizer):
    r"""Momentum orthogonalized by Newton-Schulz iterations (Jordan, Muon, 2024).

    With gradient ``g``: ``b = momentum * b + (1 - momentum) * g``, ``u = b``, or
    ``u = (1 - momentum) * g + momentum * b`` with ``nesterov``;
    ``X = u / max(|u|, eps)`` and ``ns_steps`` times ``X = a * X + (b * A + c * A @ A) @ X`` with
    ``A = X @ X.T``, on GPUs in bfloat16; ``p = (1 - lr * weight_decay) * p - lr * s * X`` with
    ``s = sqrt(max(1, rows / columns))``, or ``s = 0.2 * sqrt(max(rows, columns))`` with
    ``adjust_lr_fn="match_rms_adamw"`` (Liu et al., Muon is Scalable for LLM Training, 2025).

    It is for the weights of hidden layers; give biases, embeddings and all that is no matrix to
    another optimizer, e.g. ``AdamW``.

    Args:
        params: Matrices, (name, matrix) pairs, or dicts of either with options of their own.
        lr: The learning rate, a number or a tensor with one element.
        weight_decay: By which times ``lr`` a parameter shrinks.
        momentum: How much of the last direction is kept.
        nesterov: Look ahead along the momentum.
        ns_coefficients: ``a``, ``b`` and ``c``.
        eps: Keeps the division away from zero.
        ns_steps: The number of iterations, less than 100.
        adjust_lr_fn: ``"original"``, as ``None``, or ``"match_rms_adamw"``.

    Raises:
        ValueError: A parameter is no real matrix, or an option is out of range.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> x = flambeau.tensor([[3.0, 0.0], [0.0, 1.0]], requires_grad=True)
        >>> optimizer = optim.Muon([x], lr=0.1, weight_decay=0)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> [round(size, 1) for size in x.detach().diag().tolist()]
        [2.9, 0.9]
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_rate(lr)
        at_least_zero(momentum=momentum, weight_decay=weight_decay)
        if adjust_lr_fn not in (None, *_ADJUSTMENTS):
            raise ValueError(
                f"adjust_lr_fn is one of {', '.join(_ADJUSTMENTS)}, not {adjust_lr_fn!r}"
            )
        if ns_steps >= 100:
            raise ValueError(f"ns_steps is less than 100, not {ns_steps}; 5 are enough")
        if len(ns_coefficients) != 3:
            raise ValueError(f"ns_coefficients are three numbers, not {ns_coefficients}")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                _check_matrix(param)

    def _update_group(self, group: dict[str, Any]) -> None:
        pairs = [(param, param.grad) for param in group["params"] if param.grad is not None]
        if not pairs:
            return
        adjust = _ADJUSTMENTS[group["adjust_lr_fn"] or "original"]
        lr = float(group["lr"])
        keep = 1.0 - lr * group["weight_decay"]
        for param, grad in pairs:
            step_size = lr * adjust(*param.shape)
            columns = [[param], [self._direction(param, grad, group)]]
            apply_update(SHRINK_AND_MOVE, columns, (step_size, keep))

    def _direction(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> Tensor:
        momentum = group["momentum"]
        buffer = self._buffer(param).lerp_(grad, 1.0 - momentum)
        direction = grad.lerp(buffer, momentum) if group["nesterov"] else buffer
        coefficients, steps = group["ns_coefficients"], group["ns_steps"]
        return orthogonalized(direction, coefficients, steps, group["eps"])

    def _buffer(self, param: Tensor) -> Tensor:
        state = self.state[param]
        if not state:
            _check_matrix(param)
            state["momentum_buffer"] = flambeau.zeros_like(param)
        return state["momentum_buffer"]


_ADJUSTMENTS = {
    "original": lambda rows, columns: math.sqrt(max(1.0, rows / columns)),
    "match_rms_adamw": lambda rows, columns: 0.2 * math.sqrt(max(rows, columns)),
}


def _check_matrix(param: Tensor) -> None:
    if param.ndim != 2 or not param.is_floating_point():
        raise ValueError(
            f"Muon is for real matrices; got a parameter of shape {tuple(param.shape)} and "
            f"{param.dtype}. Give it to another optimizer, e.g. optim.AdamW"
        )


def orthogonalized(
    matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float
) -> Tensor:
    """A matrix with the same singular vectors and singular values near one.

    In bfloat16 where that is faster; processors multiply float32 at least as fast.
    """
    a, b, c = coefficients
    on_cpu = matrix.device.type == "cpu"
    x = matrix.to(flambeau.float32 if on_cpu else flambeau.bfloat16)
    is_tall = x.shape[0] > x.shape[1]
    x = x.t() if is_tall else x
    x = x / x.norm().clamp(min=eps)
    mix = _mix()
    for _ in range(steps):
        gram = x @ x.t()
        x = mix(x, mix(gram, gram @ gram, p=b, q=c) @ x, p=a, q=1.0)
    return x.t() if is_tall else x


@once
def _mix() -> Any:
    schema = "optim_muon_mix(Operand a, Operand b, *, Float p, Float q)"
    return register_op(schema, float="p * a + q * b", differentiable=False)
