"""Rendered C++: the same bits as NumPy, and loops that the compiler vectorizes."""

from __future__ import annotations

import numpy as np
import pytest
from cpp import DTYPES, loop, run_loop, same_bits
from points import spread

from flambeau.core.formula import evaluate, helpers, parse, render_function

ONE = (
    "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh "
    "atanh erf erfc sigmoid silu softplus gelu gelu_tanh mish logsigmoid rsqrt sqrt relu sign "
    "reciprocal square erfinv digamma trigamma"
).split()
TWO = "pow atan2 hypot fmod mod floordiv fmax fmin maximum minimum copysign".split()
FLOATS = [(name, kind) for name in ONE + TWO for kind in ("f32", "f64")]
COMPLEX = {
    "a * b + a / b": 2,
    "exp(a)": 1,
    "log(a)": 1,
    "sqrt(a)": 1,
    "sin(a)": 1,
    "cos(a)": 1,
    "tan(a)": 1,
    "tanh(a)": 1,
    "pow(a, b)": 2,
    "sigmoid(a)": 1,
    "reciprocal(a)": 1,
}
FMA_LEVEL = "-march=x86-64-v3"

#: Where the platform's library answers, other libraries may round differently.
LIBRARY_RANGE = 2.0**20


def call_text(name):
    """The formula that calls a function."""
    return f"{name}(a, b)" if name in TWO else f"{name}(a)"


def source_of(formulas, dialect="c++"):
    """Functions and loops; formulas are (name, text, compute type, number of operands)."""
    source = helpers(dialect)
    for name, text, kind, count in formulas:
        names = list("ab"[:count])
        source += render_function(name, parse(text, names), names, (), kind, kind)
        source += loop(name, kind, [kind] * count)
    return source


def float_formulas():
    return [(f"{n}_{k}", call_text(n), k, 1 + (n in TWO)) for n, k in FLOATS]


@pytest.fixture(scope="module")
def library(compiler):
    """All prelude functions."""
    if not compiler.cpu_has_fma:
        pytest.skip("needs a processor with FMA")
    return compiler.library(source_of(float_formulas()), FMA_LEVEL)


def operands(kind, count=1):
    a = spread(DTYPES[kind], 400)
    b = np.random.default_rng(5).permutation(spread(DTYPES[kind], 400, seed=4))
    return [a, b][:count]


