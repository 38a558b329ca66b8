"""Nested containers of tensors under the name that PyTorch's programs import."""
from flambeau.core.pytree import (
    TreeSpec,
    register_pytree_node,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_unflatten,
)

__all__ = ["TreeSpec", "register_pytree_node", "tree_flatten", "tree_leaves", "tree_map",
           "tree_unflatten"]
