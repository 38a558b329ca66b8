"""Python's ``multiprocessing``; tensors that are sent to other processes are copied."""
from __future__ import annotations

import multiprocessing as _multiprocessing
from multiprocessing import *  # noqa: F403

__all__ = [*_multiprocessing.__all__, "get_all_sharing_strategies",  # noqa: PLE0604
           "get_sharing_strategy", "set_sharing_strategy"]

_STRATEGY = "file_system"


def get_all_sharing_strategies() -> set[str]:
    """The names that ``set_sharing_strategy`` takes."""
    return {_STRATEGY, "file_descriptor"}


def get_sharing_strategy() -> str:
    """The name of the one way in which tensors are sent: as bytes."""
    return _STRATEGY


def set_sharing_strategy(new_strategy: str) -> None:
    """Accept a name; tensors are sent as bytes, whatever is said.

    Args:
        new_strategy: One of ``get_all_sharing_strategies``.

    Raises:
        ValueError: it is none of them.
    """
    if new_strategy not in get_all_sharing_strategies():
        raise ValueError(f"set_sharing_strategy(): new_strategy is one of "
                         f"{sorted(get_all_sharing_strategies())}, got {new_strategy!r}")
