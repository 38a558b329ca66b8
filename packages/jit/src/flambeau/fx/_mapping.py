"""Functions applied to what is nested in arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flambeau.fx.immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:
    from flambeau.fx.node import Node


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """Apply a function to every node within an argument.

    Args:
        a: Nested tuples, lists, dicts and slices.
        fn: Called with each node; its result takes the node's place.

    Returns:
        The argument with the results, its lists and dicts immutable.

    Raises:
        AssertionError: ``fn`` is not callable.
    """
    from flambeau.fx.node import Node

    if not callable(fn):
        raise AssertionError("map_arg(arg, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """Apply a function to everything within an argument that is no tuple, list, dict or slice.

    Args:
        a: Nested tuples, lists, dicts and slices.
        fn: Called with each leaf; its result takes the leaf's place.

    Returns:
        The argument with the results, its lists and dicts immutable.

    Example:
        >>> from flambeau.fx.node import map_aggregate
        >>> map_aggregate({"a": (1, [2])}, lambda x: x + 1)
        {'a': (2, [3])}
    """
    if isinstance(a, tuple):
        items = [map_aggregate(each, fn) for each in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(each, fn) for each in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(each, fn) for key, each in a.items()})
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn),
                     map_aggregate(a.step, fn))
    return fn(a)


def _format_arg(arg: Any, max_list_len: float = float("inf")) -> str:
    """An argument as a graph is printed: nodes with ``%``, strings without quotes."""
    if hasattr(arg, "_custom_fx_repr_fn"):
        return str(arg._custom_fx_repr_fn())
    if isinstance(arg, list | tuple):
        shown = [_format_arg(each) for each in arg[:int(min(max_list_len, len(arg)))]]
        if len(arg) > max_list_len:
            shown.append(f"...[total_len={len(arg)}]")
        inside = ", ".join(shown)
        if isinstance(arg, list):
            return f"[{inside}]"
        return f"({inside},)" if len(arg) == 1 else f"({inside})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_format_arg(each)}" for key, each in arg.items()) + "}"
    from flambeau.fx.node import Node

    return f"%{arg}" if isinstance(arg, Node) else str(arg)
