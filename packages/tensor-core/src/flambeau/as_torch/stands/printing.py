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


def _str(self: Tensor, *, tensor_contents: str | None = None) -> str:
    """The text of a tensor."""
    return repr(self)
