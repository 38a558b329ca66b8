"""Special functions of the prelude against mpmath, in units in the last place."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from test_accuracy import DTYPES, worst

from flambeau.core.formula import evaluate, parse


def _sizes(low, high, both=True):
    """Numbers of every size between two, and their negatives."""
    rng = np.random.default_rng(5)
    x = np.exp(rng.uniform(np.log(low), np.log(high), 250))
    return np.concatenate([x, -x]) if both else x


def _ends(low):
    """Numbers between 0 and 1 that come near 0, 1/2 and 1."""
    small = _sizes(low, 0.5, both=False)
    return np.concatenate([small, 0.5 + _sizes(1e-6, 0.4999), 1 - np.maximum(small, 2.0**-24)])


def _ndtri(p):
    if p > 1e-9:
        return mp.sqrt(2) * mp.erfinv(2 * p - 1)
    guess = -mp.sqrt(-2 * mp.log(p))
    return mp.findroot(lambda t: mp.log(mp.erfc(-t / mp.sqrt(2)) / 2) - mp.log(p), guess)


#: Function, points, reference, largest error allowed in f32 and f64.
CASES = [
    ("i0", _sizes(1e-5, 700), lambda x: mp.besseli(0, x), 0.51, 3),
    ("i1", _sizes(1e-5, 700), lambda x: mp.besseli(1, x), 0.51, 3),
    ("i0e", _sizes(1e-5, 1e5), lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), 0.51, 3),
    ("i1e", _sizes(1e-5, 1e5), lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), 0.51, 3),
    ("erfcx", _sizes(1e-5, 9), lambda x: mp.erfc(x) * mp.exp(x * x), 0.51, 5),
    ("erfcx", _sizes(9, 60, False), lambda x: mp.erfc(x) * mp.exp(x * x), 0.51, 4),
    ("ndtr", _sizes(1e-5, 12), lambda x: mp.erfc(-x / mp.sqrt(2)) / 2, 0.51, 6),
    ("log_ndtr", _sizes(1e-5, 12), lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2), 0.51, 7),
    (
        "erfinv",
        np.concatenate([_sizes(1e-30, 0.99), 1 - _sizes(1e-6, 0.1, False)]),
        mp.erfinv,
        0.75,
        3,
    ),
    ("ndtri", _ends(1e-36), _ndtri, 0.75, 4),
    ("logit", _ends(1e-30), lambda x: mp.log(x / (1 - x)), 2, 2),
    ("entr", _sizes(1e-20, 100, False), lambda x: -x * mp.log(x), 1.7, 1.7),
    ("sinc", _sizes(1e-5, 300), lambda x: mp.sin(mp.pi * x) / (mp.pi * x), 2.5, 3.5),
    ("mish", _sizes(1e-5, 80), lambda x: x * mp.tanh(mp.log1p(mp.exp(x))), 2.6, 3),
]


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize(
    ("name", "points", "reference", "f32", "f64"),
    CASES,
    ids=[f"{case[0]}-{i}" for i, case in enumerate(CASES)],
)
def test_special_functions_are_accurate(name, points, reference, f32, f64, kind):
    x = points.astype(DTYPES[kind])
    values = evaluate(parse(f"{name}(x)", ["x"]), {"x": x}, kind)[0]
    error = worst(name, reference, DTYPES[kind], [x], values)
    assert error[0] <= {"f32": f32, "f64": f64}[kind], error


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("i0", 713.0, 6.1e307),
        ("i0", np.inf, np.inf),
        ("i1", -np.inf, -np.inf),
        ("i0e", np.inf, 0.0),
        ("ndtri", 1e-300, -37.0471),
        ("ndtr", -38.0, 2.885428e-316),
        ("log_ndtr", -1e10, -5e19),
        ("erfcx", 1e200, 5.641895835477563e-201),
        ("erfcx", -27.0, np.inf),
        ("erfinv", 1e-300, 8.862269254527581e-301),
        ("entr", -1e-300, -np.inf),
        ("sinc", 3.0, 0.0),
        ("logit", 1.0, np.inf),
    ],
)
def test_far_values(name, x, expected):
    (value,) = evaluate(parse(f"{name}(x)", ["x"]), {"x": np.array([x])}, "f64")
    if np.isfinite(expected):
        np.testing.assert_allclose(value[0], expected, rtol=0.1 if x == 713.0 else 1e-6, atol=0)
    else:
        assert value[0] == expected


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_nextafter_is_that_of_numpy(kind):
    dtype = DTYPES[kind]
    info = np.finfo(dtype)
    ends = [0.0, -0.0, 1.0, -1.0, 1.5, info.tiny, info.max, info.smallest_subnormal]
    ends += [np.inf, -np.inf, np.nan]
    x, y = (g.ravel() for g in np.meshgrid(np.array(ends, dtype), np.array(ends, dtype)))
    (value,) = evaluate(parse("nextafter(x, y)", ["x", "y"]), {"x": x, "y": y}, kind)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(value, np.nextafter(x, y))
