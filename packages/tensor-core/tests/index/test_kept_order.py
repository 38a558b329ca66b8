"""Strides of what an index reads: the order of memory behind the index is kept."""
from __future__ import annotations

import itertools

import numpy as np
import pytest

import flambeau as fl

INDICES = (fl.tensor([3, 0, 2]), fl.tensor([[1], [1]]), fl.tensor([], dtype=fl.int64))


def _order(t):
    """Dimensions of more than one element, from the innermost one on."""
    return sorted((d for d in range(t.ndim) if t.shape[d] > 1), key=lambda d: t.stride()[d])


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
@pytest.mark.parametrize("dtype", ["uint8", "float32", "complex128"])
def test_dimensions_behind_the_index_keep_their_order(order, dtype):
    numbers = np.random.default_rng(0).integers(0, 200, (4, 3, 6, 5)).astype(dtype)
    x = fl.from_numpy(np.ascontiguousarray(numbers.transpose(order))).permute(
        np.argsort(order).tolist())
    for index in INDICES:
        found = x[index]
        assert np.array_equal(found.numpy(), numbers[index.numpy()])
        points = list(reversed(range(index.ndim)))
        behind = [d - 1 + index.ndim for d in _order(x) if d > 0]
        if found.numel():
            assert _order(found) == behind + [d for d in points if index.shape[d] > 1]
            pairs = zip(found.shape, found.stride(), strict=True)
            assert found.numel() == 1 + sum((n - 1) * step for n, step in pairs)


def test_images_stay_channels_last():
    x = fl.randn(8, 3, 6, 5).contiguous(memory_format=fl.channels_last)
    picked = x[fl.tensor([5, 1])]
    assert picked.is_contiguous(memory_format=fl.channels_last)
    assert fl.equal(picked, x.contiguous()[fl.tensor([5, 1])])


@pytest.mark.parametrize("view", [lambda x: x, lambda x: x[:, ::2], lambda x: x.transpose(1, 2),
                                  lambda x: x.permute(2, 1, 0), lambda x: x[:1].expand(7, 6, 70),
                                  lambda x: x.flip(0)[None]])
@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "complex64"])
def test_slices_of_strided_memory(view, dtype):
    numbers = np.random.default_rng(1).integers(0, 200, (7, 6, 70)).astype(dtype)
    x = view(fl.from_numpy(numbers))
    for dim in range(x.ndim):
        index = np.array([x.shape[dim] - 1, 0, 0])
        found = x.index_select(dim, fl.from_numpy(index))
        assert found.is_contiguous()
        assert np.array_equal(found.numpy(), x.numpy().take(index, dim))
