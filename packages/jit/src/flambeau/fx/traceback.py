"""What nodes that are being recorded take over from others: where they came from."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

__all__ = ["annotate", "format_stack", "get_current_meta", "has_preserved_node_meta",
           "preserve_node_meta", "set_current_meta", "set_stack_trace"]

_current: dict[str, Any] = {}
_preserving = False


@contextlib.contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Within a ``with`` block new nodes get the ``meta`` of the node that is being run.

    Args:
        enable: False changes nothing.
    """
    global _preserving, _current
    former, meta = _preserving, _current
    _preserving = enable or former
    try:
        yield
    finally:
        _preserving, _current = former, meta


def has_preserved_node_meta() -> bool:
    """Whether new nodes get the ``meta`` of the node that is being run."""
    return _preserving


def get_current_meta() -> dict[str, Any]:
    """The ``meta`` that new nodes get."""
    return _current


def set_stack_trace(stack: list[str]) -> None:
    """Give new nodes a stack trace.

    Args:
        stack: The lines of the trace.
    """
    if _preserving and stack:
        _current["stack_trace"] = "".join(stack)


def format_stack() -> list[str]:
    """The lines of the stack trace that new nodes get, else of the one here."""
    import traceback

    if _preserving:
        return [_current.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


@contextlib.contextmanager
def set_current_meta(node: Any, pass_name: str = "") -> Iterator[None]:
    """Within a ``with`` block new nodes are made from a node.

    Args:
        node: Where their ``meta`` comes from.
        pass_name: The pass that makes them.
    """
    global _current
    if not _preserving or not node.meta:
        yield
        return
    former = _current
    _current = copy.copy(node.meta)
    _current["from_node"] = [*_current.get("from_node", []), (node.name, node.target)]
    try:
        yield
    finally:
        _current = former


@contextlib.contextmanager
def annotate(annotation: dict[str, Any]) -> Iterator[None]:
    """Within a ``with`` block new nodes have an entry ``custom`` in their ``meta``.

    Args:
        annotation: The entry's items, beside those of blocks outside.
    """
    global _current
    former = _current
    _current = {**former, "custom": {**former.get("custom", {}), **annotation}}
    try:
        yield
    finally:
        _current = former
