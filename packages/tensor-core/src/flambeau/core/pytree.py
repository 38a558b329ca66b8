"""Nested structures: tensors in lists, tuples, named tuples, deques, dicts, registered classes.

Everything else is a leaf, None too. `flambeau.utils._pytree` has more functions of trees.
"""
from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from flambeau.core.size import Size

__all__ = ["LeafSpec", "NodeDef", "TreeSpec", "register_pytree_node", "tree_flatten",
           "tree_leaves", "tree_map", "tree_unflatten"]


class NodeDef(NamedTuple):
    """How a class of nodes is taken apart and put together.

    ``flatten_fn`` gives the children and a context, ``unflatten_fn`` makes a node of them, and
    ``flatten_with_keys_fn`` gives pairs of a key and a child, and the context.
    """

    type: Any
    flatten_fn: Callable
    unflatten_fn: Callable
    flatten_with_keys_fn: Callable | None = None


class TreeSpec:
    """The structure of a tree: the node's type, what rebuilds it, and its children's structures.

    A leaf has the type None.
    """

    __slots__ = ("_children", "context", "num_children", "num_leaves", "num_nodes", "type")

    def __init__(self, type: Any, context: Any, children_specs: Iterable[TreeSpec]) -> None:
        self.type = type
        self.context = context
        self._children = list(children_specs)
        self.num_children = len(self._children)
        self.num_nodes: int = 1 + sum([child.num_nodes for child in self._children])
        self.num_leaves: int = sum([child.num_leaves for child in self._children])

    def __repr__(self, indent: int = 0) -> str:
        inner = indent + 2
        children = (",\n" + " " * inner).join([child.__repr__(inner) for child in self._children])
        return f"TreeSpec({self.type.__name__}, {self.context}, [{children}])"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (self.type == other.type and self.context == other.context
                and self._children == other._children)

    def __hash__(self) -> int:
        return hash((self.type, self.num_leaves, tuple(self._children)))

    @property
    def children_specs(self) -> list[TreeSpec]:
        """The children's structures."""
        return self._children

    def children(self) -> list[TreeSpec]:
        """The children's structures."""
        return self._children.copy()

    def child(self, index: int) -> TreeSpec:
        """The structure of one child."""
        return self._children[index]

    def is_leaf(self) -> bool:
        """Say whether the tree is a leaf."""
        return self.type is None

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this structure with these leaves; see `tree_unflatten`."""
        return tree_unflatten(leaves, self)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The parts of a tree that lie where this structure has leaves.

        Args:
            tree: A tree that begins with this structure.

        Raises:
            ValueError: It begins otherwise.
        """
        parts: list[Any] = []
        _flatten_up_to(self, tree, parts)
        return parts


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, ())
        self.num_leaves = 1

    def __repr__(self, indent: int = 0) -> str:
        return "*"

    def __reduce__(self) -> Any:
        return LeafSpec, ()


_LEAF = LeafSpec()
_DICTIONARIES = (dict, OrderedDict, defaultdict)


def _node(kind: Any, flatten: Callable, unflatten: Callable) -> tuple[Any, NodeDef]:
    return kind, NodeDef(kind, flatten, unflatten)


#: Type -> how its instances are taken apart and put together.
SUPPORTED_NODES: dict[Any, NodeDef] = dict((
    _node(list, lambda x: (x, None), lambda children, _: list(children)),
    _node(tuple, lambda x: (x, None), lambda children, _: tuple(children)),
    _node(Size, lambda x: (list(x), None), lambda children, _: tuple(children)),
    _node(dict, lambda x: (list(x.values()), list(x)),
          lambda children, keys: dict(zip(keys, children, strict=True))),
    _node(OrderedDict, lambda x: (list(x.values()), list(x)),
          lambda children, keys: OrderedDict(zip(keys, children, strict=True))),
    _node(defaultdict, lambda x: (list(x.values()), [x.default_factory, list(x)]),
          lambda children, facts: defaultdict(facts[0], zip(facts[1], children, strict=True))),
    _node(deque, lambda x: (list(x), x.maxlen), deque),
    _node(namedtuple, lambda x: (list(x), type(x)), lambda children, kind: kind(*children)),
))


