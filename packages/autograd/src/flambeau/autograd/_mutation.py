"""Writes to saved tensors that do no harm: what was saved is cloned before it is overwritten."""
from __future__ import annotations

import threading
import weakref

from flambeau.autograd._engine import (
    WriteWatch,
    pop_saved_hooks,
    push_saved_hooks,
    storage_key,
)
from flambeau.core import Tensor, ops

__all__ = ["allow_mutation_on_saved_tensors"]


_thread = threading.local()


class _Kept:
    """A saved tensor; shares memory with the user's until that is about to change."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor: Tensor | None = tensor
        self.is_copy = False

    def part(self) -> None:
        """Take a copy."""
        if self.tensor is not None and not self.is_copy:
            self.tensor = ops.clone(self.tensor)
            self.is_copy = True


class allow_mutation_on_saved_tensors:
    """Allow writes in place to tensors that are saved for backward, in a block of this thread.

    A saved tensor is cloned when an operator is about to write to its memory, so gradients are
    those of the values that the forward pass saw. The backward pass belongs into the block.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([1.0, 2.0], requires_grad=True)
        >>> with flambeau.autograd.graph.allow_mutation_on_saved_tensors():
        ...     y = x.clone()
        ...     loss = (y ** 2).sum()
        ...     _ = y.zero_()
        ...     loss.backward()
        >>> x.grad
        tensor([2., 4.])
    """

    def __enter__(self) -> allow_mutation_on_saved_tensors:
        if getattr(_thread, "inside", False):
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested: the "
                               "outer block allows all writes inside already")
        _thread.inside = True
        self._kept: dict[int, weakref.WeakSet[_Kept]] = {}
        self._open = True
        push_saved_hooks(self._pack, self._unpack)
        self._watch = WriteWatch(self._about_to_write)
        self._watch.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._watch.__exit__()
        pop_saved_hooks()
        self._open = _thread.inside = False
        self.clear()

    def clear(self) -> None:
        """Give up all that was saved in the block: its graphs can not be walked any more."""
        for group in self._kept.values():
            for kept in group:
                kept.tensor = None
        self._kept.clear()

    def _pack(self, tensor: Tensor) -> _Kept:
        kept = _Kept(tensor)
        self._kept.setdefault(storage_key(tensor), weakref.WeakSet()).add(kept)
        return kept

    def _unpack(self, kept: _Kept) -> Tensor:
        if not self._open or kept.tensor is None:
            raise RuntimeError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in "
                "which the graph was originally recorded: move backward() into the block")
        return kept.tensor

    def _about_to_write(self, storage: int) -> None:
        for kept in self._kept.pop(storage, ()):
            kept.part()
