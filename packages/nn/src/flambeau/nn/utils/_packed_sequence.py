"""Sequences of different lengths, packed step by step."""

from __future__ import annotations

from typing import Any, NamedTuple

import flambeau
from flambeau import Tensor


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed):
    """Sequences of different lengths, step by step; made by ``pack_sequence`` and
    ``pack_padded_sequence``.

    Args:
        data: ``[elements, ...]``: all first elements, the longest sequence's first, then all
            second ones, and so on.
        batch_sizes: How many sequences have each step, integers on the CPU.
        sorted_indices: Which of the user's sequences is the longest, the next one, ...; None when
            they are in that order.
        unsorted_indices: The inverse; computed when left out.

    Raises:
        ValueError: ``batch_sizes`` is not on the CPU.

    Example:
        >>> import flambeau
        >>> from flambeau.nn.utils.rnn import pack_sequence
        >>> packed = pack_sequence([flambeau.tensor([1, 2, 3]), flambeau.tensor([4, 5])])
        >>> packed.data, packed.batch_sizes
        (tensor([1, 4, 2, 5, 3]), tensor([2, 2, 1]))
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise TypeError(
                    "PackedSequence without batch_sizes takes a pair (data, batch_sizes); use "
                    "pack_sequence() or pack_padded_sequence() to make one"
                )
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                f"batch_sizes should always be on CPU, but is on {batch_sizes.device}; use "
                "pack_sequence() or pack_padded_sequence() to make a PackedSequence"
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The sequences with ``data.to(...)``, and indices on its device."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        order, back = [
            None if t is None else t.to(data.device)
            for t in (self.sorted_indices, self.unsorted_indices)
        ]
        return PackedSequence(data, self.batch_sizes, order, back)

    def cpu(self) -> PackedSequence:
        """The sequences on the CPU."""
        return self.to(device="cpu")

    def cuda(self, device: Any = "cuda") -> PackedSequence:
        """The sequences on a GPU."""
        return self.to(device=device)

    @property
    def is_cuda(self) -> bool:
        """Whether ``data`` is on a GPU."""
        return self.data.is_cuda

    def double(self) -> PackedSequence:
        """The sequences as float64."""
        return self.to(flambeau.float64)

    def float(self) -> PackedSequence:
        """The sequences as float32."""
        return self.to(flambeau.float32)

    def half(self) -> PackedSequence:
        """The sequences as float16."""
        return self.to(flambeau.float16)

    def long(self) -> PackedSequence:
        """The sequences as int64."""
        return self.to(flambeau.int64)

    def int(self) -> PackedSequence:
        """The sequences as int32."""
        return self.to(flambeau.int32)

    def short(self) -> PackedSequence:
        """The sequences as int16."""
        return self.to(flambeau.int16)

    def char(self) -> PackedSequence:
        """The sequences as int8."""
        return self.to(flambeau.int8)

    def byte(self) -> PackedSequence:
        """The sequences as uint8."""
        return self.to(flambeau.uint8)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another: ``result[permutation[i]] = i``.

    Args:
        permutation: The numbers from 0 on in any order, or None.

    Returns:
        Its inverse, or None.

    Example:
        >>> import flambeau
        >>> invert_permutation(flambeau.tensor([2, 0, 1]))
        tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    indices = flambeau.arange(permutation.numel(), device=permutation.device)
    return flambeau.empty_like(permutation).scatter_(0, permutation, indices.to(permutation.dtype))
