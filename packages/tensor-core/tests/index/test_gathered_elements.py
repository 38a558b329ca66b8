"""gather and scatter over indices of any shape and strides, beside loops over their elements."""
from __future__ import annotations

import numpy as np
import pytest

import flambeau as fl

DTYPES = ("bool", "uint8", "int16", "int64", "float32", "float64", "complex64", "complex128")


def _moved(n, a):
    """The array as a tensor whose memory lies in another order."""
    order = n.permutation(a.ndim).tolist()
    back = np.argsort(order).tolist()
    return fl.from_numpy(np.ascontiguousarray(a.transpose(order))).permute(back)


def _draw(seed, dtype):
    n = np.random.default_rng(seed)
    shape = n.choice([1, 1, 2, 3, 5, 8], n.integers(1, 5)).tolist()
    dim = int(n.integers(len(shape)))
    smaller = [max(1, size - int(n.integers(2))) for size in shape]
    smaller[dim] = int(n.choice([0, 1, 2, 7]))
    index = n.integers(0, shape[dim], smaller)
    self = (n.standard_normal(shape) * 9).astype(dtype)
    larger = [max(sizes) for sizes in zip(shape, smaller, strict=True)]
    source = (n.standard_normal(larger) * 9).astype(dtype)
    return n, dim, index, self, source


def _targets(index, dim):
    """Every element of an index, and where it leads."""
    for at in np.ndindex(*index.shape):
        yield at, (*at[:dim], int(index[at]), *at[dim + 1:])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(25))
def test_each_element_is_met(dtype, seed):
    n, dim, index, self, source = _draw(seed, dtype)
    x, i, y = _moved(n, self), _moved(n, index), _moved(n, source)
    read = np.empty(index.shape, dtype)
    written, filled, added = self.copy(), self.copy(), self.copy()
    for at, to in _targets(index, dim):
        read[at] = self[to]
        written[to] = source[at]
        filled[to] = 1
        added[to] = np.add(added[to], source[at])
    assert np.array_equal(x.gather(dim, i).numpy(), read)
    assert np.array_equal(x.scatter(dim, i, y).numpy(), written)
    assert np.array_equal(x.scatter(dim, i, 1).numpy(), filled)
    assert np.array_equal(x.scatter_add(dim, i, y).numpy(), added)


@pytest.mark.parametrize("reduce", ["sum", "prod", "amax", "amin"])
@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("seed", range(10))
def test_each_element_is_reduced(reduce, include, seed):
    n, dim, index, self, source = _draw(seed, "float64")
    step = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}[reduce]
    expected, met = self.copy(), set()
    for at, to in _targets(index, dim):
        first = not include and to not in met
        expected[to] = source[at] if first else step(expected[to], source[at])
        met.add(to)
    found = _moved(n, self).scatter_reduce(dim, _moved(n, index), _moved(n, source), reduce,
                                           include_self=include)
    assert np.allclose(found.numpy(), expected, rtol=1e-13)


def test_one_element_of_each_of_many_rows():
    n = np.random.default_rng(0)
    rows, column = n.standard_normal((9000, 5)), n.integers(0, 5, (9000, 1))
    x, i = fl.from_numpy(rows), fl.from_numpy(column)
    assert np.array_equal(x.gather(1, i).numpy(), np.take_along_axis(rows, column, 1))
    np.put_along_axis(rows, column, 7, 1)
    assert np.array_equal(x.scatter(1, i, 7).numpy(), rows)


def test_one_element_of_a_tensor_without_dimensions():
    x, i = fl.tensor(2.0), fl.tensor(0)
    assert x.gather(0, i).item() == 2
    assert x.scatter(0, i, 5.0).item() == 5
    assert x.gather(0, fl.tensor([0])).tolist() == [2.0]
