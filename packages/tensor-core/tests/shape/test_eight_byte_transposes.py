"""Elements of eight bytes that lie crosswise, in blocks of four and what is left."""

import numpy as np
import pytest

import flambeau

SIZES = (1, 3, 4, 5, 8, 9, 13, 33, 70)


@pytest.mark.parametrize("dtype", ["float64", "int64", "complex64"])
def test_transposed_copies(dtype):
    for rows in SIZES:
        for cols in SIZES:
            values = np.arange(rows * cols).reshape(rows, cols).astype(dtype)
            x = flambeau.from_numpy(values)
            np.testing.assert_array_equal(x.t().contiguous().numpy(), values.T)
            np.testing.assert_array_equal((x.t() + x.t().clone(
                memory_format=flambeau.contiguous_format)).numpy(), values.T + values.T)


def test_permuted_copies_of_four_dimensions():
    values = np.random.default_rng(0).standard_normal((3, 5, 9, 17))
    x = flambeau.from_numpy(values)
    for order in ((0, 3, 1, 2), (3, 2, 1, 0), (1, 0, 3, 2), (2, 3, 0, 1)):
        np.testing.assert_array_equal(x.permute(order).contiguous().numpy(),
                                      values.transpose(order))
    part = x[:, 1:4, ::2, 2:]
    np.testing.assert_array_equal(part.permute(3, 0, 2, 1).contiguous().numpy(),
                                  values[:, 1:4, ::2, 2:].transpose(3, 0, 2, 1))
