"""Nested arguments of graphs; see `flambeau.utils._pytree`."""

from flambeau.core.pytree import tree_flatten, tree_map, tree_unflatten

__all__ = ["tree_flatten", "tree_map", "tree_unflatten"]
