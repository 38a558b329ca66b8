"""``SparseAdam``: Adam for gradients that hold few of the elements."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor

from ._checks import check_rate
from ._sparse import at_rows
from .optimizer import Optimizer


class SparseAdam(Optimizer):
    r"""Adam for sparse gradients, such as those of ``nn.Embedding(sparse=True)``.

    Only elements that the gradient holds are updated, and only their averages change. With
    gradient ``g`` (its negative if ``maximize``) in step ``t``:
    ``m = m + (1 - betas[0]) * (g - m)``, ``v = v + (1 - betas[1]) * (g**2 - v)``,
    ``p = p - lr * sqrt(1 - betas[1]**t) / (1 - betas[0]**t) * m / (sqrt(v) + eps)``.

    Args:
        params: Parameters, (name, parameter) pairs, or dicts of either with options of their
            own.
        lr: The learning rate, a number or a tensor with one element.
        betas: How much of the averages is kept.
        eps: Keeps the division away from zero.
        maximize: Go up instead of down.

    Raises:
        ValueError: A number is out of range, or a parameter is sparse itself.
        RuntimeError: In a step, where a gradient is dense.

    Example:
        >>> import flambeau
        >>> from flambeau import nn, optim
        >>> table = nn.Embedding(3, 1, sparse=True, _weight=flambeau.zeros(3, 1))
        >>> optimizer = optim.SparseAdam(table.parameters(), lr=0.1)
        >>> table(flambeau.tensor([1])).sum().backward()
        >>> optimizer.step()
        >>> table.weight.detach().view(-1)
        tensor([ 0.0000, -0.1000,  0.0000])
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_rate(lr)
        if not float(lr) > 0:
            raise ValueError(f"Invalid learning rate: {lr}; it must be above zero")
        if not eps > 0:
            raise ValueError(f"Invalid epsilon value: {eps}; it must be above zero")
        for i, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(
                    f"Invalid beta parameter at index {i}: {beta}; it is in [0, 1)"
                )
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        for group in self.param_groups:
            for param in group["params"]:
                if flambeau.core._core.is_sparse_object(param):
                    raise ValueError(
                        "SparseAdam requires dense parameter tensors: gradients are sparse, "
                        "parameters are not; pass x.to_dense()"
                    )

    def _update_groups(self) -> None:
        with flambeau.no_grad():
            for group in self.param_groups:
                for param in group["params"]:
                    if param.grad is not None:
                        self._update(param, group)

    def _update(self, param: Tensor, group: dict[str, Any]) -> None:
        found: Any = param.grad
        if not found.is_sparse:
            raise RuntimeError(
                "SparseAdam does not support dense gradients, please consider Adam instead: "
                "nn.Embedding(..., sparse=True) makes sparse ones"
            )
        state = self.state[param]
        if not state:
            plain = param.detach()
            state["step"] = 0
            state["exp_avg"] = flambeau.zeros_like(plain)
            state["exp_avg_sq"] = flambeau.zeros_like(plain)
        state["step"] += 1
        grad = found.detach().coalesce()
        values = grad.values()
        if not values.numel():
            return
        values = -values if group["maximize"] else values
        first, second = group["betas"]
        mean = _move(state["exp_avg"], grad, values, 1 - first)
        square = _move(state["exp_avg_sq"], grad, values * values, 1 - second)
        step = state["step"]
        size = float(group["lr"]) * (1 - second**step) ** 0.5 / (1 - first**step)
        moved = mean.div_(square.sqrt_().add_(group["eps"])).mul_(-size)
        param.add_(at_rows(grad, moved))


def _move(average: Tensor, grad: Tensor, values: Tensor, share: float) -> Tensor:
    """Let an average go towards values where the gradient has elements; what it is there."""
    before = average.sparse_mask(grad).values()
    change = (values - before).mul_(share)
    average.add_(at_rows(grad, change))
    return before.add_(change)
