"""Module paths for profilers and error texts: each call opens a scope while somebody reads them."""

from __future__ import annotations

import threading
from typing import Any

from flambeau.core import scope

from ._calls import call_with_hooks

_running = threading.local()


def call_in_scope(module: Any, args: tuple, kwargs: dict) -> Any:
    """Call a module inside a scope named as in the module around it, or by its class."""
    stack = _running.__dict__.setdefault("modules", [])
    name = _name_in(stack[-1], module) if stack else type(module).__name__
    stack.append(module)
    try:
        with scope(name):
            return call_with_hooks(module, args, kwargs)
    finally:
        stack.pop()


def _name_in(outer: Any, inner: Any) -> str:
    """The path from one module to another below it."""
    for path, module in outer.named_modules():
        if module is inner and path:
            return str(path)
    return type(inner).__name__
