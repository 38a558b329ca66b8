"""Extremes of integers of all widths, in every direction and layout."""

import numpy as np
import pytest

import flambeau

DTYPES = [np.int64, np.int32, np.int16, np.int8, np.uint8, np.uint16, np.uint32, np.uint64]
SHAPES = [(), (1,), (7,), (63,), (64,), (65,), (40_000,), (3, 1), (200, 5), (5, 200), (130, 64),
          (2, 1500, 3), (3, 17, 65), (2, 3, 4, 33), (700, 700)]


def drawn(dtype, shape):
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(sum(shape))
    return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def dims_of(rank):
    return [None, *range(rank), *((0, rank - 1) for _ in range(rank > 2))]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_extremes_of_integers(dtype, shape):
    numbers = drawn(dtype, shape)
    x = flambeau.tensor(numbers)
    for dims in dims_of(len(shape)):
        for call, wanted in ((flambeau.amax, np.max), (flambeau.amin, np.min)):
            given = call(x) if dims is None else call(x, dims, keepdim=True)
            assert given.dtype is x.dtype
            np.testing.assert_array_equal(given.numpy(),
                                          wanted(numbers, dims, keepdims=dims is not None))


@pytest.mark.parametrize("dtype", DTYPES)
def test_extremes_of_views(dtype):
    numbers = drawn(dtype, (60, 8, 90))
    x = flambeau.tensor(numbers)
    views = [(x.permute(2, 0, 1), numbers.transpose(2, 0, 1)), (x[::2, :, 5:], numbers[::2, :, 5:]),
             (x[:, :, ::3], numbers[:, :, ::3]), (x[3:9, 2], numbers[3:9, 2]),
             (x[:1].expand(4, 8, 90), np.broadcast_to(numbers[:1], (4, 8, 90)))]
    for view, same in views:
        for dims in (*range(view.ndim), tuple(range(view.ndim))):
            np.testing.assert_array_equal(flambeau.amax(view, dims).numpy(), np.max(same, dims))
            np.testing.assert_array_equal(flambeau.amin(view, dims).numpy(), np.min(same, dims))
        both = flambeau.aminmax(view)
        assert (both.min.item(), both.max.item()) == (np.min(same), np.max(same))


@pytest.mark.parametrize("dtype", DTYPES)
def test_extremes_are_written_where_told(dtype):
    numbers = drawn(dtype, (30, 40))
    out = flambeau.zeros(40, 2, dtype=flambeau.tensor(numbers).dtype)[:, 0]
    flambeau.amax(flambeau.tensor(numbers), 0, out=out)
    np.testing.assert_array_equal(out.numpy(), numbers.max(0))
