"""Rprop: a step size for every element, by the signs of its gradients."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor

from ._checks import check_flags, check_rate
from ._fused import FusedOptimizer, Number, zeros
from ._rules import RPROP, Rules


class Rprop(FusedOptimizer):
    r"""Resilient propagation (Riedmiller and Braun, The RPROP Algorithm, 1993).

    With gradient ``g`` (its negative if ``maximize``) and the last one ``h``: where ``g * h > 0``
    the step size ``s`` grows by ``etas[1]``, where ``g * h < 0`` it shrinks by ``etas[0]`` and
    ``g`` is taken to be 0; ``p = p - s * sign(g)``.

    Args:
        params: Parameters, (name, parameter) pairs, or dicts of either with options of their
            own.
        lr: The first step size.
        etas: The factors of shrinking and growth.
        step_sizes: The least and the greatest step size.
        capturable: Count steps on the parameters' device, so that a CUDA graph of a step can be
            replayed.
        foreach: Accepted for PyTorch's sake; the update is always one fused pass.
        maximize: Go up instead of down.
        differentiable: Record the step, so that gradients flow through it to what the
            gradients, the parameters and the options come from. Parameters are then no leaves.

    Raises:
        ValueError: A number is out of range.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> x = flambeau.tensor([1.0], requires_grad=True)
        >>> optimizer = optim.Rprop([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x.detach()
        tensor([0.9000])
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check_flags(foreach=foreach, differentiable=differentiable)
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f"etas are 0 < etas[0] < 1 < etas[1], not {etas}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _rules(self, group: dict[str, Any], key: Any) -> Rules:
        return RPROP

    def _decays(self, group: dict[str, Any]) -> bool:
        return False

    def _first_state(
        self, param: Tensor, group: dict[str, Any], number: Number = float
    ) -> dict[str, Any]:
        ones = flambeau.full_like(param.detach(), 1 + 1j if param.is_complex() else 1)
        size = (ones * number(group["lr"])).to(param.dtype)
        return {**zeros(param, "prev"), "step_size": size}

    def _advance(
        self, param: Tensor, state: dict[str, Any], group: dict[str, Any], number: Number = float
    ) -> Any:
        """The update does not depend on the step."""
        state["step"] += 1

    def _scalars(self, group: dict[str, Any], key: Any, number: Number = float) -> tuple[Any, ...]:
        return (*group["etas"], *group["step_sizes"])
