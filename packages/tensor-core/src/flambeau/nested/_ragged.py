"""Where the samples of a jagged tensor lie, and the size that differs between them."""
from __future__ import annotations

import itertools
from typing import Any

from flambeau.core import _core, functions

_op = {**functions, **_core.operators()}
_numbers = itertools.count(1)


class RaggedSize:
    """The size of the dimension whose length differs between samples, printed as ``j1``.

    Two are equal if they belong to samples of the same lengths. ``view`` and ``reshape`` take it
    where they would take a number.
    """

    def __init__(self, ragged: Ragged) -> None:
        self._ragged = ragged

    def __repr__(self) -> str:
        return f"j{self._ragged.number}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RaggedSize) and self._ragged.agrees(other._ragged)

    def __hash__(self) -> int:
        return hash(tuple(self._ragged.bounds()))

    def __index__(self) -> int:
        raise TypeError(f"{self!r} is a size that differs between samples, and no number: write "
                        "x.offsets().diff() for the lengths, or x.to_padded_tensor(0.0) first")

    __int__ = __index__


class Ragged:
    """Beginning and end of every sample in the dimension that is ragged.

    Args:
        offsets: ``(B + 1,)``: where samples begin, and where the last ends.
        lengths: ``(B,)``; None if samples follow each other without gaps.
    """

    def __init__(self, offsets: Any, lengths: Any = None) -> None:
        self.offsets, self.lengths = offsets, lengths
        self.number = next(_numbers)
        self._bounds: list[tuple[int, int]] | None = None
        self._rows: Any = None

    def bounds(self) -> list[tuple[int, int]]:
        """Beginning and end of every sample."""
        if self._bounds is None:
            starts = self.offsets.tolist()
            if self.lengths is None:
                self._bounds = list(itertools.pairwise(starts))
            else:
                self._bounds = [(start, start + length) for start, length in zip(
                    starts[:-1], self.lengths.tolist(), strict=True)]
        return self._bounds

    def sizes(self) -> list[int]:
        """The length of every sample."""
        return [stop - start for start, stop in self.bounds()]

    def agrees(self, other: Ragged) -> bool:
        """Whether the samples lie alike."""
        return other is self or self.bounds() == other.bounds()

    def on(self, device: Any) -> Ragged:
        """The same on another device."""
        if self.offsets.device == device:
            return self
        return Ragged(self.offsets.to(device),
                      None if self.lengths is None else self.lengths.to(device))

    def rows(self, total: int) -> Any:
        """The sample that each element of the ragged dimension belongs to."""
        if self._rows is None:
            rows = [0] * total
            for sample, (start, stop) in enumerate(self.bounds()):
                rows[start:stop] = [sample] * (stop - start)
            self._rows = _core.tensor(rows, device=self.offsets.device)
        return self._rows


def of_lengths(lengths: list[int], device: Any) -> Ragged:
    """Samples of these lengths, one after the other."""
    ends = list(itertools.accumulate(lengths, initial=0))
    return Ragged(_core.tensor(ends, dtype=_core._dtype_named("int64"), device=device))
