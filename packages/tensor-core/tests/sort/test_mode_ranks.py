"""The most frequent element of a line beside counts, and beside PyTorch's indices."""

import numpy as np
import pytest

import flambeau

LIMITS = np.iinfo(np.int64)
CASES = {"int64": (0, 9), "uint8": (0, 255), "bool": (0, 1), "float32": (-4, 4),
         "float64": (-40, 40), "bfloat16": (-3, 3)}


def lines(dtype, count):
    numbers = np.random.default_rng(count).integers(*CASES[dtype], (40, count), endpoint=True)
    return flambeau.tensor(numbers).to(getattr(flambeau, dtype))


@pytest.mark.parametrize("dtype", CASES)
@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 100, 1000])
def test_the_least_of_the_most_frequent(dtype, count):
    x = lines(dtype, count)
    values, positions = x.mode(-1)
    assert values.equal(x.gather(-1, positions[:, None])[:, 0])
    for line, value in zip(x.double().tolist(), values.double().tolist(), strict=True):
        found, counts = np.unique(line, return_counts=True)
        assert value == found[counts.argmax()]
    turned = x.t().mode(0)
    assert turned.values.equal(values) and turned.indices.equal(positions)


def test_integers_far_apart():
    x = flambeau.tensor([[LIMITS.max, LIMITS.min, LIMITS.max, 0], [2**40, 0, 2**40, 1],
                         [2**32 - 1, 0, 0, 5], [2**32, 0, 2**32, 5]])
    assert x.mode().values.tolist() == [LIMITS.max, 2**40, 0, 2**32]


def test_zeros_are_equal_and_nan_are_not():
    nan = float("nan")
    x = flambeau.tensor([[nan, nan, nan, 2.0, 2.0], [-0.0, 0.0, 1.0, nan, 1.5],
                         [nan, nan, nan, nan, nan], [3.0, nan, 1.0, nan, 2.0]])
    values = x.mode().values
    assert values[:2].tolist() == [2.0, 0.0] and values[2].isnan() and values[3].item() == 1.0


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", CASES)
@pytest.mark.parametrize("count", [2, 16, 17, 100, 1000])
def test_indices_of_pytorch(dtype, count):
    torch = pytest.importorskip("torch")
    x = lines(dtype, count)
    theirs = torch.tensor(x.tolist(), dtype=getattr(torch, dtype)).mode()
    assert x.mode().indices.tolist() == theirs.indices.tolist()