@pytest.mark.parametrize(("name", "kind"), FLOATS)
def test_floats_agree_with_numpy_to_the_bit(name, kind, library):
    values = operands(kind, 1 + (name in TWO))
    if name in ("sin", "cos", "tan", "digamma", "trigamma"):
        values = [v[~(np.abs(v) > LIBRARY_RANGE)] for v in values]
    env = dict(zip("ab", values, strict=False))
    (expected,) = evaluate(parse(call_text(name), "ab"), env, kind)
    got = run_loop(library, f"{name}_{kind}", kind, *values)
    wrong = np.flatnonzero(~same_bits(got, expected))
    assert not len(wrong), [(*(v[i] for v in values), got[i], expected[i]) for i in wrong[:3]]


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_large_arguments_are_mended_by_the_library(name, library):
    x = np.array([1e7, -3e8, 1e15, 1e30, 3e38] * 20, np.float32)
    got = run_loop(library, f"{name}_f32", "f32", x)
    expected = getattr(np, name)(x.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("kind", ["c64", "c128"])
def test_complex_formulas_agree_with_numpy(kind, compiler):
    if not compiler.cpu_has_fma:
        pytest.skip("needs a processor with FMA")
    formulas = [(f"f{i}", text, kind, n) for i, (text, n) in enumerate(COMPLEX.items())]
    library = compiler.library(source_of(formulas), FMA_LEVEL)
    rng = np.random.default_rng(6)
    values = [
        (rng.normal(size=300) + 1j * rng.normal(size=300)).astype(DTYPES[kind]) * 2 for _ in "ab"
    ]
    for name, text, _, count in formulas:
        env = dict(zip("ab", values[:count], strict=False))
        (expected,) = evaluate(parse(text, "ab"), env, kind)
        got = run_loop(library, name, kind, *values[:count])
        assert same_bits(got, expected).all(), text
        double = {k: v.astype(np.complex128) for k, v in env.items()}
        functions = {"sigmoid": lambda z: 1 / (1 + np.exp(-z)), "pow": np.power}
        scope = {
            n: getattr(np, n, None)
            for n in ("exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "reciprocal")
        }
        truth = eval(text, scope | functions, double)
        np.testing.assert_allclose(got, truth, rtol=2e-5 if kind == "c64" else 1e-13)


def test_machines_without_fma_stay_close(compiler):
    names = ["exp", "log", "tanh", "sin", "cos", "erf", "pow", "sigmoid", "log2", "expm1"]
    formulas = [f for f in float_formulas() if f[0].rsplit("_", 1)[0] in names]
    library = compiler.library(source_of(formulas), "-march=x86-64-v2")
    for name, text, kind, count in formulas:
        values = [v[~(np.abs(v) > LIBRARY_RANGE)][:1000] for v in operands(kind, count)]
        (expected,) = evaluate(parse(text, "ab"), dict(zip("ab", values, strict=False)), kind)
        got = run_loop(library, name, kind, *values)
        np.testing.assert_array_equal(np.isfinite(got), np.isfinite(expected), err_msg=name)
        finite = np.isfinite(expected)
        with np.errstate(all="ignore"):
            gap = np.abs(got[finite] - expected[finite]) / np.spacing(np.abs(expected[finite]))
        assert gap.max() <= 2, name


V3 = "-march=x86-64-v3"
V4 = "-march=x86-64-v4 -mprefer-vector-width=512"
COMMON = "exp log tanh sin cos erf gelu pow sigmoid".split()


@pytest.mark.parametrize(("flags", "names"), [(V3, COMMON), (V4, ONE + TWO)], ids=["v3", "v4"])
def test_loops_vectorize(flags, names, compiler):
    formulas = [f for f in float_formulas() if f[0].rsplit("_", 1)[0] in names]
    formulas = [f for f in formulas if not f[0].startswith("erfinv")]
    formulas += [(f"c{i}", text, "c64", n) for i, (text, n) in enumerate(COMPLEX.items())]
    formulas += [
        ("bits", "(a & ~b) | (a << 3)", "i64", 2),
        ("logic", "a & ~b | (a ^ b)", "bool", 2),
        ("choice", "a if b else ~a", "bool", 2),
    ]
    done = compiler.vectorized(source_of(formulas), flags)
    assert {f[0] for f in formulas} - done == set()


def test_the_check_for_vectorization_can_fail(compiler):
    source = source_of([("slow", "lgamma(a)", "f64", 1), ("fast", "exp(a)", "f32", 1)])
    assert compiler.vectorized(source, V3) == {"fast"}


def test_cuda_dialect_gives_the_same_bits(compiler):
    """Compiled as C++ under a shim, like the simulated device."""
    if not compiler.cpu_has_fma:
        pytest.skip("needs a processor with FMA")
    shim = "#define __device__\n#define __forceinline__ inline\n#define __noinline__\n"
    names = ["exp_f32", "log_f64", "tanh_f32", "pow_f64", "sin_f32", "mod_f64", "floordiv_f32"]
    formulas = [f for f in float_formulas() if f[0] in names]
    library = compiler.library(shim + source_of(formulas, "cuda"), FMA_LEVEL)
    for name, text, kind, count in formulas:
        values = [v[~(np.abs(v) > LIBRARY_RANGE)][:800] for v in operands(kind, count)]
        (expected,) = evaluate(parse(text, "ab"), dict(zip("ab", values, strict=False)), kind)
        assert same_bits(run_loop(library, name, kind, *values), expected).all(), name


def test_several_outputs_and_scalars(compiler):
    text = render_function(
        "both", parse("a * s + b, a > b", "ab", ["s"]), {"a": "f", "b": "f"}, {"s": "f"}, "f32"
    )
    source = (
        helpers()
        + text
        + """
extern "C" void go(const float *x, float *y, bool *z) {
    both(x[0], x[1], 0.5f, y, z);
}
"""
    )
    import ctypes

    x, y, z = np.array([3, 1], np.float32), np.zeros(1, np.float32), np.zeros(1, bool)
    compiler.library(source).go(*(ctypes.c_void_p(v.ctypes.data) for v in (x, y, z)))
    assert (y[0], z[0]) == (2.5, True)


def test_unknown_dialect():
    with pytest.raises(ValueError, match="no dialect 'fortran'"):
        helpers("fortran")
