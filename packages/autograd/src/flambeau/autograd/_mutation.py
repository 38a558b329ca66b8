"""Writes to saved tensors that do no harm: what was saved is cloned before it is overwritten."""
from __future__ import annotations

import threading
import weakref
from collections.abc import Hashable, MutableMapping

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
    """A saved tensor, for all nodes that saved it; they alone own this.

    It stands for the user's memory until that is about to change.
    """

    __slots__ = ("__weakref__", "_block")

    def __init__(self, block: allow_mutation_on_saved_tensors) -> None:
        self._block = weakref.ref(block)

    def tensor(self) -> Tensor:
        """The values that were saved."""
        block = self._block()
        found = None
        if block is not None and block._open:
            found = block.cloned.get(self)
            found = block.original.get(self) if found is None else found
        if found is None:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in "
                "which the graph was originally recorded: move backward() into the block")
        return found


class allow_mutation_on_saved_tensors:
    """Allow writes in place to tensors that are saved for backward, in a block of this thread.

    A saved tensor is cloned when an operator is about to write to its memory, so gradients are
    those of the values that the forward pass saw. The backward pass belongs into the block.
    ``as ctx`` gives an object whose ``cloned`` holds the copies that are needed still.

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

    def __init__(self) -> None:
        self._open = False
        self._start()

    def _start(self) -> None:
        # What only nodes own disappears here together with them.
        #: Saved tensors as they were saved, and the copies made of those that were written to.
        self.original: MutableMapping[_Kept, Tensor] = weakref.WeakKeyDictionary()
        self.cloned: MutableMapping[_Kept, Tensor] = weakref.WeakKeyDictionary()
        #: A tensor's location and version -> what stands for it.
        self.tid_to_weakhandle: MutableMapping[Hashable, _Kept] = weakref.WeakValueDictionary()
        #: A storage -> the tensors in it that are saved and not copied.
        self.sid_to_tid: dict[int, set[Hashable]] = {}

    def __enter__(self) -> allow_mutation_on_saved_tensors:
        if getattr(_thread, "inside", False):
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested: the "
                               "outer block allows all writes inside already")
        _thread.inside = self._open = True
        push_saved_hooks(self._pack, _Kept.tensor)
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
        self._start()

    def _pack(self, tensor: Tensor) -> _Kept:
        storage = storage_key(tensor)
        where = (storage, tensor.storage_offset(), tuple(tensor.shape), tensor.stride(),
                 tensor.dtype, tensor._version)
        kept = self.tid_to_weakhandle.get(where)
        if kept is None:
            kept = self.tid_to_weakhandle[where] = _Kept(self)
            self.original[kept] = tensor
            self.sid_to_tid.setdefault(storage, set()).add(where)
        return kept

    def _about_to_write(self, storage: int) -> None:
        for where in self.sid_to_tid.pop(storage, ()):
            kept = self.tid_to_weakhandle.pop(where, None)  # memory there may be another's soon
            if kept is not None:
                self.cloned[kept] = ops.clone(self.original.pop(kept))
