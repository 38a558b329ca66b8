"""Nested containers of tensors under the name that PyTorch's programs import."""
from __future__ import annotations

import dataclasses
import functools
import types
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from flambeau.core.pytree import (
    SUPPORTED_NODES,
    LeafSpec,
    NodeDef,
    TreeSpec,
    _get_node_type,
    register_pytree_node,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_unflatten,
)

__all__ = ["SUPPORTED_NODES", "LeafSpec", "NodeDef", "TreeSpec", "register_pytree_node",
           "tree_flatten", "tree_leaves", "tree_map", "tree_unflatten"]

PyTree = Context = Any
KeyEntry = Any
KeyPath = tuple
PyTreeSpec = TreeSpec
FlattenFunc = UnflattenFunc = FlattenWithKeysFunc = Callable
BUILTIN_TYPES = frozenset((tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque))
STANDARD_DICT_TYPES = frozenset((dict, OrderedDict, defaultdict))


class MappingKey(NamedTuple):
    """The place of a child in a dictionary."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """The child in this place."""
        return mapping[self.key]


class SequenceKey(NamedTuple):
    """The place of a child in a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """The child in this place."""
        return sequence[self.idx]


class GetAttrKey(NamedTuple):
    """The name of a child that is an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The child of this name."""
        return getattr(obj, self.name)


def is_namedtuple_class(cls: type) -> bool:
    """Say whether a class is one of named tuples."""
    return isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields")


def is_namedtuple_instance(obj: object) -> bool:
    """Say whether an object is a named tuple."""
    return is_namedtuple_class(type(obj))


is_namedtuple = _is_namedtuple_instance = is_namedtuple_instance


