"""``set_multithreading_enabled``: a switch of PyTorch's that changes nothing here."""
from __future__ import annotations

import threading

__all__ = ["is_multithreading_enabled", "set_multithreading_enabled"]

_thread = threading.local()


def is_multithreading_enabled() -> bool:
    """What ``set_multithreading_enabled`` was told last in this thread.

    Returns:
        bool

    Example:
        >>> import flambeau
        >>> flambeau.autograd.is_multithreading_enabled()
        True
    """
    return getattr(_thread, "enabled", True)


class set_multithreading_enabled:
    """Allow or forbid other threads in backward passes; as a context manager, for its block.

    Accepted as in PyTorch: a backward pass runs in the thread that began it with either value.

    Args:
        mode: whether other threads may take part.

    Example:
        >>> import flambeau
        >>> with flambeau.autograd.set_multithreading_enabled(False):
        ...     flambeau.autograd.is_multithreading_enabled()
        False
    """

    def __init__(self, mode: bool) -> None:
        self._before = is_multithreading_enabled()
        self.mode = mode
        _thread.enabled = mode

    def __enter__(self) -> None:
        _thread.enabled = self.mode

    def __exit__(self, *exception: object) -> None:
        _thread.enabled = self._before
