"""Sequences of different lengths in a function that is being recorded.

How many elements a packed sequence has depends on the lengths, which a program reads when it runs.
There, sequences stay padded, and steps behind their ends are masked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import flambeau
from flambeau import Tensor


def _known(tensor: Tensor) -> bool:
    return False


#: Whether the values of a tensor are those of a program that is being recorded; jit says so, and
#: again where it compares the program with the function.
values_are_unknown: Callable[[Tensor], bool] = _known


class MaskedSequence:
    """What ``pack_padded_sequence`` gives for lengths that are not known yet.

    Args:
        data: ``[steps, batch, ...]``.
        lengths: How many steps each sequence has, int64.
    """

    def __init__(self, data: Tensor, lengths: Tensor) -> None:
        self.padded = data
        self.lengths = lengths

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"{name} of a packed sequence has a size that depends on the lengths, which a program "
            "reads when it runs; recurrent layers and pad_packed_sequence(..., total_length=) "
            "take the sequence as it is"
        )

    def __iter__(self) -> NoReturn:
        self.__getattr__("data")

    @property
    def mask(self) -> Tensor:
        """``[steps, batch]``: where there are elements."""
        return flambeau.arange(self.padded.shape[0]).unsqueeze(1) < self.lengths

    def with_data(self, data: Tensor) -> MaskedSequence:
        """The same lengths with other elements."""
        return MaskedSequence(data, self.lengths)

    def filled(self, value: float) -> Tensor:
        """The elements, and ``value`` behind the ends."""
        return flambeau.where(over(self.mask, self.padded), self.padded, value)

    def reversed(self) -> MaskedSequence:
        """Each sequence from its end to its start, without its padding."""
        steps = flambeau.arange(self.padded.shape[0]).unsqueeze(1)
        order = flambeau.where(self.mask, self.lengths - 1 - steps, steps)
        return self.with_data(self.padded.gather(0, over(order, self.padded)))

    def last(self) -> Tensor:
        """The last element of each sequence, ``[batch, ...]``."""
        index = (self.lengths - 1).unsqueeze(0)
        return self.padded.gather(0, over(index, self.padded)).squeeze(0)


def over(index: Tensor, data: Tensor) -> Tensor:
    """An index ``[steps, batch]`` for all that ``data`` has there."""
    more = data.ndim - 2
    return index.reshape(*index.shape, *[1] * more).expand(*index.shape, *data.shape[2:])


def pad_masked(sequence: MaskedSequence, value: float, total: Any) -> Tensor:
    """``pad_packed_sequence``, steps first.

    Raises:
        ValueError: ``total`` is missing, or less than the steps.
    """
    steps = sequence.padded.shape[0]
    if total is None:
        raise ValueError(
            "pad_packed_sequence: in a program the longest sequence is not known before it runs; "
            "write total_length=x.size(1), the steps of the padded input (x.size(0) without "
            "batch_first)"
        )
    if total < steps:
        raise ValueError(
            f"pad_packed_sequence: in a program total_length is at least the steps of the padded "
            f"input, {steps}, got {total}"
        )
    data = sequence.filled(value)
    if total == steps:
        return data
    return flambeau.cat([data, data.new_full((total - steps, *data.shape[1:]), value)])
