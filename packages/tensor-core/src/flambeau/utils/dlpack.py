"""DLPack: tensors of other libraries without a copy."""
from __future__ import annotations

from typing import Any

from flambeau.core import Tensor, from_dlpack

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule over the memory of a tensor, to be read once.

    Args:
        tensor: A tensor without history.

    Example:
        >>> import flambeau
        >>> from flambeau.utils.dlpack import from_dlpack, to_dlpack
        >>> from_dlpack(to_dlpack(flambeau.ones(2)))
        tensor([1., 1.])
    """
    return tensor.__dlpack__()
