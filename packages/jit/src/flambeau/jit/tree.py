"""Nested lists, tuples and dicts with tensors at their leaves, as a specification and a list."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from keyword import iskeyword
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.errors import ProgramError
from flambeau.jit.recording.traced_sizes import plain

Spec = dict[str, Any]
#: How deep a structure in a file may be.
DEPTH = 60
#: Named tuples that went through ``flatten``, by name and fields.
_named: dict[tuple[str, ...], Any] = {}


def flatten(tree: Any, tensors: list[Any]) -> Spec:
    """Append the tensors of a tree to a list; what describes the rest of it.

    Raises:
        TypeError: the tree holds something else.
    """
    if bridge.is_tensor(tree):
        tensors.append(tree)
        return {"tensor": len(tensors) - 1}
    tree = plain(tree)
    kind = getattr(type(tree), "_counts_as", type(tree))
    if kind is dict or kind is OrderedDict:
        if not all(isinstance(key, str) for key in tree):
            raise TypeError("the keys of a dict that goes in or out must be strings")
        name = "dict" if kind is dict else "ordered"
        return {name: {key: flatten(item, tensors) for key, item in tree.items()}}
    if kind in (list, tuple, bridge.Size):
        return {_SEQUENCES[kind]: [flatten(item, tensors) for item in tree]}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        key = (kind.__name__, *tree._fields)
        _named.setdefault(key, kind)
        return {"named": [list(key), *(flatten(item, tensors) for item in tree)]}
    if tree is None or kind in (bool, int, float, str):
        return {"is": tree}
    raise TypeError(
        f"a {kind.__name__} cannot go in or out of what is traced: only tensors, numbers, "
        "strings, None, and lists, tuples, named tuples and dicts of them"
    )


_SEQUENCES: dict[type, str] = {list: "list", tuple: "tuple", bridge.Size: "size"}
_MAKE = {"list": list, "tuple": tuple, "size": bridge.Size}


def unflatten(spec: Spec, tensors: list[Any]) -> Any:
    """The tree again."""
    ((kind, content),) = spec.items()
    if kind == "tensor":
        return tensors[content]
    if kind in ("dict", "ordered"):
        items = {key: unflatten(item, tensors) for key, item in content.items()}
        return items if kind == "dict" else OrderedDict(items)
    if kind in _MAKE:
        return _MAKE[kind](unflatten(item, tensors) for item in content)
    if kind == "named":
        return _make_named(content[0], [unflatten(item, tensors) for item in content[1:]])
    return content


def _make_named(key: list[str], items: list[Any]) -> Any:
    """A named tuple of the type that was met, else of one with the same fields."""
    cls = _named.get(tuple(key)) or bridge.return_type(*key)
    if cls is None:
        cls = _named[tuple(key)] = namedtuple(key[0], key[1:])
    return cls._make(items) if hasattr(cls, "_make") else cls(items)


def text_of(spec: Spec) -> str:
    """A specification as text: 1, 1.0 and True differ in it, and NaN is NaN."""
    return repr(spec)


def check_spec(spec: Any, count: int, depth: int = DEPTH) -> None:
    """Raise unless data from a file is a specification over ``count`` tensors."""
    if isinstance(spec, dict) and len(spec) == 1 and depth:
        ((kind, content),) = spec.items()
        if kind == "tensor" and type(content) is int and 0 <= content < count:
            return
        if kind in ("dict", "ordered") and isinstance(content, dict):
            return _check_all(content.values(), count, depth)
        if kind in ("list", "tuple") and isinstance(content, list):
            return _check_all(content, count, depth)
        if kind == "size" and _are_sizes(content):
            return None
        if kind == "named" and _is_named(content):
            return _check_all(content[1:], count, depth)
        if kind == "is" and (content is None or isinstance(content, bool | int | float | str)):
            return
    raise ProgramError(f"not a structure of inputs or outputs: {str(spec)[:80]}")


def _check_all(items: Any, count: int, depth: int) -> None:
    for item in items:
        check_spec(item, count, depth - 1)


def _are_sizes(content: Any) -> bool:
    return isinstance(content, list) and all(
        isinstance(item, dict) and list(item) == ["is"] and type(item["is"]) is int
        for item in content)


def _is_named(content: Any) -> bool:
    if not isinstance(content, list) or not content or not isinstance(content[0], list):
        return False
    key = content[0]
    return len(key) == len(content) and all(isinstance(word, str) for word in key) and \
        len(set(key[1:])) == len(key) - 1 and all(
        word.isidentifier() and not iskeyword(word)
        and not word.startswith("_") and len(word) < 100 for word in key)
