"""Blocks that index_put writes, and integers that scatter_add adds, beside NumPy."""

import numpy as np
import pytest

import flambeau

DTYPES = ("bool", "uint8", "int16", "int32", "float32", "float64", "complex128")
SHAPES = [(7,), (7, 1), (7, 5), (7, 300), (7, 3, 5), (7, 2048, 3)]


def numbers(shape, dtype, seed=0):
    return np.random.default_rng(seed).integers(0, 100, shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_rows(dtype, shape):
    index = [3, 0, 3, -1, 5]            # of equal ones the last is kept
    for given in (numbers((5, *shape[1:]), dtype, 1), numbers((), dtype, 1),
                  numbers((1,) * len(shape), dtype, 1), numbers(shape[1:], dtype, 1)):
        wanted, x = numbers(shape, dtype), flambeau.from_numpy(numbers(shape, dtype))
        wanted[index] = given
        x[flambeau.tensor(index)] = flambeau.from_numpy(given)
        np.testing.assert_array_equal(x.numpy(), wanted)


@pytest.mark.parametrize("dtype", DTYPES)
def test_layouts(dtype):
    index, places = np.array([2, 0, 2]), flambeau.tensor([2, 0, 2])
    for view in (lambda a: a.T, lambda a: a[:, ::2], lambda a: a[:, 1:4], lambda a: a[::-1]):
        wanted = numbers((9, 8), dtype)
        x = flambeau.from_numpy(wanted.copy())
        part = view(wanted)
        target = x.T if part.base is not None and part.strides == wanted.T.strides else None
        if target is None:
            target = x.flip(0) if part.strides[0] < 0 else view(x)
        for given in (numbers((3, part.shape[1]), dtype, 2), numbers((), dtype, 2)):
            part[index] = given
            target[places] = flambeau.from_numpy(given)
            np.testing.assert_array_equal(target.numpy(), part)


@pytest.mark.parametrize("dtype", DTYPES)
def test_columns_and_elements(dtype):
    for given in (numbers((6, 3), dtype, 3), numbers((), dtype, 3)):
        wanted, x = numbers((6, 8), dtype), flambeau.from_numpy(numbers((6, 8), dtype))
        wanted[:, [1, 7, 1]] = given
        x[:, flambeau.tensor([1, 7, 1])] = flambeau.from_numpy(given)
        np.testing.assert_array_equal(x.numpy(), wanted)
    wanted, x = numbers((6, 8), dtype), flambeau.from_numpy(numbers((6, 8), dtype))
    wanted[[1, 5], [0, 7]] = numbers((), dtype, 4)
    x[flambeau.tensor([1, 5]), flambeau.tensor([0, 7])] = flambeau.from_numpy(
        numbers((), dtype, 4))
    np.testing.assert_array_equal(x.numpy(), wanted)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64", "uint64"])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_integers_are_added_in_their_width(dtype, dim):
    rng = np.random.default_rng(0)
    x, source = numbers((5, 6, 7), dtype), numbers((5, 6, 7), dtype, 1)
    index = rng.integers(0, x.shape[dim], x.shape)
    wanted = x.copy()
    with np.errstate(over="ignore"):
        for at in np.ndindex(*index.shape):
            to = list(at)
            to[dim] = index[at]
            wanted[tuple(to)] += source[at]
    flipped = flambeau.from_numpy(x.T.copy()).permute(2, 1, 0)
    for given in (flambeau.from_numpy(x), flipped):
        found = given.scatter_add(dim, flambeau.from_numpy(index),
                                  flambeau.from_numpy(source.T.copy()).permute(2, 1, 0))
        np.testing.assert_array_equal(found.numpy(), wanted)
        assert given.scatter_add_(dim, flambeau.from_numpy(index),
                                  flambeau.from_numpy(source)) is given
        np.testing.assert_array_equal(given.numpy(), wanted)
