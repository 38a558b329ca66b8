"""Nested structures: tensors in lists, tuples, named tuples, deques, dicts, registered classes.

Everything else is a leaf, None too.
"""
from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["TreeSpec", "register_pytree_node", "tree_flatten", "tree_leaves", "tree_map",
           "tree_unflatten"]


class TreeSpec(NamedTuple):
    """The structure of a tree: the node's type, what rebuilds it, and its children's structures.

    A leaf has the type None.
    """

    type: Any
    context: Any
    children: tuple

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        return f"TreeSpec({self.type.__name__}, {self.context}, {list(self.children)})"


_LEAF = TreeSpec(None, None, ())
#: Type -> (function to children and context, function from them).
_NODES: dict[Callable, tuple[Callable, Callable]] = {
    list: (lambda x: (x, None), lambda children, _: list(children)),
    tuple: (lambda x: (x, None), lambda children, _: tuple(children)),
    dict: (lambda x: (list(x.values()), list(x)),
           lambda children, keys: dict(zip(keys, children, strict=True))),
    OrderedDict: (lambda x: (list(x.values()), list(x)),
                  lambda children, keys: OrderedDict(zip(keys, children, strict=True))),
    defaultdict: (lambda x: (list(x.values()), (x.default_factory, list(x))),
                  lambda children, facts: defaultdict(
                      facts[0], zip(facts[1], children, strict=True))),
    deque: (lambda x: (list(x), x.maxlen), deque),
    namedtuple: (lambda x: (list(x), type(x)), lambda children, kind: kind(*children)),
}


def register_pytree_node(cls: type, flatten: Callable, unflatten: Callable, *,
                         serialized_type_name: str | None = None,
                         to_dumpable_context: Callable | None = None,
                         from_dumpable_context: Callable | None = None,
                         flatten_with_keys_fn: Callable | None = None) -> None:
    """Let a class be a node of trees.

    Args:
        cls: the class.
        flatten: from an instance to ``(children, context)``.
        unflatten: from ``(children, context)`` to an instance.
        serialized_type_name: Accepted for compatibility: trees are not written to files.
        to_dumpable_context: Accepted for compatibility.
        from_dumpable_context: Accepted for compatibility.
        flatten_with_keys_fn: Accepted for compatibility.

    Raises:
        ValueError: the class is registered already.
    """
    if cls in _NODES:
        raise ValueError(f"register_pytree_node(): {cls.__name__} is registered already")
    _NODES[cls] = (flatten, unflatten)


def _kind(tree) -> type | None:
    kind = type(tree)
    if kind in _NODES:
        return kind
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return namedtuple   # type: ignore[return-value]
    return None


def tree_flatten(tree) -> tuple[list, TreeSpec]:
    """The leaves of a tree, in order, and its structure.

    Args:
        tree: a nested structure.

    Returns:
        ``(leaves, spec)``, for ``tree_unflatten``.

    Example:
        >>> from flambeau.core.pytree import tree_flatten
        >>> tree_flatten({"a": 1, "b": (2, [3])})[0]
        [1, 2, 3]
    """
    leaves: list = []
    return leaves, _flatten(tree, leaves)


def _flatten(tree, leaves: list) -> TreeSpec:
    kind = _kind(tree)
    if kind is None:
        leaves.append(tree)
        return _LEAF
    children, context = _NODES[kind][0](tree)
    return TreeSpec(kind, context, tuple([_flatten(child, leaves) for child in children]))


def tree_unflatten(leaves, spec: TreeSpec):
    """The tree of a structure with these leaves.

    Args:
        leaves: one for each leaf of the structure.
        spec: what ``tree_flatten`` gave.

    Returns:
        The nested structure.

    Raises:
        ValueError: there are too many leaves or too few.

    Example:
        >>> from flambeau.core.pytree import tree_flatten, tree_unflatten
        >>> tree_unflatten("xy", tree_flatten((1, [2]))[1])
        ('x', ['y'])
    """
    rest = iter(leaves)
    end = object()
    tree = _unflatten(rest, spec, end)
    if next(rest, end) is not end:
        raise ValueError(f"tree_unflatten(): more leaves than the structure {spec} has")
    return tree


def _unflatten(rest, spec: TreeSpec, end):
    if spec.type is None:
        leaf = next(rest, end)
        if leaf is end:
            raise ValueError("tree_unflatten(): fewer leaves than the structure has")
        return leaf
    children = [_unflatten(rest, child, end) for child in spec.children]
    return _NODES[spec.type][1](children, spec.context)


def tree_leaves(tree) -> list:
    """The leaves of a tree, in order."""
    return tree_flatten(tree)[0]


def tree_map(function: Callable, tree):
    """The same structure with ``function`` of each leaf.

    Args:
        function: from a leaf to a leaf.
        tree: a nested structure.

    Example:
        >>> from flambeau.core.pytree import tree_map
        >>> tree_map(lambda x: x + 1, {"a": 1, "b": [2]})
        {'a': 2, 'b': [3]}
    """
    leaves, spec = tree_flatten(tree)
    return tree_unflatten([function(leaf) for leaf in leaves], spec)
