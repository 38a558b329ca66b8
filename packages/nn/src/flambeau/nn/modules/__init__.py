"""Layers, containers and losses, one family per file; ``flambeau.nn`` exports them.

They can be taken from here, too: ``from flambeau.nn.modules import Linear``.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any


def __getattr__(name: str) -> Any:
    """What ``flambeau.nn`` exports from the files of this folder."""
    from flambeau import nn

    if name in nn.__all__ and not isinstance(getattr(nn, name), ModuleType):
        return getattr(nn, name)
    if name == "utils":         # a file here, too, which nothing has imported yet
        return importlib.import_module(f"{__name__}.utils")
    if name == "__all__":       # of `from flambeau.nn.modules import *`
        exported = {name: getattr(nn, name) for name in nn.__all__}
        return [name for name, value in exported.items()
                if isinstance(value, type) and issubclass(value, nn.Module)]
    raise AttributeError(f"module 'flambeau.nn.modules' has no attribute {name!r}")
