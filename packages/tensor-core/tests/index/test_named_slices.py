"""Writes to some elements of a large tensor: neither time nor memory of all of it."""
from __future__ import annotations

import numpy
import pytest

import flambeau
from flambeau.core import memory_stats, reset_peak_memory_stats

SHAPE = (24, 6, 30)
LAYOUTS = ("contiguous", "transposed", "every second")
WRITES = {
    "index_add_": lambda x, i, s: x.index_add_(1, i, s, alpha=2),
    "index_copy_": lambda x, i, s: x.index_copy_(1, i[:1], s[:, :1]),
    "index_fill_": lambda x, i, s: x.index_fill_(1, i, 3),
    "scatter_add_": lambda x, i, s: x.scatter_add_(1, i.view(1, -1, 1), s),
    "scatter_ multiply": lambda x, i, s: x.scatter_(1, i.view(1, -1, 1), s, reduce="multiply"),
    "scatter_ add": lambda x, i, s: x.scatter_(1, i.view(1, -1, 1), 2, reduce="add"),
    "scatter_reduce_ amax": lambda x, i, s: x.scatter_reduce_(1, i.view(1, -1, 1), s, "amax"),
    "scatter_reduce_ mean": lambda x, i, s: x.scatter_reduce_(1, i.view(1, -1, 1), s, "mean"),
    "index_put_": lambda x, i, s: x.index_put_((i, i), s[0], accumulate=True),
    "index_put_ apart": lambda x, i, s: x.index_put_((i, i, i), s[0, :, 0], accumulate=True),
    "put_": lambda x, i, s: x.put_(i * 700 - 1, s[0, :, 0], accumulate=True),
}


def _laid_out(array, layout):
    if layout == "transposed":
        return numpy.ascontiguousarray(array.T).T
    if layout == "every second":
        wide = numpy.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    return array.copy()


def _expected(name, a, i, s):
    """In float64 or int64, by NumPy."""
    if name == "index_add_":
        numpy.add.at(a, (slice(None), i), 2 * s)
    elif name == "index_copy_":
        a[:, i[:1]] = s[:, :1]
    elif name == "index_fill_":
        a[:, i] = 3
    elif name == "index_put_":
        numpy.add.at(a, (i, i), s[0])
    elif name == "index_put_ apart":
        numpy.add.at(a, (i, i, i), s[0, :, 0])
    elif name == "put_":
        numpy.add.at(a.reshape(-1), i * 700 - 1, s[0, :, 0])
    elif name == "scatter_reduce_ mean":
        total, count = a[0, :, 0].copy(), numpy.ones(a.shape[1])
        numpy.add.at(total, i, s[0, :, 0])
        numpy.add.at(count, i, 1)
        a[0, :, 0] = total / count
    else:
        reduce = {"add": numpy.add, "multiply": numpy.multiply, "amax": numpy.maximum}
        values = 2 if name == "scatter_ add" else s[0, :, 0]
        reduce[name.split()[-1] if " " in name else "add"].at(a[0, :, 0], i, values)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "int8", "uint8"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", WRITES)
def test_few_positions_of_any_memory(name, layout, dtype):
    rng = numpy.random.default_rng(0)
    a, s = rng.integers(0, 8, SHAPE), rng.integers(1, 3, (24, 3, 30)) * 4
    i = numpy.array([3, 1, 3])
    x = flambeau.from_numpy(_laid_out(a.astype(dtype), layout))
    source = flambeau.from_numpy(s.astype(dtype))
    if name == "scatter_reduce_ mean":
        a, s = a // 4 * 4 * 3, s * 3        # means of integers
        x.copy_(flambeau.from_numpy(a.astype(dtype)))
        source = flambeau.from_numpy(s.astype(dtype))
    expected = a.astype("float64" if dtype == "float16" else "int64")
    WRITES[name](x, flambeau.from_numpy(i), source)
    _expected(name, expected, i, s)
    numpy.testing.assert_array_equal(x.numpy(), expected.astype(dtype))


@pytest.mark.parametrize("layout", ["float16", "strided", "transposed"])
@pytest.mark.parametrize("name", [
    "index_add_", "index_copy_", "index_fill_", "scatter_add_", "scatter_ multiply", "put_",
    "scatter_reduce_ mean", "index_put_", "take", "index_select"])
def test_memory_of_what_is_written_only(name, layout):
    x = flambeau.zeros(1000, 2000, dtype=flambeau.float16 if layout == "float16" else None)
    x = x[:, ::2] if layout == "strided" else x.t() if layout == "transposed" else x
    i, s = flambeau.tensor([1, 5]), flambeau.ones(2, x.shape[1], dtype=x.dtype)
    calls = {
        "index_add_": lambda: x.index_add_(0, i, s),
        "index_copy_": lambda: x.index_copy_(0, i, s),
        "index_fill_": lambda: x.index_fill_(0, i, 1.0),
        "scatter_add_": lambda: x.scatter_add_(0, i[None], s),
        "scatter_ multiply": lambda: x.scatter_(0, i[None], s, reduce="multiply"),
        "put_": lambda: x.put_(i, s[0, :2]),
        "scatter_reduce_ mean": lambda: x.scatter_reduce_(0, i[None], s, "mean"),
        "index_put_": lambda: x.index_put_((i, i), s[0, :2], accumulate=True),
        "take": lambda: x.take(i),
        "index_select": lambda: x.index_select(0, i),
    }
    calls[name]()
    reset_peak_memory_stats()
    before = memory_stats()["peak_live_bytes"]
    calls[name]()
    assert memory_stats()["peak_live_bytes"] - before < 100_000


def test_positions_outside_are_refused_in_any_memory():
    x = flambeau.zeros(100, 100).t()
    for index in (10_000, -10_001):
        with pytest.raises(IndexError, match="out of bounds"):
            x.put_(flambeau.tensor([index]), flambeau.ones(1))
        with pytest.raises(IndexError, match="out of bounds"):
            x.take(flambeau.tensor([index]))
    assert x.put_(flambeau.tensor([-1]), flambeau.ones(1))[-1, -1] == 1
    assert x.sum() == 1
