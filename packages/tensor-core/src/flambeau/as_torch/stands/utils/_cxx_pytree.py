"""Nested containers: `torch.utils._cxx_pytree`, which is `torch.utils._pytree` here."""
from flambeau.utils._pytree import *  # noqa: F403
from flambeau.utils._pytree import (  # noqa: F401
    tree_all,
    tree_any,
    tree_map_,
    tree_map_only,
    tree_structure,
)
