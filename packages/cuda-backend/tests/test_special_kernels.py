"""Special functions on the simulated device are those of the CPU, bit for bit."""
from __future__ import annotations

import numpy as np
import pytest

import flambeau as fl
from flambeau.core import _core
from flambeau.cuda import special

_VALUES = [0.0, -0.0, 0.3, -0.7, 1.0, 1.5, 2.0, -3.0, 7.25, 30.0, -30.0, 800.0, 1e-300,
           float("inf"), -float("inf"), float("nan")]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int32"])
@pytest.mark.parametrize("key", special.FUNCTIONS)
def test_bits_are_those_of_the_cpu(simulated, key, dtype):
    function = special.FUNCTIONS[key]
    if (dtype == "int32") != (function.kind == "i64") and key != "zeta":
        return      # floats have no common divisor, and integers become floats
    finite = [v if np.isfinite(v) else 4 for v in _VALUES] if dtype == "int32" else _VALUES
    a = fl.tensor(finite).to(getattr(fl, dtype))
    given = [a[:, None], a.abs()] if function.operands == 2 else [a]
    if function.operands == 3:
        given = [a.abs() / 900, a.abs(), a.abs() + 1]
    strided = [x.repeat_interleave(2, -1)[..., ::2] for x in given]
    for operands in (given, strided, [x[:0] for x in given]):
        want = _core.call(key, operands)
        got = _core.call(key, [x.to(simulated.name) for x in operands])
        for here, there in zip(_several(got), _several(want), strict=True):
            assert here.dtype == there.dtype and here.shape == there.shape
            np.testing.assert_array_equal(_bits(here.cpu()), _bits(there))


def test_numbers_stand_for_operands(simulated):
    x = fl.tensor([2, 3, 4]).to(simulated.name)
    assert fl.special.chebyshev_polynomial_t(x, 2).cpu().tolist() == [7.0, 17.0, 31.0]
    assert fl.special.hermite_polynomial_h(2.0, x).cpu().tolist() == [14.0, 40.0, 76.0]
    assert fl.gcd(x, x.new_tensor(6)).cpu().tolist() == [2, 3, 2]


def _several(made):
    return made if isinstance(made, (tuple, list)) else (made,)


def _bits(x):
    """Values, of which any NaN is as good as another."""
    values = x.double().numpy()
    return np.where(np.isnan(values), np.nan, values)
