"""Batches of sequences of different lengths: padded tensors and packed sequences.

A packed sequence has the elements of all sequences step by step, the longest sequences first, so
that a recurrent network computes nothing for padding.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import flambeau
import flambeau.nn.utils._masked_sequence as masked
from flambeau import Tensor

from ._packed_sequence import PackedSequence, invert_permutation

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


# ---- padded and packed ---------------------------------------------------------------------------
def pack_padded_sequence(
    input: Tensor,
    lengths: Tensor | Sequence[int],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Leave out the padding of a batch.

    Args:
        input: ``[steps, batch, ...]``, or ``[batch, steps, ...]`` with ``batch_first``.
        lengths: How many steps each sequence has, on the CPU.
        batch_first: Whether the batch is the first dimension.
        enforce_sorted: Whether the lengths must not increase; False sorts the sequences.

    Returns:
        The packed sequences. In a program that is being recorded, with lengths that are its inputs,
        they stay padded: recurrent layers and ``pad_packed_sequence`` with ``total_length`` take
        them.

    Raises:
        RuntimeError: The lengths do not fit the batch, are less than 1 or more than the steps, or
            increase.

    Example:
        >>> import flambeau
        >>> padded = flambeau.tensor([[1, 2, 0], [3, 0, 0], [4, 5, 6]])
        >>> packed = pack_padded_sequence(padded, [2, 1, 3], True, enforce_sorted=False)
        >>> packed.data, packed.batch_sizes, packed.sorted_indices
        (tensor([4, 1, 3, 5, 2, 6]), tensor([3, 2, 1]), tensor([2, 0, 1]))
    """
    lengths = _lengths(lengths)
    if input.ndim < 2:
        raise RuntimeError(
            "pack_padded_sequence: input has the dimensions steps and batch and may have more, "
            f"got shape {list(input.shape)}"
        )
    if batch_first:
        input = input.transpose(0, 1)
    _check_count(input, lengths)
    if masked.values_are_unknown(lengths):
        return cast(PackedSequence, masked.MaskedSequence(input, lengths))
    _check_lengths(input, lengths)
    order = None
    if not enforce_sorted:
        lengths, order = flambeau.sort(lengths, descending=True)
        order = order.to(input.device)
        input = input.index_select(1, order)
    elif (lengths[1:] > lengths[:-1]).any().item():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. "
            f"You can pass `enforce_sorted=False` to pack_padded_sequence; got {lengths.tolist()}"
        )
    sizes, indices = _layout(lengths, int(lengths[0]))
    rows = input.reshape(input.shape[0] * input.shape[1], *input.shape[2:])
    return PackedSequence(rows.index_select(0, indices.to(input.device)), sizes, order)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Undo ``pack_padded_sequence``.

    Args:
        sequence: The packed sequences.
        batch_first: Whether the batch is to be the first dimension.
        padding_value: What fills the steps behind a sequence's end.
        total_length: How many steps there are to be; those of the longest when left out.

    Returns:
        The batch, ``[steps, batch, ...]`` or ``[batch, steps, ...]``, and the lengths, in the
        user's order.

    Raises:
        ValueError: ``total_length`` is less than the longest sequence has.

    Example:
        >>> import flambeau
        >>> packed = pack_sequence([flambeau.tensor([1, 2, 3]), flambeau.tensor([4])])
        >>> pad_packed_sequence(packed, batch_first=True)
        (tensor([[1, 2, 3],
                [4, 0, 0]]), tensor([3, 1]))
    """
    if isinstance(sequence, masked.MaskedSequence):
        padded = masked.pad_masked(sequence, padding_value, total_length)
        return (padded.transpose(0, 1) if batch_first else padded), sequence.lengths.clone()
    data, sizes, _, back = sequence
    steps, batch = sizes.shape[0], int(sizes[0])
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in "
                f"input, but got total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    lengths = (sizes.unsqueeze(1) > flambeau.arange(batch)).sum(0)
    indices = _layout(lengths, sizes.shape[0])[1].to(data.device)
    whole = flambeau.full(
        (steps * batch, *data.shape[1:]), padding_value, dtype=data.dtype, device=data.device
    )
    padded = whole.index_copy(0, indices, data).reshape(steps, batch, *data.shape[1:])
    if back is not None:
        padded, lengths = padded.index_select(1, back), lengths[back.cpu()]
    return (padded.transpose(0, 1) if batch_first else padded), lengths


def _lengths(lengths: Any) -> Tensor:
    if not isinstance(lengths, Tensor):
        lengths = flambeau.tensor(list(lengths), dtype=flambeau.int64)
    if lengths.device.type != "cpu":
        raise RuntimeError(
            "'lengths' argument should be a 1D CPU int64 tensor, but is on "
            f"{lengths.device}; write lengths.cpu()"
        )
    return lengths.to(flambeau.int64)


def _check_count(input: Tensor, lengths: Tensor) -> None:
    if lengths.ndim != 1 or lengths.shape[0] != input.shape[1] or not lengths.shape[0]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size ({input.shape[1]}) and at least "
            f"1, got lengths of shape {list(lengths.shape)}"
        )


def _check_lengths(input: Tensor, lengths: Tensor) -> None:
    if int(lengths.min()) <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            f"that is <= 0: {lengths.tolist()}"
        )
    if int(lengths.max()) > input.shape[0]:
        raise RuntimeError(
            f"Expected lengths of at most {input.shape[0]}, the steps of input, got "
            f"{lengths.tolist()}"
        )


def _layout(lengths: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    """How many sequences have each step, and the rows of ``[steps * batch]`` that are elements."""
    present = flambeau.arange(steps).unsqueeze(1) < lengths
    indices = present.reshape(-1).nonzero().squeeze(1)
    return present.sum(1), indices


# ---- lists of sequences --------------------------------------------------------------------------
def pad_sequence(
    sequences: Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """A batch of sequences, padded to the length of the longest.

    Args:
        sequences: Tensors ``[length, ...]``, alike but for the length.
        batch_first: Whether the batch is to be the first dimension.
        padding_value: What fills the other steps.
        padding_side: ``"right"``, or ``"left"`` for padding before the sequences.

    Returns:
        ``[steps, batch, ...]`` or ``[batch, steps, ...]``.

    Raises:
        RuntimeError: There are no sequences, or something else was given.
        ValueError: ``padding_side`` is neither.

    Example:
        >>> import flambeau
        >>> pad_sequence([flambeau.tensor([1, 2, 3]), flambeau.tensor([4])], batch_first=True)
        tensor([[1, 2, 3],
                [4, 0, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    if padding_side not in ("left", "right"):
        raise ValueError(f'pad_sequence: padding_side is "left" or "right", not {padding_side!r}')
    tensors = list(sequences)
    if not tensors:
        raise RuntimeError("pad_sequence: received an empty list of sequences")
    steps = max(t.shape[0] for t in tensors)
    rows = [_padded(t, steps, padding_value, padding_side) for t in tensors]
    return flambeau.stack(rows, 0 if batch_first else 1)


def _padded(x: Tensor, steps: int, value: float, side: str) -> Tensor:
    missing = steps - x.shape[0]
    if not missing:
        return x
    filling = flambeau.full((missing, *x.shape[1:]), value, dtype=x.dtype, device=x.device)
    return flambeau.cat([filling, x] if side == "left" else [x, filling], 0)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False
) -> list[Tensor]:
    """Undo ``pad_sequence``.

    Args:
        padded_sequences: ``[steps, batch, ...]``, or ``[batch, steps, ...]`` with ``batch_first``.
        lengths: How many steps each sequence has.
        batch_first: Whether the batch is the first dimension.

    Returns:
        The sequences.

    Example:
        >>> import flambeau
        >>> padded = flambeau.tensor([[1, 2, 3], [4, 0, 0]])
        >>> unpad_sequence(padded, [3, 1], batch_first=True)
        [tensor([1, 2, 3]), tensor([4])]
    """
    counts = lengths.tolist() if isinstance(lengths, Tensor) else list(lengths)
    dim = 0 if batch_first else 1
    if len(counts) != padded_sequences.shape[dim]:
        raise ValueError(
            f"unpad_sequence: there are {padded_sequences.shape[dim]} sequences, but "
            f"{len(counts)} lengths"
        )
    return [
        sequence[:count]
        for sequence, count in zip(padded_sequences.unbind(dim), counts, strict=True)
    ]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of sequences.

    Args:
        sequences: Tensors ``[length, ...]``, alike but for the length.
        enforce_sorted: Whether the lengths must not increase; False sorts the sequences.

    Returns:
        The packed sequences.

    Raises:
        RuntimeError: There are no sequences, or their lengths increase.

    Example:
        >>> import flambeau
        >>> a, b = flambeau.tensor([1]), flambeau.tensor([2, 3])
        >>> pack_sequence([a, b], enforce_sorted=False).data
        tensor([2, 1, 3])
    """
    lengths = [x.shape[0] for x in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Undo ``pack_sequence``.

    Args:
        packed_sequences: The packed sequences.

    Returns:
        A list of tensors ``[length, ...]`` in the user's order.

    Example:
        >>> import flambeau
        >>> unpack_sequence(pack_sequence([flambeau.tensor([1, 2]), flambeau.tensor([3])]))
        [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
