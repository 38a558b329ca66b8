"""Nested arguments of graphs; see `flambeau.utils._pytree`."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.core.pytree import (
    SUPPORTED_NODES,
    TreeSpec,
    tree_flatten,
    tree_map,
    tree_unflatten,
)

__all__ = ["register_pytree_flatten_spec", "tree_flatten", "tree_flatten_spec", "tree_map",
           "tree_unflatten"]

#: Type -> how its objects are taken apart by a structure.
_by_spec: dict[type, Callable[[Any, Any], list[Any]]] = {}


def register_pytree_flatten_spec(cls: type, flatten_fn_spec: Callable[[Any, Any], list[Any]],
                                 flatten_fn_exact_match_spec: Any = None) -> None:
    """Say how objects of a class are taken apart by a structure, proxies among them.

    Args:
        cls: The class.
        flatten_fn_spec: Gives the parts of an object by a structure.
        flatten_fn_exact_match_spec: Has no effect.
    """
    _by_spec[cls] = flatten_fn_spec


def tree_flatten_spec(pytree: Any, spec: TreeSpec) -> list[Any]:
    """The leaves of a tree by a structure, which says what is looked up in it.

    Args:
        pytree: The tree; it may be a proxy that stands for one.
        spec: The structure.

    Returns:
        The leaves in the order of the structure: the keys of a dict may come in any order.
    """
    if spec.is_leaf():
        return [pytree]
    take = _by_spec.get(spec.type)
    if take is not None:
        parts = take(pytree, spec)
    elif issubclass(spec.type, dict):
        parts = [pytree[key] for key in spec.context]
    elif spec.type in SUPPORTED_NODES and isinstance(pytree, spec.type):
        parts = list(SUPPORTED_NODES[spec.type].flatten_fn(pytree)[0])
    else:
        parts = [pytree[at] for at in range(spec.num_children)]
    return [leaf for part, child in zip(parts, spec.children_specs, strict=True)
            for leaf in tree_flatten_spec(part, child)]
