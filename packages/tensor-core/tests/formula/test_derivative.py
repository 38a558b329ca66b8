"""Derivatives against mpmath's numerical ones, and PyTorch's conventions at corners."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from flambeau.core.formula import (
    FormulaError,
    evaluate,
    grad_formulas,
    param,
    parse,
    to_text,
)
from flambeau.core.formula.derivative import derivative

UNIT, POSITIVE, ALL = (-0.9, 0.9), (0.1, 4.0), (-3.0, 3.0)

FUNCTIONS = {
    "exp": (mp.exp, ALL),
    "exp2": (lambda x: mp.mpf(2) ** x, ALL),
    "expm1": (mp.expm1, ALL),
    "log": (mp.log, POSITIVE),
    "log2": (lambda x: mp.log(x, 2), POSITIVE),
    "log10": (mp.log10, POSITIVE),
    "log1p": (mp.log1p, POSITIVE),
    "sqrt": (mp.sqrt, POSITIVE),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), POSITIVE),
    "reciprocal": (lambda x: 1 / x, POSITIVE),
    "square": (lambda x: x * x, ALL),
    "sin": (mp.sin, ALL),
    "cos": (mp.cos, ALL),
    "tan": (mp.tan, UNIT),
    "asin": (mp.asin, UNIT),
    "acos": (mp.acos, UNIT),
    "atan": (mp.atan, ALL),
    "sinh": (mp.sinh, ALL),
    "cosh": (mp.cosh, ALL),
    "tanh": (mp.tanh, ALL),
    "asinh": (mp.asinh, ALL),
    "acosh": (mp.acosh, (1.1, 4.0)),
    "atanh": (mp.atanh, UNIT),
    "erf": (mp.erf, ALL),
    "erfc": (mp.erfc, ALL),
    "erfinv": (mp.erfinv, UNIT),
    "lgamma": (mp.loggamma, POSITIVE),
    "digamma": (lambda x: mp.psi(0, x), POSITIVE),
    "sigmoid": (lambda x: 1 / (1 + mp.exp(-x)), ALL),
    "logsigmoid": (lambda x: -mp.log1p(mp.exp(-x)), ALL),
    "silu": (lambda x: x / (1 + mp.exp(-x)), ALL),
    "softplus": (lambda x: mp.log1p(mp.exp(x)), ALL),
    "mish": (lambda x: x * mp.tanh(mp.log1p(mp.exp(x))), ALL),
    "gelu": (lambda x: x * mp.ncdf(x), ALL),
    "gelu_tanh": (
        lambda x: x / 2 * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3))),
        ALL,
    ),
    "abs": (abs, ALL),
    "relu": (lambda x: max(x, 0), ALL),
}
PAIRS = {
    "a * b": lambda a, b: a * b,
    "a / b": lambda a, b: a / b,
    "a - 2 * b": lambda a, b: a - 2 * b,
    "a ** b": lambda a, b: a**b,
    "a ** 3 + b ** -1": lambda a, b: a**3 + 1 / b,
    "atan2(a, b)": mp.atan2,
    "hypot(a, b)": mp.hypot,
    "fmod(a, b)": lambda a, b: a - b * int(a / b),
    "a % b": lambda a, b: a - b * mp.floor(a / b),
    "maximum(a, b)": max,
    "fmin(a, b)": min,
    "clamp(a, 1, b)": lambda a, b: min(max(a, 1), b),
    "fma(a, b, a)": lambda a, b: a * b + a,
    "a if a < b else b * b": lambda a, b: a if a < b else b * b,
    "copysign(a, -b)": lambda a, b: -a,
    "floor(a) + sign(b) * a": lambda a, b: mp.floor(a) + a,
    "exp(sin(a) * b) / (1 + a * a)": lambda a, b: mp.exp(mp.sin(a) * b) / (1 + a * a),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_one_argument(name):
    reference, (low, high) = FUNCTIONS[name]
    x = np.linspace(low, high, 40)
    (value,) = evaluate([derivative(*parse(f"{name}(x)", ["x"]), "x")], {"x": x}, "f64")
    with mp.workdps(40):
        expected = [float(mp.diff(reference, mp.mpf(float(v)))) for v in x]
    np.testing.assert_allclose(value, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("text", PAIRS)
def test_formulas_of_two_operands(text):
    rng = np.random.default_rng(7)
    a, b = rng.uniform(0.2, 3, 30), rng.uniform(1.2, 3, 30)
    (formula,) = parse(text, ["a", "b"])
    for position, name in enumerate("ab"):
        (value,) = evaluate([derivative(formula, name)], {"a": a, "b": b}, "f64")
        with mp.workdps(40):
            order = (1, 0) if position == 0 else (0, 1)
            points = [(mp.mpf(float(p)), mp.mpf(float(q))) for p, q in zip(a, b, strict=True)]
            expected = [float(mp.diff(PAIRS[text], point, order)) for point in points]
        np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["tanh", "exp", "sigmoid", "gelu", "log", "pow"])
def test_second_derivatives(name):
    text = "x ** 3.5" if name == "pow" else f"{name}(x)"
    (formula,) = parse(text, ["x"])
    x = np.linspace(0.3, 2, 20)
    (value,) = evaluate([derivative(derivative(formula, "x"), "x")], {"x": x}, "f64")
    reference = (lambda v: v ** mp.mpf("3.5")) if name == "pow" else FUNCTIONS[name][0]
    with mp.workdps(50):
        expected = [float(mp.diff(reference, mp.mpf(float(v)), 2)) for v in x]
    np.testing.assert_allclose(value, expected, rtol=1e-12)


#: Operands of one formula at its corners.
CORNERS = [
    ("abs(a)", "torch.abs(a)", [-1, 0, 2], None),
    ("relu(a)", "torch.relu(a)", [-1, 0, 2], None),
    ("maximum(a, b)", "torch.maximum(a, b)", [1, 1, 2], [1, 2, 1]),
    ("minimum(a, b)", "torch.minimum(a, b)", [1, 1, 2], [1, 2, 1]),
    ("fmax(a, b)", "torch.fmax(a, b)", [1, 1, np.nan, 3], [1, 2, 1, np.nan]),
    ("fmin(a, b)", "torch.fmin(a, b)", [1, 1, np.nan, 3], [1, 2, 1, np.nan]),
    ("clamp(a, -1, 1)", "a.clamp(-1, 1)", [-1, -2, 0, 1, 2], None),
    ("clamp_min(a, b)", "a.clamp_min(b)", [1, 1, 2], [1, 2, 1]),
    ("clamp_max(a, b)", "a.clamp_max(b)", [1, 1, 2], [1, 2, 1]),
    ("a ** b", "torch.pow(a, b)", [0, 0, 0, 2], [0, 1, 2, 0]),
    ("a ** 2", "a ** 2", [0, -1, 3], None),
    ("copysign(a, b)", "torch.copysign(a, b)", [0, -2, 3], [1, 1, -1]),
    ("a if a > 0 else 0.1 * a", "torch.nn.functional.leaky_relu(a, 0.1)", [0, -2, 3], None),
    ("fmod(a, b)", "torch.fmod(a, b)", [5, -5, 3], [3, 3, -2]),
    ("a % b", "torch.remainder(a, b)", [5, -5, 3], [3, 3, -2]),
    ("sqrt(a)", "torch.sqrt(a)", [0, 4], None),
]


@pytest.mark.parametrize(("text", "code", "a", "b"), CORNERS, ids=[c[0] for c in CORNERS])
def test_corners_are_those_of_pytorch(text, code, a, b):
    torch = pytest.importorskip("torch")
    arrays = {n: np.array(v, np.float64) for n, v in {"a": a, "b": b}.items() if v is not None}
    tensors = {n: torch.tensor(v, requires_grad=True) for n, v in arrays.items()}
    grad = np.arange(1.0, 1 + len(a))
    y = eval(code, {"torch": torch}, tensors)
    y.backward(torch.tensor(grad))
    env = arrays | {"grad": grad, "result": y.detach().numpy()}
    for name, formula in grad_formulas(parse(text, list(arrays)), list(arrays)).items():
        (value,) = evaluate([formula], env, "f64")
        np.testing.assert_array_equal(value, tensors[name].grad.numpy(), err_msg=name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tanh(a)", "grad * (1.0 - result * result)"),
        ("exp(a)", "grad * result"),
        ("sigmoid(a)", "grad * (result * (1.0 - result))"),
        ("a + b", "grad"),
        ("a * b", "grad * b"),
        ("a / b", "grad / b"),
        ("log(a)", "grad / a"),
        ("a if b > 0 else 0", "select(b > 0, grad, 0.0)"),
        ("b", "0.0"),
        ("floor(a)", "0.0"),
    ],
)
def test_gradients_are_short(text, expected):
    (formula,) = grad_formulas(parse(text, ["a", "b"]), ["a"]).values()
    assert to_text(formula) == expected


def test_several_outputs_add_up():
    formulas = grad_formulas(parse("a * b, exp(a)", ["a", "b"]), ["a", "b"])
    assert to_text(formulas["a"]) == "grad0 * b + grad1 * result1"
    assert to_text(formulas["b"]) == "grad0 * a"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a * b", "a * b"),
        ("a / b", "a / b"),
        ("exp(a) + log(b)", "torch.exp(a) + torch.log(b)"),
        ("a ** 2 + sqrt(b)", "a ** 2 + torch.sqrt(b)"),
        ("tanh(a)", "torch.tanh(a)"),
    ],
)
def test_complex_gradients_follow_pytorch(text, code):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(8)
    arrays = {n: rng.normal(size=5) + 1j * rng.normal(size=5) for n in "ab" if n in code}
    tensors = {n: torch.tensor(v, requires_grad=True) for n, v in arrays.items()}
    grad = rng.normal(size=5) + 1j * rng.normal(size=5)
    y = eval(code, {"torch": torch}, tensors)
    y.backward(torch.tensor(grad))
    env = arrays | {"grad": grad, "result": y.detach().numpy()}
    formulas = grad_formulas(parse(text, list(arrays)), list(arrays), is_complex=True)
    for name, formula in formulas.items():
        (value,) = evaluate([formula], env, "c128")
        np.testing.assert_allclose(value, tensors[name].grad.numpy(), rtol=1e-12)


def test_formulas_that_are_not_holomorphic_are_left_to_the_hand():
    formulas = grad_formulas(parse("abs(a) * b", ["a", "b"]), ["a", "b"], is_complex=True)
    assert formulas["a"] is None
    assert to_text(formulas["b"]) == "grad * conj(abs(a))"


def test_no_derivative_is_an_error():
    with pytest.raises(FormulaError, match=r"trigamma\(\) has no derivative"):
        derivative(*parse("trigamma(a)", ["a"]), param("a"))
