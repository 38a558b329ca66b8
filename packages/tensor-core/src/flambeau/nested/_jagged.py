"""The jagged layout: samples that differ in one dimension, side by side in it."""
from __future__ import annotations

from typing import Any

from flambeau.core import _core, functions, layouts
from flambeau.core.size import Size
from flambeau.core.wrapped import new
from flambeau.nested._ragged import Ragged, RaggedSize, of_lengths
from flambeau.nested._tensor import Nested

_op = {**functions, **_core.operators()}


class NestedTensor(Nested):
    """A tensor of layout ``flambeau.jagged``; `nested_tensor` and its like make them.

    Dimension ``d`` is dimension ``d - 1`` of the values; dimension 0 counts samples.
    """

    layout = layouts.jagged
    _ragged: Ragged
    _ragged_idx: int

    @property
    def shape(self) -> Any:
        """The size of every dimension; that of the ragged one is a symbol."""
        sizes: list[Any] = list(self._values.shape)
        sizes[self._ragged_idx - 1] = RaggedSize(self._ragged)
        return _shape((len(self._ragged.bounds()), *sizes))

    @property
    def ndim(self) -> int:
        """How many dimensions there are, the first of which counts samples."""
        return int(self._values.ndim) + 1

    def _like(self, values: Any) -> Any:
        return jagged(values, self._ragged, self._ragged_idx)

    def _parts(self) -> list[Any]:
        dim = self._ragged_idx - 1
        return [self._values.narrow(dim, start, stop - start)
                for start, stop in self._ragged.bounds()]

    def offsets(self) -> Any:
        """Where each sample begins in the values, and where the last ends."""
        return self._ragged.offsets

    def lengths(self) -> Any:
        """The length of each sample, or None if they follow each other without gaps."""
        return self._ragged.lengths

    def _get_max_seqlen(self) -> int:
        return max(self._ragged.sizes(), default=0)

    def _get_min_seqlen(self) -> int:
        return min(self._ragged.sizes(), default=0)

    _max_seqlen = property(_get_max_seqlen)
    _min_seqlen = property(_get_min_seqlen)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether samples follow each other in memory, without gaps."""
        return self._ragged.lengths is None and self._ragged_idx == 1 \
            and bool(self._values.is_contiguous())

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        sizes = ", ".join(map(repr, self.shape))
        return (f"NestedTensor(size=({sizes}), offsets={self.offsets()!r}{self._history()}, "
                f"contiguous={self.is_contiguous()})")

    def __reduce_ex__(self, protocol: Any) -> Any:
        values = self._values.detach()
        return _rebuilt, (values, self._ragged.offsets, self._ragged.lengths, self._ragged_idx,
                          self.requires_grad)


def _shape(sizes: tuple[Any, ...]) -> Any:
    """Sizes as a tuple that prints as Size does."""
    return RaggedShape(sizes)


class RaggedShape(tuple):
    """The sizes of a jagged tensor, of which one is a symbol."""

    def __repr__(self) -> str:
        return f"{Size.__module__.partition('.')[0]}.Size([{', '.join(map(repr, self))}])"

    def numel(self) -> int:
        """Refused: the product has a symbol in it."""
        raise TypeError("sizes of a jagged tensor have no product; write x.numel()")


def _rebuilt(values: Any, offsets: Any, lengths: Any, ragged_idx: int, requires_grad: bool) -> Any:
    values = values.requires_grad_() if requires_grad else values
    return jagged(values, Ragged(offsets, lengths), ragged_idx)


def jagged(values: Any, ragged: Ragged, ragged_idx: int = 1) -> NestedTensor:
    """The jagged tensor of values, which keep their history."""
    sizes = list(values.shape)
    sizes[ragged_idx - 1] = max(ragged.sizes(), default=0)
    made = new(NestedTensor, values, (len(ragged.bounds()), *sizes))
    made._ragged, made._ragged_idx = ragged.on(values.device), ragged_idx
    return made


def of_parts(parts: list[Any], ragged_idx: int = 1, like: Ragged | None = None) -> NestedTensor:
    """The jagged tensor of samples, which differ in one dimension."""
    values = _op["cat"](list(parts), ragged_idx - 1)
    lengths = [part.shape[ragged_idx - 1] for part in parts]
    if like is not None and like.lengths is None and like.sizes() == lengths:
        return jagged(values, like, ragged_idx)
    return jagged(values, of_lengths(lengths, values.device), ragged_idx)


def compact(x: NestedTensor) -> NestedTensor:
    """The same without gaps between samples, in C order."""
    if x.is_contiguous():
        return x
    if x._ragged.lengths is None:
        return x._like(x._values.contiguous())
    return of_parts(x._parts(), x._ragged_idx)
