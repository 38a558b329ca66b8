"""Copies in which rows lie side by side on both sides, beside NumPy's."""
from __future__ import annotations

import numpy as np
import pytest

import flambeau as fl

DTYPES = ("uint8", "int16", "float32", "float64", "complex64", "bool")
#: Views of an array, the same in both libraries; the last dimensions stay as they are.
VIEWS = {
    "swapped": lambda a: a.swapaxes(0, 1),
    "turned": lambda a: a.transpose((2, 0, 1, 3)) if isinstance(a, np.ndarray)
              else a.permute(2, 0, 1, 3),
    "gaps": lambda a: a[:, 1::2, :2],
    "cut": lambda a: a[..., 3:-2],
    "one": lambda a: a[:, :1],
    "rows of rows": lambda a: a[:, ::2],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("length", [40, 64, 131])
def test_rows_are_copied(dtype, view, length):
    numbers = np.random.default_rng(length).integers(0, 200, (6, 7, 5, length)).astype(dtype)
    wanted = VIEWS[view](numbers)
    x = VIEWS[view](fl.tensor(numbers))
    assert np.array_equal(x.contiguous().numpy(), wanted)
    target = fl.zeros(*wanted.shape[:-1], wanted.shape[-1] + 3, dtype=x.dtype)
    target[..., 1:-2].copy_(x)                      # rows with gaps on both sides
    assert np.array_equal(target.numpy()[..., 1:-2], wanted)
    assert not target.numpy()[..., 0].any() and not target.numpy()[..., -2:].any()
    back = fl.zeros(numbers.shape, dtype=x.dtype)
    VIEWS[view](back).copy_(x)                      # into rows out of order
    expected = np.zeros_like(numbers)
    VIEWS[view](expected)[...] = wanted
    assert np.array_equal(back.numpy(), expected)


def test_rows_that_are_repeated_are_copied():
    row = fl.arange(200.0)
    assert fl.equal(row.expand(3, 4, 200).transpose(0, 1).contiguous(), row.repeat(4, 3, 1))
