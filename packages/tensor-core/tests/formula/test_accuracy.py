"""The prelude against mpmath, in units in the last place."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from points import spread

import flambeau
from flambeau.core.formula import evaluate, parse

DTYPES = {"f32": np.float32, "f64": np.float64}

#: Function, reference, largest error allowed in f32 and f64.
UNARY = [
    ("exp", mp.exp, 1, 1),
    ("exp2", lambda x: mp.mpf(2) ** x, 1.1, 1.1),
    ("expm1", mp.expm1, 1.5, 2),
    ("log", mp.log, 1, 1),
    ("log2", lambda x: mp.log(x, 2), 1.5, 1.5),
    ("log10", mp.log10, 1.7, 1.7),
    ("log1p", lambda x: mp.log1p(x), 1.5, 1.5),
    ("sin", mp.sin, 0.51, 2.5),
    ("cos", mp.cos, 0.51, 2.5),
    ("tan", mp.tan, 2.7, 3.7),
    ("asin", mp.asin, 1.8, 1.8),
    ("acos", mp.acos, 1.3, 1.3),
    ("atan", mp.atan, 1.7, 2),
    ("sinh", mp.sinh, 1.7, 1.7),
    ("cosh", mp.cosh, 1.5, 1.5),
    ("tanh", mp.tanh, 1.6, 1.6),
    ("asinh", mp.asinh, 2, 2),
    ("acosh", mp.acosh, 2.5, 2.5),
    ("atanh", mp.atanh, 2.2, 2.2),
    ("erf", mp.erf, 1.4, 1.4),
    ("erfc", mp.erfc, 4, 4),
    ("sigmoid", lambda x: 1 / (1 + mp.exp(-x)), 2.4, 2.6),
    ("softplus", lambda x: mp.log1p(mp.exp(x)), 2, 2),
    ("rsqrt", lambda x: 1 / mp.sqrt(x), 1.6, 1.6),
    ("sqrt", mp.sqrt, 0.5, 0.5),
]
BINARY = [
    ("pow", mp.power, 0.51, 1.3),
    ("atan2", lambda y, x: mp.atan2(y, x), 1.7, 1.8),
    ("hypot", mp.hypot, 0.51, 1.3),
]


def in_ulps(value: float, exact: mp.mpf, dtype: type) -> float:
    """Distance in units in the last place of the exact value; infinite if the kind differs."""
    with np.errstate(over="ignore"):
        rounded = dtype(float(exact))
    if not np.isfinite(value) or np.isinf(rounded):
        return 0.0 if value == rounded or near_overflow(value, exact, dtype) else np.inf
    info = np.finfo(dtype)
    exponent = mp.frexp(exact)[1] if exact else 0
    unit = max(mp.mpf(2) ** (exponent - info.nmant - 1), mp.mpf(float(info.smallest_subnormal)))
    return float(abs(mp.mpf(float(value)) - exact) / unit)


def near_overflow(value: float, exact: mp.mpf, dtype: type) -> bool:
    """At the very end of the range either the largest number or inf will do."""
    largest = mp.mpf(float(np.finfo(dtype).max))
    return abs(abs(exact) - largest) / largest < mp.mpf(2) ** -20


def worst(name, reference, dtype, columns, values):
    """The largest error over the points where the reference is a real number."""
    errors = []
    with mp.workdps(60):
        for *arguments, value in zip(*columns, values, strict=True):
            try:
                exact = reference(*(mp.mpf(float(a)) for a in arguments))
            except (ValueError, ZeroDivisionError, OverflowError):
                continue
            if isinstance(exact, mp.mpc) or not mp.isfinite(exact):
                continue
            errors.append((in_ulps(value, exact, dtype), *arguments, value))
    assert len(errors) > 200
    return max(errors, key=lambda error: error[0])


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize(("name", "reference", "f32", "f64"), UNARY, ids=[u[0] for u in UNARY])
def test_unary_functions_are_accurate(name, reference, f32, f64, kind):
    dtype = DTYPES[kind]
    x = spread(dtype, 250)
    limit = 2.0**40 if name in ("sin", "cos", "tan") else 1e5
    x = x[np.isfinite(x) & (np.abs(x) < limit)]
    values = evaluate(parse(f"{name}(x)", ["x"]), {"x": x}, kind)[0]
    error = worst(name, reference, dtype, [x], values)
    assert error[0] <= {"f32": f32, "f64": f64}[kind], error


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize(("name", "reference", "f32", "f64"), BINARY, ids=[b[0] for b in BINARY])
def test_binary_functions_are_accurate(name, reference, f32, f64, kind):
    dtype = DTYPES[kind]
    x, y = spread(dtype, 300), spread(dtype, 300, seed=1)
    y = np.random.default_rng(2).permutation(y)
    keep = np.isfinite(x) & np.isfinite(y) & (np.abs(y) < 1e6) & (np.abs(x) < 1e6)
    keep &= (x > 0) | (name != "pow")
    x, y = x[keep], y[keep]
    values = evaluate(parse(f"{name}(x, y)", ["x", "y"]), {"x": x, "y": y}, kind)[0]
    error = worst(name, reference, dtype, [x, y], values)
    assert error[0] <= {"f32": f32, "f64": f64}[kind], error


#: From, to, largest error in units in the last place: the tail keeps three digits to -7.
GELU_F32 = [(-1, 30, 2.5), (-2, -1, 10), (-3, -2, 80), (-7, -3, 25000)]


@pytest.mark.parametrize(("low", "high", "limit"), GELU_F32)
def test_gelu_is_accurate(low, high, limit):
    x = np.linspace(low, high, 4001, dtype=np.float32)
    x = x[np.abs(x) < 6.99]
    (values,) = evaluate(parse("gelu(x)", ["x"]), {"x": x}, "f32")
    error = worst("gelu", lambda v: v * mp.ncdf(v), np.float32, [x], values)
    assert error[0] <= limit, error


SPECIAL_VALUES = {
    "exp": [(0, 1), (np.inf, np.inf), (-np.inf, 0)],
    "expm1": [(0.0, 0.0), (-0.0, -0.0), (np.inf, np.inf), (-np.inf, -1)],
    "log": [(0.0, -np.inf), (-0.0, -np.inf), (1, 0), (-1, np.nan), (np.inf, np.inf)],
    "log1p": [(-0.0, -0.0), (-1, -np.inf), (-2, np.nan), (np.inf, np.inf)],
    "log2": [(8, 3), (0, -np.inf), (2.0**-120, -120), (np.inf, np.inf)],
    "log10": [(1000, 3), (0, -np.inf)],
    "sin": [(-0.0, -0.0), (np.inf, np.nan)],
    "cos": [(0, 1), (-np.inf, np.nan)],
    "tan": [(-0.0, -0.0), (np.inf, np.nan)],
    "tanh": [(-0.0, -0.0), (np.inf, 1), (-np.inf, -1)],
    "sinh": [(-0.0, -0.0), (np.inf, np.inf), (-np.inf, -np.inf)],
    "cosh": [(np.inf, np.inf), (-np.inf, np.inf)],
    "asin": [(-0.0, -0.0), (1.5, np.nan)],
    "acos": [(1, 0.0), (-2, np.nan)],
    "atan": [(-0.0, -0.0), (np.inf, np.pi / 2), (-np.inf, -np.pi / 2)],
    "asinh": [(-0.0, -0.0), (np.inf, np.inf), (-np.inf, -np.inf)],
    "acosh": [(1, 0.0), (0.5, np.nan), (-3, np.nan), (np.inf, np.inf)],
    "atanh": [(-0.0, -0.0), (1, np.inf), (-1, -np.inf), (2, np.nan)],
    "erf": [(-0.0, -0.0), (np.inf, 1), (-np.inf, -1)],
    "erfc": [(np.inf, 0.0), (-np.inf, 2), (0, 1)],
    "erfinv": [(-0.0, -0.0), (1, np.inf), (-1, -np.inf), (1.5, np.nan)],
    "sigmoid": [(0, 0.5), (np.inf, 1), (-np.inf, 0)],
    "rsqrt": [(0.0, np.inf), (-0.0, -np.inf), (-1, np.nan), (np.inf, 0)],
    "lgamma": [(1, 0), (2, 0), (0, np.inf), (-1, np.inf)],
    "digamma": [(0.0, -np.inf), (-0.0, np.inf), (-2, np.nan), (np.inf, np.inf)],
    "relu": [(-1, 0), (2, 2)],
    "gelu": [(0.0, 0.0), (-0.0, -0.0), (np.inf, np.inf), (-np.inf, np.nan), (-20, -0.0)],
    "sign": [(-3, -1), (0, 0), (np.inf, 1)],
}


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", SPECIAL_VALUES)
def test_special_values(name, kind):
    dtype = DTYPES[kind]
    points = [*SPECIAL_VALUES[name], (np.nan, 0.0 if name == "sign" else np.nan)]
    x = np.array([p[0] for p in points], dtype)
    expected = np.array([p[1] for p in points], dtype)
    (value,) = evaluate(parse(f"{name}(x)", ["x"]), {"x": x}, kind)
    np.testing.assert_array_equal(value, expected)
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(value[zero]), np.signbit(expected[zero]))


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", ["pow", "atan2", "hypot", "fmod"])
def test_special_pairs_are_those_of_numpy(name, kind):
    dtype = DTYPES[kind]
    info = np.finfo(dtype)
    positions = [0.0, 0.5, 1, 1.5, 2, 3, 1e9, info.max, info.tiny, np.inf, np.nan]
    values = np.array([*positions, *(-p for p in positions)], dtype)
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        expected = {"pow": np.power, "atan2": np.arctan2}.get(name, getattr(np, name, None))(x, y)
    (value,) = evaluate(parse(f"{name}(x, y)", ["x", "y"]), {"x": x, "y": y}, kind)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(value), ~number)
    np.testing.assert_array_equal(np.signbit(value[number]), np.signbit(expected[number]))
    np.testing.assert_allclose(value[number], expected[number], rtol=4 * info.eps)


def test_python_division_of_floats():
    x, y = (g.ravel() for g in np.meshgrid([7.5, -7.5, 0.0, -0.0, 1e300], [2.0, -2.0, 0.3, 7.0]))
    env = {"x": x, "y": y}
    quotient, remainder = evaluate(parse("x // y, x % y", ["x", "y"]), env, "f64")
    np.testing.assert_array_equal(quotient, [a // b for a, b in zip(x, y, strict=True)])
    np.testing.assert_array_equal(remainder, [a % b for a, b in zip(x, y, strict=True)])


@pytest.mark.parametrize(
    ("name", "reference", "tolerance"),
    [
        ("digamma", lambda x: mp.psi(0, x), 4e-15),
        ("trigamma", lambda x: mp.psi(1, x), 4e-15),
        ("lgamma", lambda x: mp.log(abs(mp.gamma(x))), 4e-15),
        ("erfinv", mp.erfinv, 1e-15),
    ],
)
def test_special_functions(name, reference, tolerance):
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.uniform(-4.9, 4.9, 60), rng.uniform(5, 50, 20)])
    if name == "erfinv":
        x = np.concatenate([rng.uniform(-1, 1, 60), 1 - 2.0 ** -rng.uniform(2, 50, 20), [1e-300]])
    (value,) = evaluate(parse(f"{name}(x)", ["x"]), {"x": x}, "f64")
    with mp.workdps(40):
        expected = np.array([float(reference(mp.mpf(float(a)))) for a in x])
    np.testing.assert_allclose(value, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_angles_beside_the_axis_are_the_same_on_both_sides(dtype):
    y = np.array([1e-30, 0.5, 1.0, 2.0, 1e30, np.inf], dtype)
    y = np.concatenate([y, -y])
    right, left = (flambeau.atan2(flambeau.from_numpy(y.copy()), flambeau.full(
        (len(y),), zero, dtype=getattr(flambeau, dtype))) for zero in (0.0, -0.0))
    assert flambeau.equal(right, left)
    assert np.array_equal(right.numpy(), np.copysign(np.pi / 2, y).astype(dtype))
