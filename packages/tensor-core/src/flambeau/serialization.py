"""``save`` and ``load`` under the name of the module that has them in PyTorch."""
from __future__ import annotations

import sys
from contextlib import nullcontext
from enum import Enum
from typing import TYPE_CHECKING, Any

from flambeau.core import load, save
from flambeau.core.io.checkpoint import byte_order

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LoadEndianness", "add_safe_globals", "get_default_load_endianness", "load",
           "safe_globals", "save", "set_default_load_endianness"]


class LoadEndianness(Enum):
    """The byte order of checkpoints that do not name theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


_chosen: list[LoadEndianness | None] = [None]


def get_default_load_endianness() -> LoadEndianness | None:
    """Return what ``set_default_load_endianness`` chose, None (little) when it did not."""
    return _chosen[0]


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Choose the byte order of checkpoints that do not name theirs.

    Args:
        endianness: The order, or None for little.

    Raises:
        TypeError: ``endianness`` is something else.
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("set_default_load_endianness(): takes a LoadEndianness or None, not "
                        f"{type(endianness).__name__}")
    is_big = endianness is LoadEndianness.BIG or (
        endianness is LoadEndianness.NATIVE and sys.byteorder == "big")
    byte_order["unnamed"] = "big" if is_big else "little"
    _chosen[0] = endianness


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
