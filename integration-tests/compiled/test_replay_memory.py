"""Replays over memory that is reached in two ways, and where kernels fail: as uncompiled."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau


def test_arrays_over_the_same_memory():
    """Loops are planned as if memories lay apart."""
    array = np.arange(4, dtype="float32")
    one, other = flambeau.from_numpy(array), flambeau.from_numpy(array[1:])

    def fn(x):
        one.add_(1)
        read = other * 2
        other.add_(1)
        return x * read, one * 1

    run = flambeau.compile(fn, replay=True, check_every=0)
    for k in range(4):
        array[:] = range(k, k + 4)
        wanted = [each.tolist() for each in fn(flambeau.ones(3))]
        array[:] = range(k, k + 4)
        assert [each.tolist() for each in run(flambeau.ones(3))] == wanted


def test_errors_count_the_writes_before_them():
    total, index = flambeau.zeros(3), flambeau.tensor([0, 1])

    def fn(x):
        total.add_(1)
        x.mul_(2)
        chosen = x[index]
        total.mul_(2)
        x.add_(1)
        return chosen

    run = flambeau.compile(fn, replay=True, check_every=0)
    for _ in range(4):
        run(flambeau.ones(3))
    assert run.earned()
    index.fill_(9)
    versions, values = total._version, total.clone()
    x = flambeau.ones(3)
    with pytest.raises(IndexError):
        run(x)
    assert (total._version - versions, x._version) == (1, 1)
    assert total.tolist() == (values + 1).tolist()
    assert x.tolist() == [2.0, 2.0, 2.0]
