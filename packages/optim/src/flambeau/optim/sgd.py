"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor

from ._checks import at_least_zero
from ._rows import SGD as PLAIN
from ._rows import SGD_MOMENTUM as MOMENTUM
from ._update import apply_update
from .optimizer import Optimizer


class SGD(Optimizer):
    r"""Stochastic gradient descent, with momentum if wanted.

    With gradient ``g`` (its negative if ``maximize``) plus ``weight_decay * p``:
    ``p = p - lr * g`` without momentum; otherwise ``b = momentum * b + (1 - dampening) * g``
    (``b = g`` in the first step) and ``p = p - lr * b``, or
    ``p = p - lr * (g + momentum * b)`` with ``nesterov``.

    Args:
        params: Parameters, or dicts of parameters with options of their own.
        lr: The learning rate.
        momentum: How much of the last direction is kept.
        dampening: How much the gradient is weakened when there is momentum.
        weight_decay: Factor of the parameter that is added to the gradient.
        nesterov: Look ahead along the momentum.
        maximize: Go up instead of down.
        foreach: Accepted for PyTorch's sake; the update is always one fused pass.
        fused: Likewise.

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
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
    ) -> None:
        at_least_zero(lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("nesterov=True needs momentum > 0 and dampening = 0")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _update_group(self, group: dict[str, Any]) -> None:
        pairs = [(p, p.grad) for p in group["params"] if p.grad is not None]
        if not pairs:
            return
        lr, decay = float(group["lr"]), group["weight_decay"]
        sign = -1.0 if group["maximize"] else 1.0
        if group["momentum"] == 0:
            apply_update(PLAIN, pairs, (lr, decay, sign))
            return
        for undamped, operands in self._with_buffers(pairs, group["dampening"]):
            scalars = (lr, group["momentum"], undamped, float(group["nesterov"]), decay, sign)
            apply_update(MOMENTUM, operands, scalars)

    def _with_buffers(
        self, pairs: list[tuple[Tensor, Tensor]], dampening: float
    ) -> list[tuple[float, list[tuple[Tensor, ...]]]]:
        """The operands with their buffers, those in their first step apart.

        The first direction is the gradient itself, so it is not damped.
        """
        fresh, old = [], []
        for param, grad in pairs:
            state = self.state[param]
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = flambeau.zeros_like(param)
                fresh.append((param, buffer, grad))
            else:
                old.append((param, buffer, grad))
        steps = ((1.0, fresh), (1.0 - dampening, old))
        return [(undamped, operands) for undamped, operands in steps if operands]
