"""Other modules of PyTorch's in which its public names lie, too, and programs import them from.

`tools/pytorch_aliases.py` makes the table, which is read when a name is looked for in vain.
"""
from __future__ import annotations

import functools
import os

from flambeau.as_torch.naming import homes_in

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pytorch_aliases.txt")


@functools.cache
def _homes() -> dict[str, dict[str, str]]:
    """Module -> name in it -> the public module that has the same object."""
    return homes_in(FILE)


def public_home(module: str, name: str) -> str | None:
    """The public module that has ``torch.module.name``; None: the table does not say.

    Args:
        module: A dotted name without ``torch``.
        name: The name in it.
    """
    return _homes().get(module, {}).get(name)
