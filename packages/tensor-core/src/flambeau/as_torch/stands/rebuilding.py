"""How pickles of PyTorch say what a tensor is made of, and how workers' errors come back."""
from __future__ import annotations

import sys
import traceback
from typing import Any

from flambeau import rooms


def _rebuild_tensor(storage: Any, storage_offset: int, size: Any, stride: Any) -> Any:
    """A tensor over a storage.

    Args:
        storage: A storage with a dtype.
        storage_offset: The first element.
        size: The shape.
        stride: Elements from one to the next, for each dimension.
    """
    import flambeau

    made = flambeau.empty(0, dtype=storage.dtype, device=storage.device)
    return made.set_(storage, storage_offset, tuple(size), tuple(stride))


def _rebuild_tensor_v2(storage: Any, storage_offset: int, size: Any, stride: Any,
                       requires_grad: bool, backward_hooks: Any, metadata: Any = None) -> Any:
    """A tensor over a storage, with what autograd knows of it.

    Args:
        storage: A storage with a dtype.
        storage_offset: The first element.
        size: The shape.
        stride: Elements from one to the next, for each dimension.
        requires_grad: Whether it needs a gradient.
        backward_hooks: Nothing: hooks are not kept.
        metadata: Nothing.
    """
    made = _rebuild_tensor(storage, storage_offset, size, stride)
    return made.requires_grad_() if requires_grad else made


def _rebuild_parameter(data: Any, requires_grad: bool, backward_hooks: Any) -> Any:
    """A parameter of a tensor.

    Args:
        data: The tensor.
        requires_grad: Whether it needs a gradient.
        backward_hooks: Nothing: hooks are not kept.
    """
    return rooms.enter("nn").Parameter(data, requires_grad)


class ExceptionWrapper:
    """An error of another thread or process, with its traceback as text.

    Args:
        exc_info: What ``sys.exc_info`` gave; by default, what it gives now.
        where: What the text begins with.
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        given: Any = sys.exc_info() if exc_info is None else exc_info
        kind, error, trace = given
        self.exc_type = kind
        self.exc_msg = "".join(traceback.format_exception(kind, error, trace))
        self.where = where

    def reraise(self) -> None:
        """Raise an error of the same kind here, whose message has the traceback."""
        told = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            raise KeyError(_Lines(told))
        try:
            error = self.exc_type(told)
        except Exception:
            raise RuntimeError(told) from None
        raise error


class _Lines(str):
    """A text that `KeyError` shows line by line."""

    def __repr__(self) -> str:
        return str(self)
