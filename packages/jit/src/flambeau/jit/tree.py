"""Nested lists, tuples and dicts with tensors at their leaves, as a specification and a list."""

from __future__ import annotations

from typing import Any

from flambeau.jit import bridge
from flambeau.jit.errors import ProgramError

Spec = dict[str, Any]


def flatten(tree: Any, tensors: list[Any]) -> Spec:
    """Append the tensors of a tree to a list; what describes the rest of it.

    Raises:
        TypeError: the tree holds something else.
    """
    if bridge.is_tensor(tree):
        tensors.append(tree)
        return {"tensor": len(tensors) - 1}
    if isinstance(tree, dict):
        if not all(isinstance(key, str) for key in tree):
            raise TypeError("the keys of a dict that goes in or out must be strings")
        return {"dict": {key: flatten(item, tensors) for key, item in tree.items()}}
    if isinstance(tree, list | tuple):
        kind = "list" if isinstance(tree, list) else "tuple"
        return {kind: [flatten(item, tensors) for item in tree]}
    if tree is None or isinstance(tree, bool | int | float | str):
        return {"is": tree}
    raise TypeError(
        f"a {type(tree).__name__} cannot go in or out of what is traced: only tensors, numbers, "
        "strings, None, and lists, tuples and dicts of them"
    )


def unflatten(spec: Spec, tensors: list[Any]) -> Any:
    """The tree again."""
    ((kind, content),) = spec.items()
    if kind == "tensor":
        return tensors[content]
    if kind == "dict":
        return {key: unflatten(item, tensors) for key, item in content.items()}
    if kind in ("list", "tuple"):
        items = [unflatten(item, tensors) for item in content]
        return items if kind == "list" else tuple(items)
    return content


def check_spec(spec: Any, count: int) -> None:
    """Raise unless data from a file is a specification over ``count`` tensors."""
    if not isinstance(spec, dict) or len(spec) != 1:
        raise ProgramError(f"not a structure of inputs or outputs: {str(spec)[:80]}")
    ((kind, content),) = spec.items()
    if kind == "tensor" and isinstance(content, int) and 0 <= content < count:
        return
    if kind == "dict" and isinstance(content, dict):
        for item in content.values():
            check_spec(item, count)
    elif kind in ("list", "tuple") and isinstance(content, list):
        for item in content:
            check_spec(item, count)
    elif kind != "is" or not (content is None or isinstance(content, bool | int | float | str)):
        raise ProgramError(f"not a structure of inputs or outputs: {str(spec)[:80]}")
