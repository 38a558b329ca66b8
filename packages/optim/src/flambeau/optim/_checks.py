"""Checks of options."""

from __future__ import annotations


def at_least_zero(**options: float) -> None:
    """Refuse negative numbers and nan.

    Raises:
        ValueError: Names the option.
    """
    for name, value in options.items():
        if not value >= 0:
            raise ValueError(f"{name} is at least 0, not {value}")


def check_betas(betas: tuple[float, float]) -> None:
    """Refuse decay rates outside ``[0, 1)``.

    Raises:
        ValueError: Names the position.
    """
    for i, beta in enumerate(betas):
        if not 0 <= beta < 1:
            raise ValueError(f"betas[{i}] is at least 0 and less than 1, not {beta}")
