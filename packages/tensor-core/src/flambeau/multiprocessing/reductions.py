"""How tensors are sent to other processes: by the memory that both of them see."""
from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import Any

from flambeau.core import copying

__all__ = ["ForkingPickler", "init_reductions", "reduce_tensor"]


def init_reductions() -> None:
    """Share the memory of tensors that are sent from now on."""
    copying.sent_are_shared = True


def reduce_tensor(tensor: Any) -> tuple[Any, ...]:
    """A function and its arguments that make a tensor again.

    Args:
        tensor: Any tensor.

    Returns:
        What ``__reduce_ex__`` gives.

    Example:
        >>> import flambeau
        >>> make, args = flambeau.multiprocessing.reductions.reduce_tensor(flambeau.ones(2))
        >>> make(*args)
        tensor([1., 1.])
    """
    found: tuple[Any, ...] = copying.reduce_tensor(tensor)
    return found
