"""How a module prints: its submodules as an indented tree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def indent(text: str, spaces: int = 2) -> str:
    """Indent every line but the first."""
    return text.replace("\n", "\n" + " " * spaces)


def show(name: str, extra: str, children: Iterable[tuple[str, Any]]) -> str:
    """``Name(extra)`` on one line, or with a line for every child.

    Args:
        name: The name of the class.
        extra: What ``extra_repr`` gives.
        children: (label, module) pairs.
    """
    lines = [f"({label}): {indent(repr(module))}" for label, module in children]
    extra_lines = extra.split("\n") if extra else []
    if not lines and len(extra_lines) <= 1:
        return f"{name}({extra})"
    body = "\n  ".join([*extra_lines, *lines])
    return f"{name}(\n  {body}\n)"
