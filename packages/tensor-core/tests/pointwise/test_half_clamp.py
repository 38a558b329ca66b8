"""Half precision between two numbers, for every element there is."""

import numpy as np
import pytest

import flambeau

INF, NAN = float("inf"), float("nan")
BOUNDS = [(0, 1), (1, -1), (-0.0, 0.0), (0.0, -0.0), (0.1, 0.3), (NAN, 1), (0, NAN), (-INF, INF),
          (1e-9, 1e9), (2.0001, 2.0002)]  # fmt: skip


@pytest.mark.parametrize("dtype", [flambeau.float16, flambeau.bfloat16])
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("count", [1, 63, 64, 65, 65536])
def test_one_pass_is_that_of_float32(dtype, bounds, count):
    every = flambeau.tensor(np.arange(65536, dtype=np.uint16).view(np.int16)).view(dtype)
    x = every[:count] if count % 2 else every[-count:]
    low, high = bounds
    wanted = x.float().clamp(min=low).clamp(max=high).to(dtype).float().numpy()
    given = x.clamp(low, high)
    assert given.dtype is dtype
    np.testing.assert_array_equal(given.float().numpy(), wanted)
    finite = wanted == wanted
    np.testing.assert_array_equal(np.signbit(given.float().numpy()[finite]),
                                  np.signbit(wanted[finite]))  # fmt: skip
    np.testing.assert_array_equal(x.clone().clamp_(low, high).float().numpy(), wanted)