def tree_is_leaf(tree: Any, is_leaf: Callable | None = None) -> bool:
    """Say whether a tree is a leaf."""
    return (is_leaf is not None and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


_is_leaf = tree_is_leaf


def tree_iter(tree: Any, is_leaf: Callable | None = None) -> Iterator[Any]:
    """The leaves of a tree, one after the other."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
        return
    for child in SUPPORTED_NODES[_get_node_type(tree)].flatten_fn(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_structure(tree: Any, is_leaf: Callable | None = None) -> TreeSpec:
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """The leaves of a function's arguments."""
    return tree_leaves((args, kwargs))


def tree_map_(func: Callable, tree: Any, *rests: Any, is_leaf: Callable | None = None) -> Any:
    """Call a function with each leaf, and give the tree itself; see `tree_map`."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for each in zip(leaves, *[spec.flatten_up_to(rest) for rest in rests], strict=True):
        func(*each)
    return tree


def _condition(asked: Any) -> Callable:
    if isinstance(asked, type | tuple | types.UnionType):
        return lambda x: isinstance(x, asked)
    if callable(asked):
        return asked
    raise TypeError(f"expected a type, a tuple of types or a function, got {asked!r}")


def map_only(type_or_types_or_pred: Any, /) -> Callable:
    """A decorator: the function is called with values of these types, others stay as they are."""
    condition = _condition(type_or_types_or_pred)

    def wrapper(func: Callable) -> Callable:
        @functools.wraps(func)
        def wrapped(x: Any) -> Any:
            return func(x) if condition(x) else x
        return wrapped
    return wrapper


def tree_map_only(type_or_types_or_pred: Any, /, func: Callable, tree: Any,
                  is_leaf: Callable | None = None) -> Any:
    """The same structure with ``func`` of each leaf of these types; others stay as they are."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Any, /, func: Callable, tree: Any,
                   is_leaf: Callable | None = None) -> Any:
    """Call a function with each leaf of these types, and give the tree itself."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable, tree: Any, is_leaf: Callable | None = None) -> bool:
    """Say whether a condition holds for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable, tree: Any, is_leaf: Callable | None = None) -> bool:
    """Say whether a condition holds for a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: Callable, tree: Any,
                  is_leaf: Callable | None = None) -> bool:
    """Say whether a condition holds for all leaves of these types."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types: Any, /, pred: Callable, tree: Any,
                  is_leaf: Callable | None = None) -> bool:
    """Say whether a condition holds for a leaf of these types."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def _broadcast_to_and_flatten(tree: Any, treespec: TreeSpec,
                              is_leaf: Callable | None = None) -> list[Any] | None:
    """A leaf of a tree for each leaf of a structure that begins alike; None where it does not."""
    leaves, spec = tree_flatten(tree, is_leaf)
    try:
        parts = spec.flatten_up_to(tree_unflatten([0] * treespec.num_leaves, treespec))
    except ValueError:
        return None
    return [leaf for leaf, part in zip(leaves, parts, strict=True)
            for _ in range(len(tree_leaves(part)))]


def treespec_leaf() -> LeafSpec:
    """The structure of a leaf."""
    return LeafSpec()


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """The structure of a tuple of these."""
    return TreeSpec(tuple, None, iterable)


def treespec_dict(mapping: Any = (), /, **kwargs: TreeSpec) -> TreeSpec:
    """The structure of a dictionary of these."""
    children = dict(mapping, **kwargs)
    return TreeSpec(dict, list(children), children.values())


def treespec_pprint(treespec: TreeSpec) -> str:
    """A tree of stars of this structure, as text."""
    return repr(tree_unflatten([_Star()] * treespec.num_leaves, treespec))


class _Star:
    def __repr__(self) -> str:
        return "*"


def _with_keys(tree: Any, node: NodeDef) -> list[tuple[Any, Any]]:
    """The children of a node with their places."""
    if node.flatten_with_keys_fn is not None:
        return list(node.flatten_with_keys_fn(tree)[0])
    if node.type not in BUILTIN_TYPES and not isinstance(tree, tuple | list | dict):
        raise ValueError(f"{node.type!r} was registered without flatten_with_keys_fn, which says "
                         "where its children are: give it to register_pytree_node")
    children, context = node.flatten_fn(tree)
    if node.type is namedtuple:
        return [(GetAttrKey(name), x) for name, x in zip(context._fields, children, strict=True)]
    if isinstance(tree, dict):
        return [(MappingKey(key), x) for key, x in zip(tree, children, strict=True)]
    return [(SequenceKey(i), x) for i, x in enumerate(children)]


def _paths(path: tuple, tree: Any, is_leaf: Callable | None) -> Iterator[tuple[tuple, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    for key, child in _with_keys(tree, SUPPORTED_NODES[_get_node_type(tree)]):
        yield from _paths((*path, key), child, is_leaf)


def tree_leaves_with_path(tree: Any, is_leaf: Callable | None = None) -> list[tuple[tuple, Any]]:
    """Pairs of a path, a tuple of keys, and a leaf."""
    return list(_paths((), tree, is_leaf))


def tree_flatten_with_path(tree: Any, is_leaf: Callable | None = None
                           ) -> tuple[list[tuple[tuple, Any]], TreeSpec]:
    """Pairs of a path and a leaf, and the tree's structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable, tree: Any, *rests: Any,
                       is_leaf: Callable | None = None) -> Any:
    """`tree_map` of a function that is given the path of each leaf before the leaf."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return tree_unflatten([func(*pair, *each)
                           for pair, *each in zip(pairs, *others, strict=True)], spec)


def keystr(kp: tuple) -> str:
    """A path as text: ``['a'][0].weight``."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: tuple) -> Any:
    """What a tree has at a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


def _private_register_pytree_node(cls: type, flatten_fn: Callable, unflatten_fn: Callable, *,
                                  flatten_with_keys_fn: Callable | None = None,
                                  **names: Any) -> None:
    """Let a class be a node of trees; a former registration is replaced."""
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


def _register_pytree_node(cls: type, flatten_fn: Callable, unflatten_fn: Callable,
                          to_str_fn: object = None, maybe_from_str_fn: object = None,
                          **names: Any) -> None:
    """The former name of `register_pytree_node`; a former registration is replaced."""
    _private_register_pytree_node(cls, flatten_fn, unflatten_fn, **names)


def _deregister_pytree_node(cls: type) -> None:
    """Let a class be leaves again."""
    del SUPPORTED_NODES[cls]


def register_dataclass(cls: type, *, field_names: list[str] | None = None,
                       drop_field_names: list[str] | None = None,
                       serialized_type_name: str | None = None) -> None:
    """Let a dataclass be a node: its children are its fields, but for those that are None.

    Args:
        cls: A class that is made by passing its fields by name.
        field_names: Fields that are children; of a dataclass, all that `__init__` takes.
        drop_field_names: Fields that are none.
        serialized_type_name: Accepted for compatibility.

    Raises:
        ValueError: The names are not those of the dataclass's fields.
    """
    if dataclasses.is_dataclass(cls):
        fields = [each.name for each in dataclasses.fields(cls) if each.init]
        kept = [name for name in fields if name not in (drop_field_names or ())]
        if field_names is not None and set(field_names) != set(kept):
            raise ValueError(f"field_names are {field_names}, but {cls} has the fields {kept}")
        names = kept if field_names is None and drop_field_names else field_names or fields
    elif field_names is None:
        raise ValueError(f"{cls} is no dataclass: give field_names")
    else:
        names = field_names

    def flatten(obj: Any) -> tuple[list[Any], list[list[str]]]:
        present = [name for name in names if getattr(obj, name) is not None]
        return ([getattr(obj, name) for name in present],
                [present, [name for name in names if name not in present]])

    def with_keys(obj: Any) -> tuple[list[Any], list[list[str]]]:
        children, context = flatten(obj)
        return list(zip(map(GetAttrKey, context[0]), children, strict=True)), context

    _private_register_pytree_node(
        cls, flatten, lambda children, context: cls(
            **dict(zip(context[0], children, strict=True)), **dict.fromkeys(context[1])),
        flatten_with_keys_fn=with_keys)


def register_constant(cls: type) -> None:
    """Let instances of a class be nodes without leaves, which compare by their value."""
    _private_register_pytree_node(cls, lambda x: ([], x), lambda _, value: value,
                                  flatten_with_keys_fn=lambda x: ([], x))
