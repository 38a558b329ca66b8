"""``save`` and ``load`` under the name of the module that has them in PyTorch."""
from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from flambeau.core import load, save

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["add_safe_globals", "load", "safe_globals", "save"]


def add_safe_globals(safe_globals: Sequence[Any]) -> None:
    """Do nothing: files hold containers, numbers, strings and tensors, and no other objects.

    Args:
        safe_globals: Classes that PyTorch may make from a file.
    """


def safe_globals(safe_globals: Sequence[Any]) -> nullcontext[None]:
    """``add_safe_globals`` for a block.

    Args:
        safe_globals: Classes that PyTorch may make from a file.
    """
    return nullcontext()
