"""Types of values that are being recorded."""

from __future__ import annotations

from typing import Any

from flambeau.fx.proxy import Proxy

__all__ = ["annotate"]


def annotate(val: Any, type: Any) -> Any:
    """Give a value a type, which generated code shows.

    Args:
        val: A proxy, which the type is noted for, or a value.
        type: The type.

    Returns:
        The value.

    Raises:
        RuntimeError: the proxy has another type.
    """
    if isinstance(val, Proxy):
        if val.node.type not in (None, type):
            raise RuntimeError(f"Annotating a value that already had a type: {val.node.type} and "
                               f"{type}")
        val.node.type = type
    return val
