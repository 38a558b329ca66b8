"""Padded and packed sequences, with values written out by hand."""

import numpy as np
import pytest

import flambeau
from flambeau.nn.utils.rnn import (
    PackedSequence,
    invert_permutation,
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
    pad_sequence,
    unpack_sequence,
    unpad_sequence,
)

A, B, C = [flambeau.tensor(x) for x in ([1.0, 2.0, 3.0], [4.0], [5.0, 6.0])]


def test_padding():
    assert pad_sequence([A, B]).tolist() == [[1, 4], [2, 0], [3, 0]]
    assert pad_sequence([A, B], True, -1).tolist() == [[1, 2, 3], [4, -1, -1]]
    assert pad_sequence((A, B), True, padding_side="left").tolist() == [[1, 2, 3], [0, 0, 4]]
    features = pad_sequence([flambeau.ones(2, 3), flambeau.ones(1, 3)])
    assert features.shape == (2, 2, 3)
    assert pad_sequence(flambeau.ones(2, 3)).shape == (3, 2)


def test_packing():
    packed = pack_sequence([A, C, B])
    assert packed.data.tolist() == [1, 5, 4, 2, 6, 3]
    assert packed.batch_sizes.tolist() == [3, 2, 1]
    assert packed.sorted_indices is None
    assert packed.unsorted_indices is None


def test_packing_in_any_order():
    packed = pack_sequence([B, A, C], enforce_sorted=False)
    assert packed.data.tolist() == [1, 5, 4, 2, 6, 3]
    assert packed.sorted_indices.tolist() == [1, 2, 0]
    assert packed.unsorted_indices.tolist() == [2, 0, 1]
    padded, lengths = pad_packed_sequence(packed, batch_first=True, padding_value=-1)
    assert padded.tolist() == [[4, -1, -1], [1, 2, 3], [5, 6, -1]]
    assert lengths.tolist() == [1, 3, 2]
    assert [x.tolist() for x in unpack_sequence(packed)] == [[4], [1, 2, 3], [5, 6]]


@pytest.mark.parametrize("batch_first", [False, True])
def test_there_and_back(batch_first):
    x = np.random.default_rng(0).standard_normal((5, 3, 2))
    lengths = [2, 5, 3]
    given = flambeau.tensor(x.swapaxes(0, 1) if batch_first else x)
    packed = pack_padded_sequence(given, lengths, batch_first, enforce_sorted=False)
    padded, found = pad_packed_sequence(packed, batch_first, total_length=6)
    padded = padded.numpy().swapaxes(0, 1) if batch_first else padded.numpy()
    assert found.tolist() == lengths
    for b, n in enumerate(lengths):
        np.testing.assert_array_equal(padded[:n, b], x[:n, b])
        np.testing.assert_array_equal(padded[n:, b], 0)
    parts = unpad_sequence(given, flambeau.tensor(lengths), batch_first)
    assert [p.shape[0] for p in parts] == lengths
    np.testing.assert_array_equal(parts[1].numpy(), x[:, 1])
    assert given.shape == ((3, 5, 2) if batch_first else (5, 3, 2))


def test_gradients_skip_the_padding():
    x = flambeau.ones(3, 2, requires_grad=True)
    packed = pack_padded_sequence(x, [1, 3], enforce_sorted=False)
    padded, _ = pad_packed_sequence(packed)
    (padded * flambeau.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])).sum().backward()
    assert x.grad.tolist() == [[1, 2], [0, 4], [0, 6]]


def test_packed_sequences_convert():
    packed = pack_sequence([A, B])
    assert packed.to(flambeau.float32) is packed
    assert packed.cpu() is packed
    wide = packed.double()
    assert wide.data.dtype is flambeau.float64
    assert wide.batch_sizes is packed.batch_sizes
    names = {
        "float": "float32",
        "half": "float16",
        "long": "int64",
        "int": "int32",
        "short": "int16",
        "char": "int8",
        "byte": "uint8",
    }
    for method, dtype in names.items():
        assert getattr(wide, method)().data.dtype is getattr(flambeau, dtype)
    assert not packed.is_cuda
    moved = pack_sequence([B, A], enforce_sorted=False).to("meta")
    assert moved.data.device.type == moved.sorted_indices.device.type == "meta"


def test_making_packed_sequences():
    data, sizes = flambeau.arange(3), flambeau.tensor([2, 1])
    assert PackedSequence((data, sizes)).batch_sizes is sizes
    assert PackedSequence(data, sizes, flambeau.tensor([1, 0])).unsorted_indices.tolist() == [1, 0]
    assert repr(PackedSequence(data, sizes)).startswith("PackedSequence(data=tensor([0, 1, 2]), ")
    with pytest.raises(TypeError, match=r"pair \(data, batch_sizes\)"):
        PackedSequence(data)
    with pytest.raises(ValueError, match="should always be on CPU"):
        PackedSequence(data, sizes.to("meta"))


def test_inverse():
    assert invert_permutation(None) is None
    assert invert_permutation(flambeau.tensor([1, 2, 0])).tolist() == [2, 0, 1]


MISTAKES = {
    "order": (lambda: pack_sequence([B, A]), RuntimeError, "sorted in decreasing order"),
    "zero": (
        lambda: pack_padded_sequence(flambeau.ones(3, 2), [3, 0]),
        RuntimeError,
        "greater than 0",
    ),
    "long": (lambda: pack_padded_sequence(flambeau.ones(3, 2), [4, 3]), RuntimeError, "at most 3"),
    "count": (
        lambda: pack_padded_sequence(flambeau.ones(3, 2), [3]),
        RuntimeError,
        r"batch_size \(2\)",
    ),
    "dims": (lambda: pack_padded_sequence(flambeau.ones(3), [3]), RuntimeError, "steps and batch"),
    "total": (
        lambda: pad_packed_sequence(pack_sequence([A]), total_length=2),
        ValueError,
        "total_length=2",
    ),
    "none": (lambda: pad_sequence([]), RuntimeError, "empty list"),
    "number": (lambda: pad_sequence(3), RuntimeError, "Expected iterable"),
    "side": (lambda: pad_sequence([A], padding_side="top"), ValueError, "padding_side"),
    "lengths": (lambda: unpad_sequence(flambeau.ones(3, 2), [1]), ValueError, "2 sequences"),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistakes(mistake):
    call, error, text = mistake
    with pytest.raises(error, match=text):
        call()
