"""What programs take from `torch._tensor_str`: options of printing, and a tensor's text."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import flambeau
from flambeau.core import Tensor, printing

set_printoptions = flambeau.set_printoptions


class _Options:
    """The options in force, as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return printing._OPTIONS[name]
        except KeyError:
            raise AttributeError(name) from None


PRINT_OPTS = _Options()


def get_printoptions() -> dict[str, Any]:
    """The options in force."""
    return dict(printing._OPTIONS)


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Print with other options inside a ``with`` block."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        printing._OPTIONS.update(before)


def _str_intern(inp: Tensor, *, tensor_contents: str | None = None) -> str:
    """The text of a tensor, with other contents than its numbers."""
    return printing.tensor_text(inp, tensor_contents)


def _str(self: Tensor, *, tensor_contents: str | None = None) -> str:
    """The text of a tensor."""
    return repr(self) if tensor_contents is None else _str_intern(
        self, tensor_contents=tensor_contents)


def _tensor_str(self: Tensor, indent: int) -> str:
    """The numbers of a tensor alone, lines after the first indented."""
    return printing.numbers_text(self, indent)


def _add_suffixes(tensor_str: str, suffixes: list[str], indent: int, force_newline: bool) -> str:
    """A text such as ``Index([1, 2]`` with what follows the numbers, and the bracket."""
    if force_newline and suffixes:
        first, *suffixes = suffixes
        tensor_str += ",\n" + " " * indent + first
    return printing.with_suffixes(tensor_str, suffixes, indent)
