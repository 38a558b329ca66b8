"""Lists, tuples and dicts of anything, leaf by leaf."""

from __future__ import annotations

from typing import Any

from flambeau.jit import bridge


def leaves(tree: Any) -> list[Any]:
    """What is in lists, tuples and dicts, in order."""
    if isinstance(tree, list | tuple) and not isinstance(tree, bridge.Size):
        return [leaf for item in tree for leaf in leaves(item)]
    if isinstance(tree, dict):
        return [leaf for item in tree.values() for leaf in leaves(item)]
    return [tree]


def rebuilt(tree: Any, new: list[Any]) -> Any:
    """The same tree with other leaves, taken from the front of a list."""
    if isinstance(tree, list | tuple) and not isinstance(tree, bridge.Size):
        items = [rebuilt(item, new) for item in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else type(tree)(items)
    if isinstance(tree, dict):
        return {key: rebuilt(item, new) for key, item in tree.items()}
    return new.pop(0)


def shown(tree: Any) -> str:
    """What a tree is made of, in a message."""
    if isinstance(tree, list | tuple) and not isinstance(tree, bridge.Size):
        return f"{type(tree).__name__} of {', '.join(map(shown, tree)) or 'nothing'}"
    if isinstance(tree, dict):
        return f"dict with {', '.join(map(repr, tree)) or 'nothing'}"
    return "a tensor" if bridge.is_tensor(tree) else f"{tree!r:.40}"


def shape_of(tree: Any) -> Any:
    """What two trees must have in common for their leaves to be compared."""
    if isinstance(tree, list | tuple) and not isinstance(tree, bridge.Size):
        return type(tree), [shape_of(item) for item in tree]
    if isinstance(tree, dict):
        return dict, [(key, shape_of(item)) for key, item in tree.items()]
    return None
