"""Losses that are composed of other operators; none of them broadcasts in silence."""

from __future__ import annotations

import flambeau
from flambeau import Tensor

from ._core import ops


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Mean of ``-(y * log(x) + (1 - y) * log(1 - x))``, logarithms at least -100.

    Args:
        input: Probabilities ``x``, any shape.
        target: Probabilities ``y``, same shape.
        weight: Factor of every element.
        size_average: Deprecated; use ``reduction``.
        reduce: Deprecated; use ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: The shapes differ.

    Example:
        >>> import flambeau
        >>> half = flambeau.tensor([0.5])
        >>> binary_cross_entropy(half, flambeau.ones(1))
        tensor(0.6931)
    """
    check_same_shape("binary_cross_entropy", input, target)
    log_p = flambeau.clamp(flambeau.log(input), min=-100.0)
    log_q = flambeau.clamp(flambeau.log1p(-input), min=-100.0)
    losses = (target - 1) * log_q - target * log_p
    if weight is not None:
        losses = losses * weight
    return _reduce(losses, resolve_reduction(size_average, reduce, reduction))


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Mean of ``d**2 / (2 * beta)`` where ``d = abs(input - target) < beta``, else ``d - beta/2``.

    Args:
        input: Predictions, any shape.
        target: Same shape.
        size_average: Deprecated; use ``reduction``.
        reduce: Deprecated; use ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        beta: Where the parabola meets the line; 0 gives ``l1_loss``.

    Raises:
        ValueError: The shapes differ, or ``beta`` is negative.

    Example:
        >>> import flambeau
        >>> smooth_l1_loss(flambeau.tensor([0.0, 3.0]), flambeau.tensor([1.0, 0.0]))
        tensor(1.5000)
    """
    check_same_shape("smooth_l1_loss", input, target)
    if beta < 0:
        raise ValueError(f"smooth_l1_loss(): beta is at least 0, not {beta}")
    reduction = resolve_reduction(size_average, reduce, reduction)
    if beta == 0:
        return ops.l1_loss(input, target, reduction=reduction)
    return _reduce(_huber(input, target, beta) / beta, reduction)


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Mean of ``d**2 / 2`` where ``d = abs(input - target) < delta``, else ``delta*(d - delta/2)``.

    Args:
        input: Predictions, any shape.
        target: Same shape.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        delta: Where the parabola meets the line.
        weight: Factor of every element; ``"mean"`` then divides by its sum.

    Raises:
        ValueError: The shapes differ, or ``delta`` is not positive.

    Example:
        >>> import flambeau
        >>> huber_loss(flambeau.tensor([0.0, 3.0]), flambeau.tensor([1.0, 0.0]))
        tensor(1.5000)
    """
    check_same_shape("huber_loss", input, target)
    if delta <= 0:
        raise ValueError(f"huber_loss(): delta is greater than 0, not {delta}")
    reduction = resolve_reduction(None, None, reduction)
    losses = _huber(input, target, delta)
    if weight is None:
        return _reduce(losses, reduction)
    check_same_shape("huber_loss", input, weight, "weight")
    losses = losses * weight
    return losses.sum() / weight.sum() if reduction == "mean" else _reduce(losses, reduction)


def check_same_shape(name: str, input: Tensor, target: Tensor, role: str = "target") -> None:
    """Refuse different shapes: broadcast, they would give a loss of unrelated pairs.

    Raises:
        ValueError: The shapes differ.
    """
    if input.shape != target.shape:
        raise ValueError(
            f"{name}(): input has shape {list(input.shape)} and {role} {list(target.shape)}; a "
            f"loss does not broadcast in silence: reshape one of them ({role}.view_as(input)), or "
            f"broadcast on purpose with {role}.expand_as(input)"
        )


def _huber(input: Tensor, target: Tensor, delta: float) -> Tensor:
    distance = flambeau.abs(input - target)
    parabola = 0.5 * distance * distance
    return flambeau.where(distance < delta, parabola, delta * (distance - 0.5 * delta))


def resolve_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """``reduction``, unless the two flags of PyTorch's first versions are used.

    Raises:
        ValueError: One of the three has no meaning.
    """
    for name, flag in (("size_average", size_average), ("reduce", reduce)):
        if flag is not None and not isinstance(flag, bool):
            raise ValueError(f"{name} is True, False or None, not {flag!r}; write reduction=...")
    if reduce is False:
        return "none"
    if size_average is not None or reduce is not None:
        return "sum" if size_average is False else "mean"
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f'reduction is "mean", "sum" or "none", not {reduction!r}')
    return reduction


def _reduce(losses: Tensor, reduction: str) -> Tensor:
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.mean()
