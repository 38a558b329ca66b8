"""``unique`` of bools finds what it finds for the same numbers as bytes."""

import numpy as np
import pytest

import flambeau
from flambeau.core import ops


@pytest.mark.parametrize("shape", [(), (0,), (1,), (5,), (3, 4), (0, 3), (30, 70)])
@pytest.mark.parametrize("share", [0, 0.5, 1])
@pytest.mark.parametrize("turned", [False, True])
def test_values_inverse_and_counts(shape, share, turned):
    x = flambeau.tensor(np.asarray(np.random.default_rng(0).random(shape) < share))
    x = x.t() if turned and x.ndim == 2 else x
    for inverse, counts in [(False, False), (True, False), (False, True), (True, True)]:
        found = ops.unique(x, True, inverse, counts)
        wanted = ops.unique(x.to(flambeau.uint8), True, inverse, counts)
        found, wanted = (each if isinstance(each, tuple) else (each,) for each in (found, wanted))
        assert len(found) == len(wanted) and found[0].dtype is flambeau.bool
        np.testing.assert_array_equal(found[0].numpy(), wanted[0].numpy().astype(bool))
        for one, other in zip(found[1:], wanted[1:], strict=True):
            assert one.dtype is other.dtype
            assert one.shape == other.shape
            np.testing.assert_array_equal(one.numpy(), other.numpy())