def register_pytree_node(cls: type, flatten_fn: Callable, unflatten_fn: Callable, *,
                         serialized_type_name: str | None = None,
                         to_dumpable_context: Callable | None = None,
                         from_dumpable_context: Callable | None = None,
                         flatten_with_keys_fn: Callable | None = None) -> None:
    """Let a class be a node of trees.

    Args:
        cls: the class.
        flatten_fn: from an instance to ``(children, context)``.
        unflatten_fn: from ``(children, context)`` to an instance.
        serialized_type_name: Accepted for compatibility: trees are not written to files.
        to_dumpable_context: Accepted for compatibility.
        from_dumpable_context: Accepted for compatibility.
        flatten_with_keys_fn: from an instance to ``(pairs of a key and a child, context)``.

    Raises:
        ValueError: the class is registered already.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"register_pytree_node(): {cls} is already registered as pytree node")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


def _get_node_type(tree: Any) -> Any:
    """The key of `SUPPORTED_NODES` that a node would have.

    A class of which nobody should notice that it is no dict says so by ``_counts_as``.
    """
    kind = type(tree)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return namedtuple
    return kind if kind in SUPPORTED_NODES else getattr(kind, "_counts_as", kind)


def tree_flatten(tree: Any, is_leaf: Callable | None = None) -> tuple[list, TreeSpec]:
    """The leaves of a tree, in order, and its structure.

    Args:
        tree: a nested structure.
        is_leaf: says of a node whether it counts as a leaf.

    Returns:
        ``(leaves, spec)``, for ``tree_unflatten``.

    Example:
        >>> from flambeau.core.pytree import tree_flatten
        >>> tree_flatten({"a": 1, "b": (2, [3])})[0]
        [1, 2, 3]
    """
    leaves: list = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree: Any, leaves: list, is_leaf: Callable | None) -> TreeSpec:
    kind = _get_node_type(tree)
    if kind not in SUPPORTED_NODES or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return _LEAF
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(child, leaves, is_leaf) for child in children])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The tree of a structure with these leaves.

    Args:
        leaves: one for each leaf of the structure.
        treespec: what ``tree_flatten`` gave.

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
    tree = _unflatten(rest, treespec, end)
    if next(rest, end) is not end:
        raise ValueError(f"tree_unflatten(): more leaves than the structure {treespec} has")
    return tree


def _unflatten(rest: Any, spec: TreeSpec, end: object) -> Any:
    if spec.type is None:
        leaf = next(rest, end)
        if leaf is end:
            raise ValueError("tree_unflatten(): fewer leaves than the structure has")
        return leaf
    children = [_unflatten(rest, child, end) for child in spec._children]
    return SUPPORTED_NODES[spec.type].unflatten_fn(children, spec.context)


def _flatten_up_to(spec: TreeSpec, tree: Any, parts: list) -> None:
    if spec.type is None:
        parts.append(tree)
        return
    kind = _get_node_type(tree)
    if spec.type in _DICTIONARIES and kind in _DICTIONARIES:
        keys = spec.context[1] if spec.type is defaultdict else spec.context
        if set(keys) != set(tree):
            raise ValueError(f"a dictionary has the keys {list(tree)}, not {keys} as the first "
                             "tree has")
        children = [tree[key] for key in keys]
    else:
        children = _children_of(spec, tree, kind)
    for child, part in zip(spec._children, children, strict=True):
        _flatten_up_to(child, part, parts)


def _children_of(spec: TreeSpec, tree: Any, kind: Any) -> list[Any]:
    """The children of a node that has to be of a structure's kind."""
    if kind != spec.type:
        raise ValueError(f"Node type mismatch; expected {spec.type!r}, but got {kind!r}: trees "
                         "must have the structure of the first tree")
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    children = list(children)
    if len(children) != spec.num_children:
        raise ValueError(f"Node arity mismatch; expected {spec.num_children}, but got "
                         f"{len(children)}: a node of type {kind!r} of the first tree has as many "
                         "children")
    if kind is not deque and context != spec.context:
        raise ValueError(f"a node of type {kind!r} has the context {context!r}, not "
                         f"{spec.context!r} as in the first tree")
    return children


def tree_leaves(tree: Any, is_leaf: Callable | None = None) -> list:
    """The leaves of a tree, in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_map(func: Callable, tree: Any, *rests: Any, is_leaf: Callable | None = None) -> Any:
    """The same structure with ``func`` of each leaf.

    Args:
        func: from a leaf, and what other trees have in its place, to a leaf.
        tree: a nested structure.
        rests: other trees that begin with the same structure.
        is_leaf: says of a node whether it counts as a leaf.

    Raises:
        ValueError: another tree begins otherwise.

    Example:
        >>> from flambeau.core.pytree import tree_map
        >>> tree_map(lambda x: x + 1, {"a": 1, "b": [2]})
        {'a': 2, 'b': [3]}
        >>> tree_map(lambda x, y: x * y, [2, 3], [4, 5])
        [8, 15]
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return tree_unflatten([func(*each) for each in zip(leaves, *others, strict=True)], spec)
