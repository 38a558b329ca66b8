"""Checks of options, with one wording for all optimizers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau import Tensor


def check_rate(lr: Any) -> None:
    """Refuse a learning rate that is negative, nan or not one number.

    Raises:
        ValueError: Says what is wrong with it.
    """
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError(
            f"lr is a number or a tensor with one element, not of shape {tuple(lr.shape)}; give "
            "each parameter group an lr of its own instead"
        )
    at_least_zero(lr=lr)


def at_least_zero(**options: Any) -> None:
    """Refuse negative numbers and nan.

    Raises:
        TypeError: It is no number.
        ValueError: Names the option.
    """
    for name, value in options.items():
        if not hasattr(value, "__float__"):
            raise TypeError(f"{name} is a number, not {type(value).__name__}")
        if not value >= 0:
            raise ValueError(f"{name} is at least 0, not {value}")


def check_betas(betas: tuple[Any, Any]) -> None:
    """Refuse what is no pair of decay rates in ``[0, 1)``.

    Raises:
        TypeError: It is no sequence.
        ValueError: There are more or fewer than two, or names the position of the wrong one.
    """
    if not isinstance(betas, Sequence):
        raise TypeError(f"betas is a pair of numbers such as (0.9, 0.999), not {betas!r}")
    if len(betas) != 2:
        raise ValueError(f"betas is a pair of numbers such as (0.9, 0.999), not {len(betas)}")
    for i, beta in enumerate(betas):
        if not 0 <= beta < 1:
            raise ValueError(f"betas[{i}] is at least 0 and less than 1, not {beta}")


def check_flags(*, foreach: Any = None, fused: Any = None, differentiable: bool = False) -> None:
    """Refuse what PyTorch refuses.

    Raises:
        RuntimeError: The flags contradict each other.
    """
    if foreach and fused:
        raise RuntimeError("fused and foreach cannot both be True; leave both out")
    if fused and differentiable:
        raise RuntimeError(
            "fused does not support differentiable: a recorded step is many operations; leave "
            "fused out"
        )
