"""The strided layout: samples of any sizes, one after the other in memory."""
from __future__ import annotations

import math
from typing import Any

from flambeau.core import _core, functions, layouts
from flambeau.core.wrapped import new
from flambeau.nested._tensor import Nested

_op = {**functions, **_core.operators()}


class StridedNestedTensor(Nested):
    """A nested tensor of layout ``flambeau.strided``: samples may differ in every dimension."""

    layout = layouts.strided
    _sizes: list[tuple[int, ...]]

    @property
    def shape(self) -> Any:
        """Refused: sizes differ."""
        raise RuntimeError("a nested tensor of the strided layout has no shape, for its samples "
                           "differ: ask x.size(dim), or [part.shape for part in x.unbind()]")

    @property
    def ndim(self) -> int:
        """How many dimensions there are, the first of which counts samples."""
        return 1 + (len(self._sizes[0]) if self._sizes else 0)

    def size(self, dim: int | None = None) -> Any:
        """The size of a dimension in which all samples agree."""
        if dim is None:
            return self.shape
        at = dim + self.ndim if dim < 0 else dim
        if not 0 <= at < self.ndim:
            raise IndexError(f"size(): dimension {dim} is not one of {self.ndim} dimensions")
        if at == 0:
            return len(self._sizes)
        if len({size[at - 1] for size in self._sizes}) != 1:
            raise RuntimeError(f"Given dimension {dim} is irregular and does not have a size: ask "
                               "[part.shape for part in x.unbind()]")
        return self._sizes[0][at - 1]

    def __len__(self) -> int:
        return len(self._sizes)

    def _like(self, values: Any) -> Any:
        return strided(values, self._sizes)

    def _parts(self) -> list[Any]:
        counts = [math.prod(size) for size in self._sizes]
        pieces = _op["split"](self._values, counts) if counts else []
        return [piece.view(size) for piece, size in zip(pieces, self._sizes, strict=True)]

    def _nested_tensor_size(self) -> Any:
        """The sizes of samples, one in each row."""
        return _core.tensor([list(size) for size in self._sizes])

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        parts = [repr(part.detach()).replace("\n", "\n  ") for part in self._parts()]
        inside = ",\n".join(f"  {part}" for part in parts)
        return f"nested_tensor([\n{inside}\n]{self._history()})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuilt, (self._values.detach(), self._sizes, self.requires_grad)


def _rebuilt(values: Any, sizes: list[tuple[int, ...]], requires_grad: bool) -> Any:
    return strided(values.requires_grad_() if requires_grad else values, sizes)


def strided(values: Any, sizes: list[tuple[int, ...]]) -> StridedNestedTensor:
    """The nested tensor of a vector of all elements, which keeps its history."""
    most = [max(column) for column in zip(*sizes, strict=True)] if sizes else []
    made = new(StridedNestedTensor, values, (len(sizes), *most))
    made._sizes = list(sizes)
    return made


def of_samples(parts: list[Any], like: Any = None) -> StridedNestedTensor:
    """The nested tensor of samples, which have equally many dimensions."""
    sizes = [tuple(part.shape) for part in parts]
    if not parts:
        return strided(_op["zeros"]((0,)) if like is None else like.new_zeros(0), [])
    return strided(_op["cat"]([part.reshape(-1) for part in parts]), sizes)
