"""The hard cases of the primitives, in NumPy and compiled: one table, no undefined behaviour."""

from __future__ import annotations

import numpy as np
import pytest
from cpp import DTYPES, loop, run_loop

from flambeau.core.formula import evaluate, helpers, parse, render_function

LOW, HIGH = -(2**63), 2**63 - 1
INF, NAN = np.inf, np.nan
NEXT = float(np.nextafter(np.float32(1), np.float32(2)))

#: Formula, compute type, result type, operands and value.
CASES = [
    ("a + b", "i64", "i64", (HIGH, 1), LOW),
    ("a - b", "i64", "i64", (LOW, 1), HIGH),
    ("a * b", "i64", "i64", (HIGH, 2), -2),
    ("-a", "i64", "i64", (LOW,), LOW),
    ("abs(a)", "i64", "i64", (LOW,), LOW),
    ("a // b", "i64", "i64", (7, 0), 0),
    ("a % b", "i64", "i64", (7, 0), 0),
    ("a // b", "i64", "i64", (LOW, -1), LOW),
    ("a % b", "i64", "i64", (LOW, -1), 0),
    ("a // b", "i64", "i64", (-7, 2), -4),
    ("a % b", "i64", "i64", (-7, 2), 1),
    ("a % b", "i64", "i64", (7, -2), -1),
    ("truncdiv(a, b)", "i64", "i64", (-7, 2), -3),
    ("rem(a, b)", "i64", "i64", (-7, 2), -1),
    ("truncdiv(a, b)", "i64", "i64", (LOW, -1), LOW),
    ("a // b", "i64", "i64", (LOW, 3), LOW // 3),
    ("a % b", "i64", "i64", (HIGH, -3), HIGH % -3),
    ("a << b", "i64", "i64", (1, 63), LOW),
    ("a << b", "i64", "i64", (1, 64), 0),
    ("a << b", "i64", "i64", (1, -1), 0),
    ("a >> b", "i64", "i64", (-4, 70), -1),
    ("a >> b", "i64", "i64", (4, -1), 0),
    ("a >> b", "i64", "i64", (-8, 1), -4),
    ("shru(a, b)", "i64", "i64", (-1, 63), 1),
    ("shru(a, b)", "i64", "i64", (-1, 64), 0),
    ("a ** b", "i64", "i64", (3, 39), 3**39),
    ("a ** b", "i64", "i64", (3, 41), (3**41 + 2**63) % 2**64 - 2**63),
    ("a ** b", "i64", "i64", (2, -1), 0),
    ("a ** b", "i64", "i64", (-1, -3), -1),
    ("a ** b", "i64", "i64", (1, -3), 1),
    ("a ** b", "i64", "i64", (0, 0), 1),
    ("maximum(a, b)", "f32", "f32", (NAN, 1), NAN),
    ("maximum(a, b)", "f32", "f32", (1, NAN), NAN),
    ("minimum(a, b)", "f64", "f64", (1, NAN), NAN),
    ("maximum(a, b)", "f32", "f32", (0.0, -0.0), 0.0),
    ("maximum(a, b)", "f32", "f32", (-0.0, 0.0), -0.0),
    ("fmax(a, b)", "f32", "f32", (NAN, 1), 1),
    ("fmin(a, b)", "f64", "f64", (2, NAN), 2),
    ("rint(a)", "f32", "f32", (2.5,), 2),
    ("rint(a)", "f64", "f64", (-0.3,), -0.0),
    ("trunc(a)", "f32", "f32", (-1.7,), -1),
    ("floor(a)", "f64", "f64", (-1.2,), -2),
    ("ceil(a)", "f32", "f32", (-0.5,), -0.0),
    ("copysign(a, b)", "f32", "f32", (3, -0.0), -3),
    ("a / b", "f32", "f32", (1, -0.0), -INF),
    ("a / b", "f64", "f64", (0, 0), NAN),
    ("abs(a)", "f32", "f32", (-0.0,), 0.0),
    ("sqrt(a)", "f32", "f32", (-1,), NAN),
    ("fma(a, a, b)", "f32", "f32", (NEXT, -1 - 2.0**-22), 2.0**-46),
    ("mul_err(a, a) + b", "f32", "f32", (NEXT, 0), 2.0**-46),
    ("a == b", "f32", "bool", (NAN, NAN), 0),
    ("a != b", "f32", "bool", (NAN, NAN), 1),
    ("a == b", "f64", "bool", (0.0, -0.0), 1),
    ("bool(a)", "f32", "bool", (NAN,), 1),
    ("signbit(a)", "f32", "bool", (-0.0,), 1),
    ("i64(a)", "f32", "i64", (NAN,), LOW),
    ("i64(a)", "f64", "i64", (1e300,), LOW),
    ("i64(a)", "f32", "i64", (-INF,), LOW),
    ("i64(a)", "f64", "i64", (-2.9,), -2),
    ("i64(a)", "f64", "i64", (-(2.0**63),), LOW),
    ("i64(i32(a))", "f32", "i64", (3e9,), -(2**31)),
    ("i64(i32(a))", "f64", "i64", (-2147483648.5,), -(2**31)),
    ("i64(i32(a))", "f64", "i64", (2147483647.5,), 2**31 - 1),
    ("i64(i32(a))", "i64", "i64", (2**32 + 5,), 5),
    ("i64(bits(a))", "f32", "i64", (-0.0,), -(2**31)),
    ("f64(f32(a))", "f64", "f64", (1e300,), INF),
    ("a if b else 5", "f32", "f32", (NAN, 0), 5),
    ("a & ~b", "bool", "bool", (1, 0), 1),
    ("a ^ b", "bool", "bool", (1, 1), 0),
    ("a if b else ~b", "bool", "bool", (0, 0), 1),
    ("isinf(a)", "f32", "bool", (-INF,), 1),
    ("isfinite(a)", "f64", "bool", (NAN,), 0),
    ("conj(a) * b", "c64", "c64", (1 + 2j, 3 - 1j), (1 - 2j) * (3 - 1j)),
    ("a / b", "c128", "c128", (1 + 2j, 1e300 + 1e300j), (1.5 + 0.5j) * 1e-300),
    ("abs(a)", "c128", "f64", (3 * 2.0**600 + 4 * 2.0**600 * 1j,), 5 * 2.0**600),
    ("real(a) + imag(a)", "c64", "f32", (2 - 3j,), -1),
]
LEVELS = ("-march=x86-64-v2", "-march=x86-64-v3")


@pytest.mark.parametrize(("text", "compute", "result", "values", "expected"), CASES)
def test_value_in_numpy(text, compute, result, values, expected):
    env = {name: np.array([v], DTYPES[compute]) for name, v in zip("ab", values, strict=False)}
    env = {k: v.astype(bool) if compute == "bool" else v for k, v in env.items()}
    (value,) = evaluate(parse(text, list(env)), env, compute, results=[result])
    check(value[0], expected)


@pytest.fixture(scope="module", params=LEVELS)
def library(request, compiler):
    """All cases compiled at once."""
    if request.param != LEVELS[0] and not compiler.cpu_has_fma:
        pytest.skip("needs a processor with FMA")
    source = helpers("c++")
    for number, (text, compute, result, values, _) in enumerate(CASES):
        names = list("ab"[: len(values)])
        source += render_function(f"f{number}", parse(text, names), names, (), compute, result)
        source += loop(f"f{number}", result, [compute] * len(values))
    return compiler.library(source, request.param)


@pytest.mark.parametrize("number", range(len(CASES)))
def test_value_compiled(number, library, request):
    text, compute, result, values, expected = CASES[number]
    if "fma" in text and "v2" in request.node.name:
        pytest.skip("fma is rounded twice without the instruction")
    operands = [np.full(3, value, DTYPES[compute]) for value in values]
    for value in run_loop(library, f"f{number}", result, *operands):
        check(value, expected)


def check(value, expected):
    """Equal, with the sign of zero."""
    if isinstance(expected, float) and expected != expected:
        assert value != value
        return
    if isinstance(expected, complex):
        np.testing.assert_allclose(value, expected, rtol=1e-6)
        return
    assert value == expected
    if isinstance(expected, float) and expected == 0:
        assert np.signbit(value) == np.signbit(expected)


def test_float_operations_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    values = [0.0, -0.0, 0.3, -7.5, 2.5, 1e30, INF, -INF, NAN]
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    pairs = {
        "maximum(x, y)": torch.maximum,
        "minimum(x, y)": torch.minimum,
        "x // y": torch.floor_divide,
        "x % y": torch.remainder,
        "fmod(x, y)": torch.fmod,
        "fmax(x, y)": torch.fmax,
        "sign(x)": lambda a, b: torch.sign(a),
        "i64(x)": lambda a, b: a.to(torch.int64),
        "relu(x)": lambda a, b: torch.relu(a),
    }
    for text, function in pairs.items():
        (value,) = evaluate(parse(text, ["x", "y"]), {"x": x, "y": y}, "f64")
        expected = function(torch.tensor(x), torch.tensor(y)).numpy()
        np.testing.assert_array_equal(value, expected, err_msg=text)
