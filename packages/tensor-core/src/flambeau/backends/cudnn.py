"""Settings of cuDNN, which is not used; accepted, and without effect."""
from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["flags", "is_acceptable", "is_available", "version"]

enabled = False
benchmark = False
benchmark_limit = 10
deterministic = True
allow_tf32 = False


def is_available() -> bool:
    """False: cuDNN is not used."""
    return False


def is_acceptable(tensor: object) -> bool:
    """False: cuDNN is not used.

    Args:
        tensor: A tensor.
    """
    return False


def version() -> None:
    """None: cuDNN is not used."""


@contextmanager
def flags(enabled: bool = False, benchmark: bool = False, benchmark_limit: int = 10,
          deterministic: bool = False, allow_tf32: bool = True) -> Iterator[None]:
    """Change settings for a block.

    Args:
        enabled: The setting of this name, as are the others.
        benchmark: See there.
        benchmark_limit: See there.
        deterministic: See there.
        allow_tf32: See there.
    """
    wanted = {"enabled": enabled, "benchmark": benchmark, "benchmark_limit": benchmark_limit,
              "deterministic": deterministic, "allow_tf32": allow_tf32}
    settings = vars(sys.modules[__name__])
    before = {name: settings[name] for name in wanted}
    settings.update(wanted)
    try:
        yield
    finally:
        settings.update(before)
