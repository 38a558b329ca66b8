"""Products of integers wrap, in every dtype, order and layout."""

import numpy as np
import pytest

import flambeau
from flambeau.core import ops

DTYPES = [np.int64, np.int32, np.int16, np.int8, np.uint8, np.uint16, np.uint32, np.uint64]
SIZES = [
    (1, 1, 1),
    (1, 70, 5),
    (3, 40, 6),
    (2, 3, 130),
    (3, 33, 1),
    (4, 1, 64),
    (7, 65, 17),
    (33, 129, 40),
]


def drawn(rng, dtype, *shape):
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


def layouts(array):
    yield flambeau.tensor(array)
    yield flambeau.tensor(np.ascontiguousarray(array.T)).t()
    yield flambeau.tensor(np.repeat(array, 2, 1))[:, ::2]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", SIZES)
def test_matrices_in_all_layouts(dtype, sizes):
    m, n, k = sizes
    rng = np.random.default_rng(0)
    a, b, bias = drawn(rng, dtype, m, k), drawn(rng, dtype, k, n), drawn(rng, dtype, n)
    wanted = a @ b
    for x in layouts(a):
        for y in layouts(b):
            np.testing.assert_array_equal((x @ y).numpy(), wanted)
            given = ops.linear(x, y.t(), flambeau.tensor(bias))
            np.testing.assert_array_equal(given.numpy(), wanted + bias)


@pytest.mark.parametrize("dtype", DTYPES)
def test_batches_and_vectors(dtype):
    rng = np.random.default_rng(1)
    a, b = drawn(rng, dtype, 2, 3, 5, 9), drawn(rng, dtype, 3, 9, 6)
    x, y = flambeau.tensor(a), flambeau.tensor(b)
    np.testing.assert_array_equal((x @ y).numpy(), a @ b)
    np.testing.assert_array_equal((x.transpose(0, 1) @ y[0]).numpy(), a.swapaxes(0, 1) @ b[0])
    np.testing.assert_array_equal((x @ y[0, :, 0]).numpy(), a @ b[0, :, 0])
    np.testing.assert_array_equal((x[0, 0, 0] @ y).numpy(), a[0, 0, 0] @ b)
    given = ops.linear(x.transpose(0, 1), y[0].t())
    np.testing.assert_array_equal(given.numpy(), a.swapaxes(0, 1) @ b[0])
    assert (x[:0] @ y).shape == (0, 3, 5, 6)
    assert not (x[..., :0] @ y[:, :0]).any()


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
@pytest.mark.parametrize(
    ("stride", "padding", "dilation", "groups"), [(1, 0, 1, 1), (2, 1, 1, 2), (3, 2, 2, 1)]
)
def test_convolutions_by_the_sum_they_are(dtype, stride, padding, dilation, groups):
    rng = np.random.default_rng(2)
    x, w = drawn(rng, dtype, 2, 4, 23), drawn(rng, dtype, 6, 4 // groups, 3)
    bias = drawn(rng, dtype, 6)
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding)))
    count = (padded.shape[2] - 2 * dilation - 1) // stride + 1
    wanted = np.empty((2, 6, count), dtype)
    for o in range(6):
        first = o // (6 // groups) * (4 // groups)
        for i in range(count):
            taps = padded[:, first : first + 4 // groups, i * stride :][
                ..., : 2 * dilation + 1 : dilation
            ]
            wanted[:, o, i] = (taps * w[o]).sum((1, 2), dtype=dtype) + bias[o]
    given = ops.conv1d(
        flambeau.tensor(x),
        flambeau.tensor(w),
        flambeau.tensor(bias),
        stride,
        padding,
        dilation,
        groups,
    )
    np.testing.assert_array_equal(given.numpy(), wanted)
