"""``save`` and ``load`` under the name of the module that has them in PyTorch."""
from __future__ import annotations

import sys
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Any

from flambeau.core import load, save
from flambeau.core.io import permission
from flambeau.core.io.checkpoint import byte_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["LoadEndianness", "add_safe_globals", "clear_safe_globals",
           "get_default_load_endianness", "get_safe_globals",
           "get_unsafe_globals_in_checkpoint", "load", "safe_globals", "save",
           "set_default_load_endianness"]


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
    """Permit ``load`` to make objects of these classes, and to call these functions.

    Args:
        safe_globals: Classes and functions, or pairs of one and the name that files give it.

    Raises:
        TypeError: Something else.

    Example:
        >>> import tempfile, os, argparse, flambeau
        >>> path = os.path.join(tempfile.mkdtemp(), "x.pt")
        >>> flambeau.save({"options": argparse.Namespace(lr=0.1)}, path)
        >>> flambeau.serialization.add_safe_globals([argparse.Namespace])
        >>> flambeau.load(path)
        {'options': Namespace(lr=0.1)}
    """
    permission.grant(list(safe_globals))


def get_safe_globals() -> list[Any]:
    """Return what ``add_safe_globals`` permitted."""
    return list(permission.granted().values())


def clear_safe_globals() -> None:
    """Take back all that ``add_safe_globals`` permitted."""
    permission.restore({})


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """Return the names that a file asks for and that ``load`` would refuse, without loading it.

    Args:
        f: Path, or a binary file open for reading, of a checkpoint of PyTorch or of Flambeau.

    Returns:
        Names such as ``"argparse.Namespace"``, sorted, for ``add_safe_globals``.

    Raises:
        FileError: The file is damaged, or of another format.

    Example:
        >>> import tempfile, os, types, flambeau
        >>> path = os.path.join(tempfile.mkdtemp(), "x.pt")
        >>> flambeau.save({"options": types.SimpleNamespace(lr=0.1)}, path)
        >>> flambeau.serialization.get_unsafe_globals_in_checkpoint(path)
        ['types.SimpleNamespace']
    """
    from flambeau.core.io.asked import names_asked

    return sorted(name for name in names_asked(f) if not permission.is_permitted(name))


@contextmanager
def safe_globals(safe_globals: Sequence[Any]) -> Iterator[None]:
    """``add_safe_globals`` for a block.

    Args:
        safe_globals: Classes and functions, or pairs of one and the name that files give it.
    """
    before = permission.granted()
    permission.grant(list(safe_globals))
    try:
        yield
    finally:
        permission.restore(before)
