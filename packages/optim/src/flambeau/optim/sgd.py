"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor

from ._checks import at_least_zero
from ._rows import SGD as PLAIN
from ._rows import SGD_MOMENTUM as MOMENTUM
from ._update import apply_update
from .optimizer import Optimizer, with_grad


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
        params = list(with_grad(group["params"]))
        if not params:
            return
        if group["momentum"] == 0:
            self._update_plain(group, params)
            return
        fresh = [param for param in params if not self._has_buffer(param)]
        if fresh:
            self._make_buffers(fresh)
            # The first direction is the gradient itself: no dampening.
            self._update_momentum(group, fresh, undamped=1.0)
            seen = {id(param) for param in fresh}
            params = [param for param in params if id(param) not in seen]
        if params:
            self._update_momentum(group, params, undamped=1.0 - group["dampening"])

    def _update_plain(self, group: dict[str, Any], params: list[Tensor]) -> None:
        tensors = (params, [param.grad for param in params])
        apply_update(PLAIN, tensors, (float(group["lr"]), group["weight_decay"], _sign(group)))

    def _update_momentum(
        self, group: dict[str, Any], params: list[Tensor], undamped: float
    ) -> None:
        buffers = [self.state[param]["momentum_buffer"] for param in params]
        scalars = (
            float(group["lr"]),
            group["momentum"],
            undamped,
            float(group["nesterov"]),
            group["weight_decay"],
            _sign(group),
        )
        apply_update(MOMENTUM, (params, buffers, [param.grad for param in params]), scalars)

    def _has_buffer(self, param: Tensor) -> bool:
        return self.state[param].get("momentum_buffer") is not None

    def _make_buffers(self, params: list[Tensor]) -> None:
        for param in params:
            self.state[param]["momentum_buffer"] = flambeau.zeros_like(param)


def _sign(group: dict[str, Any]) -> float:
    return -1.0 if group["maximize"] else 1.0
