"""Hooks before ``forward`` that compute one parameter: putting them in, and finding them."""

from __future__ import annotations

from typing import Any

from ..modules.module import Module
from ..modules.module._hooks import hooks_of


def install(module: Module, hook: Any, title: str) -> None:
    """Register a hook that knows its ``name``, and tell it how to take itself out.

    Raises:
        RuntimeError: One of its kind is there already for the same parameter.
    """
    for other in hooks_of(module, "forward_pre"):
        if isinstance(other, type(hook)) and other.name == hook.name:
            raise RuntimeError(f"{title}: {hook.name!r} has one already; remove it first")
    hook.handle = module.register_forward_pre_hook(hook)


def find(module: Module, kind: type, name: str, title: str) -> Any:
    """The hook of one kind for one parameter.

    Raises:
        ValueError: There is none.
    """
    for hook in hooks_of(module, "forward_pre"):
        if isinstance(hook, kind) and getattr(hook, "name", None) == name:
            return hook
    raise ValueError(f"{title} of {name!r} not found in {type(module).__name__}")
