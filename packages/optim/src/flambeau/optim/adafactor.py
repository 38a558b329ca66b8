"""Adafactor: squares of gradients kept as one row and one column of a matrix."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.core import register_op
from flambeau.core.once import once

from ._checks import at_least_zero, check_rate
from ._rules import SHRINK_AND_MOVE
from ._update import apply_update
from .optimizer import Optimizer


class Adafactor(Optimizer):
    r"""Adafactor (Shazeer and Stern, Adaptive Learning Rates with Sublinear Memory Cost, 2018).

    In step ``t`` with gradient ``g`` (its negative if ``maximize``), ``w = t**beta2_decay`` and
    ``a = max(eps[1], rms(p)) * min(lr, 1 / sqrt(t))``: ``p = (1 - lr * weight_decay) * p``, and the
    means of ``g**2`` along the last two dimensions go into ``row`` and ``column`` with weight
    ``w``; ``v = row * column / max(mean(row), eps[0])``; ``u = g / sqrt(max(v, eps[0]**2))``;
    ``p = p - a * u / max(1, rms(u) / d)``. For vectors ``v`` is the average of ``g**2`` itself.

    A step needs one temporary of the size of the parameter, ``u``.

    Args:
        params: Parameters, (name, parameter) pairs, or dicts of either with options of their own.
        lr: The greatest relative step, a number or a tensor with one element.
        beta2_decay: The power of the step number by which the averages forget.
        eps: The least average and the least scale; for ``None`` the first is the dtype's own.
        d: The greatest root mean square of an update.
        weight_decay: By which times ``lr`` a parameter shrinks.
        foreach: Accepted for PyTorch's sake; there is one way here.
        maximize: Go up instead of down.

    Raises:
        ValueError: A number is out of range, or a parameter is complex.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> x = flambeau.tensor([1.0], requires_grad=True)
        >>> optimizer = optim.Adafactor([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x.detach()
        tensor([0.9000])
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_rate(lr)
        at_least_zero(weight_decay=weight_decay)
        at_least_zero(**{"eps[0]": eps[0] or 0.0, "eps[1]": eps[1]})
        if not beta2_decay <= 0:
            raise ValueError(f"beta2_decay is at most 0, not {beta2_decay}")
        if not d >= 1:
            raise ValueError(f"d is at least 1, not {d}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with options of their own.

        Args:
            param_group: As in ``Optimizer.add_param_group``.

        Raises:
            ValueError: A parameter is complex.
        """
        super().add_param_group(param_group)
        for param in self.param_groups[-1]["params"]:
            if param.is_complex():
                self.param_groups.pop()
                raise ValueError(
                    f"Adafactor is for real parameters, not {param.dtype}; optimize "
                    "view_as_real(parameter), or use another optimizer"
                )

    def _update_group(self, group: dict[str, Any]) -> None:
        lr = float(group["lr"])
        keep = 1.0 - lr * group["weight_decay"]
        sign = -1.0 if group["maximize"] else 1.0
        for param in group["params"]:
            if param.grad is None:
                continue
            step, update = self._direction(param, param.grad, group)
            if param.numel() == 0:
                continue
            size = max(group["eps"][1], _rms(param)) * min(lr, step**-0.5)
            size /= max(1.0, _rms(update) / group["d"])
            apply_update(SHRINK_AND_MOVE, [[param], [update]], (sign * size, keep))

    def _direction(
        self, param: Tensor, grad: Tensor, group: dict[str, Any]
    ) -> tuple[int, Tensor]:
        """The number of the step, and the gradient over the root of its average square."""
        state = self.state[param]
        if not state:
            state.update(_first_state(grad))
        step = state["step"] = state["step"] + 1
        least = group["eps"][0]
        least = flambeau.finfo(param.dtype).eps if least is None else least
        weight = step ** group["beta2_decay"]
        if "variance" in state:
            state["variance"].lerp_(grad * grad, weight)
            return step, _operator("scaled")(state["variance"], grad, least=least)
        rows = state["row_var"].lerp_(_mean_square(grad, -1), weight)
        columns = state["col_var"].lerp_(_mean_square(grad, -2), weight)
        mean = rows.mean(dim=-2, keepdim=True)
        return step, _operator("factored")(rows, columns, mean, grad, least=least)


_SCALED = "grad / sqrt(maximum({}, least * least))"
_FORMULAS = {
    "scaled": ("Operand var, Operand grad", _SCALED.format("var")),
    "factored": (
        "Operand rows, Operand columns, Operand mean, Operand grad",
        _SCALED.format("rows * columns / maximum(mean, least)"),
    ),
}


@once
def _operator(name: str) -> Any:
    operands, formula = _FORMULAS[name]
    schema = f"optim_adafactor_{name}({operands}, *, Float least)"
    return register_op(schema, float=formula, differentiable=False)


def _first_state(grad: Tensor) -> dict[str, Any]:
    if grad.ndim <= 1:
        return {"step": 0, "variance": flambeau.zeros_like(grad)}
    *outer, rows, columns = grad.shape
    return {
        "step": 0,
        "row_var": grad.new_zeros((*outer, rows, 1)),
        "col_var": grad.new_zeros((*outer, 1, columns)),
    }


def _mean_square(grad: Tensor, dim: int) -> Tensor:
    norm = grad.norm(dim=dim, keepdim=True)
    return norm.square_().div_(grad.shape[dim] or 1)


def _rms(tensor: Tensor) -> float:
    return float(tensor.norm()) / tensor.numel() ** 0.5
