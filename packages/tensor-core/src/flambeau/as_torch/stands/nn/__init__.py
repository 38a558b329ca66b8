"""Private helpers of `torch.nn` that layers and losses of libraries take."""
from __future__ import annotations

import copy
from typing import Any

from flambeau import rooms
from flambeau.as_torch.stands.nn import _reduction as _Reduction
from flambeau.core import Tensor

__all__ = ["_Reduction"]


def _addindent(s_: str, numSpaces: int) -> str:
    """A text whose lines after the first begin with spaces."""
    return s_.replace("\n", "\n" + numSpaces * " ")


def _get_clones(module: Any, N: int) -> Any:
    """A list of copies of a module, each with weights of its own."""
    return rooms.enter("nn").ModuleList([copy.deepcopy(module) for _ in range(N)])


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """The parts of a tensor along a dimension in another order."""
    return tensor.index_select(dim, permutation)


def warn_if_has_hooks(tensor: Tensor) -> None:
    """Do nothing: files hold no hooks, as is said where they are written."""
