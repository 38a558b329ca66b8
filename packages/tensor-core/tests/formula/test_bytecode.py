"""The bytecode interpreter against the NumPy evaluation: the same bits."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np
import pytest
from cpp import DTYPES, same_bits

from flambeau.core.formula import FormulaError, evaluate, helpers, parse
from flambeau.core.formula.bytecode import FIRST_OPCODE, MAX_REGISTERS, NEVER, assemble
from flambeau.core.formula.interpreter import (
    TILE_BYTES,
    bytecode_interpreter_source,
    bytecode_loops_source,
)
from flambeau.core.formula.opcodes import ARGUMENTS as OPERANDS
from flambeau.core.formula.opcodes import opcodes
from flambeau.core.formula.pairs import PAIRS, pair_name

SCALARS = "union fl_scalar { double f; int64_t i; double c[2]; };\n"
ARGUMENTS = "const void *, const void *const *, void *const *, const fl_scalar *, int64_t"
INTERPRETERS = ("run", "stream")
EXPORT = "".join(f'extern "C" void {name}({ARGUMENTS});\n' for name in INTERPRETERS)


class Scalar(ctypes.Union):
    """What the interpreter reads run-time scalars from."""

    _fields_ = (("f", ctypes.c_double), ("i", ctypes.c_int64), ("c", ctypes.c_double * 2))

    @classmethod
    def of(cls, value):
        scalar = cls()
        if isinstance(value, complex):
            scalar.c[:] = value.real, value.imag
        elif isinstance(value, int):
            scalar.i = value
        else:
            scalar.f = value
        return scalar


@pytest.fixture(scope="module")
def library(compiler):
    """Both interpreters, compiled."""
    if not compiler.cpu_has_fma:
        pytest.skip("needs a processor with FMA")
    interpreter = bytecode_loops_source() + bytecode_interpreter_source(*INTERPRETERS)
    source = helpers() + SCALARS + EXPORT + interpreter
    return compiler.library(source, "-march=x86-64-v3")


@pytest.fixture(params=INTERPRETERS)
def run(library, request):
    """Run a formula: run(text, compute, operands, scalars, results) gives the outputs.

    Instead of the text it takes a list of expressions, too.
    """
    interpreter = getattr(library, request.param)

    def call(text, compute, env, scalars=None, results=None, outs=None):
        scalars = scalars or {}
        kinds = {n: "b" if v.dtype == np.uint8 else compute for n, v in env.items()}
        exprs = parse(text, list(env), list(scalars)) if isinstance(text, str) else text
        results = results or [compute] * len(exprs)
        code = assemble(exprs, kinds, list(scalars), compute, results).pack()
        n = len(next(iter(env.values())))
        outs = outs or [np.empty(n, DTYPES[result]) for result in results]
        inputs = (ctypes.c_void_p * len(env))(*(v.ctypes.data for v in env.values()))
        targets = (ctypes.c_void_p * len(outs))(*(v.ctypes.data for v in outs))
        values = (Scalar * (len(scalars) + 1))(*map(Scalar.of, scalars.values()))
        interpreter(code, inputs, targets, values, ctypes.c_int64(n))
        return outs

    return call


def expected(text, compute, env, scalars=None, results=None):
    """What NumPy says."""
    scalars = scalars or {}
    kinds = {n: "b" if v.dtype == np.uint8 else compute for n, v in env.items()}
    arrays = {n: v.astype(bool) if v.dtype == np.uint8 else v for n, v in env.items()}
    exprs = parse(text, list(env), list(scalars))
    results = results or [compute] * len(exprs)
    return evaluate(exprs, arrays | scalars, compute, kinds, results)


def data(kind, n, seed):
    """Random operands of a compute type."""
    rng = np.random.default_rng(seed)
    if kind == "i64":
        return rng.integers(-50, 50, n)
    if kind == "bool":
        return rng.integers(0, 2, n).astype(np.uint8)
    value = rng.normal(size=n) * 3
    return (value + 1j * rng.normal(size=n) if kind[0] == "c" else value).astype(DTYPES[kind])


FORMULAS = [
    ("a * b + a", ("f32", "f64", "i64", "c64", "c128")),
    ("a", ("f32", "i64", "bool", "c64")),
    ("a * s - 2", ("f32", "f64", "i64", "c64")),
    ("tanh(a) * exp(-b * b) + log(abs(a) + 1) * s", ("f32", "f64")),
    ("pow(abs(a), b) + sin(a) * cos(b) + erf(a) - sqrt(abs(b))", ("f32", "f64")),
    ("digamma(abs(a)) + trigamma(abs(b)) + gelu(a)", ("f32", "f64")),
    ("a if a < b else -b", ("f32", "f64", "i64")),
    ("(a & b) | ~a ^ (b << 2)", ("i64",)),
    ("a // b + a % b + a ** 2", ("i64", "f32")),
    ("a & ~b", ("bool",)),
    ("exp(a) / sqrt(b)", ("c64", "c128")),
    ("abs(a) + real(b)", ("c64",)),
]


@pytest.mark.parametrize("n", [1, TILE_BYTES // 4, 3 * TILE_BYTES + 17])
@pytest.mark.parametrize(("text", "kinds"), FORMULAS, ids=[f[0] for f in FORMULAS])
def test_agrees_with_numpy_to_the_bit(text, kinds, n, run):
    for seed, kind in enumerate(kinds):
        env = {name: data(kind, n, seed + i) for i, name in enumerate("ab") if name in text}
        value = {"i64": 3, "c64": 1.5 - 2j}.get(kind, 0.75)
        scalars = {"s": value} if "s" in text.replace("sin", "").replace("cos", "") else {}
        result = {"abs(a) + real(b)": ["f32"]}.get(text)
        if "bool" in kinds and kind == "bool":
            env = {name: data("bool", n, i) for i, name in enumerate(env)}
        got = run(text, kind, env, scalars, result)
        for one, other in zip(got, expected(text, kind, env, scalars, result), strict=True):
            assert same_bits(one, other).all(), kind


def test_masks_and_bool_results(run):
    env = {"m": data("bool", 700, 0), "a": data("f32", 700, 1)}
    (got,) = run("a if m else -a", "f32", env)
    np.testing.assert_array_equal(got, np.where(env["m"], env["a"], -env["a"]))
    (got,) = run("(a > 0) & m", "f32", env, results=["bool"])
    np.testing.assert_array_equal(got, (env["a"] > 0) & (env["m"] != 0))


def test_outputs_may_be_the_inputs(run):
    a, b = data("f32", 900, 0), data("f32", 900, 1)
    want = expected("a * b, sin(a) + b", "f32", {"a": a.copy(), "b": b.copy()})
    run("a * b, sin(a) + b", "f32", {"a": a, "b": b}, outs=[a, b])
    assert same_bits(a, want[0]).all() and same_bits(b, want[1]).all()


def test_rare_cases_are_mended_in_place(run):
    a = np.array([1.0, 1e30, 2.0, -1e9] * 100, np.float32)
    want = np.sin(a.astype(np.float64)).astype(np.float32)
    run("sin(a)", "f32", {"a": a}, outs=[a])
    np.testing.assert_allclose(a, want, rtol=1e-7)


def test_registers_are_used_again():
    long = " + ".join(f"exp(a * {i}.5)" for i in range(30))
    short = assemble(parse(" + ".join("exp(a * 1.5)" for _ in range(30)), ["a"]), ["a"])
    assert short.registers <= 7
    constants = 30
    assert assemble(parse(long, ["a"]), ["a"]).registers <= constants + 8


def test_too_large_a_formula_is_an_error():
    text = " + ".join(f"a * {i}.5" for i in range(MAX_REGISTERS))
    with pytest.raises(FormulaError, match="registers"):
        assemble(parse(text, ["a"]), ["a"])


def copies(text, names):
    """Of the copies to the outputs: which operands are read after the result is computed."""
    code = assemble(parse(text, list(names)), list(names))
    lines = code.code[-code.outputs :]
    assert [line[1] for line in lines] == [len(names) + i for i in range(code.outputs)]
    return ["".join(n for i, n in enumerate(names) if line[3] >> i & 1) for line in lines]


def test_results_know_what_is_read_after_them():
    assert copies("(a + b) * c, a + b", "abc") == ["", "c"]
    assert copies("b * c, a * 2", "abc") == ["a", ""]
    assert copies("exp(a) + b, exp(a)", "ab") == ["", "ab"]
    assert assemble(parse("a, b + 1", ["a", "b"]), ["a", "b"]).code[-2][3] == NEVER


@pytest.mark.parametrize("shared", list(itertools.product(range(3), repeat=3)))
def test_outputs_may_be_any_operand(run, shared):
    """Each of the outputs in the memory of an operand, or of none; also two in one's."""
    text = "(a + b) * c, sin(a + b), a * 2"
    inputs = {name: data("f32", 900, i) for i, name in enumerate("abc")}
    want = expected(text, "f32", {name: value.copy() for name, value in inputs.items()})
    free = [np.empty(900, np.float32) for _ in range(3)]
    outs = [[free[i], *inputs.values()][which] for i, which in enumerate(shared)]
    run(text, "f32", inputs, outs=outs)
    for i, out in enumerate(outs):
        if not any(out is later for later in outs[i + 1 :]):
            assert same_bits(out, want[i]).all()


def joined(text, names):
    """The instructions of a formula by name, without the copies to the outputs."""
    code = assemble(parse(text, list(names)), list(names))
    every = [op for op, _ in opcodes()]
    return [every[line[0] - FIRST_OPCODE] for line in code.code[: -code.outputs]]


def test_two_operations_become_one_instruction():
    assert joined("a * b + c", "abc") == ["add.0.mul"]
    assert joined("c + a * b", "abc") == ["add.0.mul"]
    assert joined("c - a / b", "abc") == ["sub.1.div"]
    assert joined("fma(a * b, c, c)", "abc") == ["fma.0.mul"]
    assert joined("fma(c, a * b, c)", "abc") == ["fma.0.mul"]
    assert joined("a if a < b else c", "abc") == ["select.0.lt"]
    assert joined("sqrt(a + b) * c - a", "abc") == ["sqrt.0.add", "sub.0.mul"]


def test_a_choice_by_integers_is_not_joined_as_one_by_numbers():
    code = assemble(parse("select(bits(a) < 0, b, a)", ["a", "b"]), ["a", "b"], compute="f64")
    assert [line[0] - FIRST_OPCODE for line in code.code[1:3]] == [
        list(opcodes()).index(name) for name in (("lt", "i64"), ("select", "f64"))
    ]


def test_what_is_read_twice_or_is_a_result_is_not_joined():
    assert joined("(a * b + c) * (a * b)", "abc") == ["mul", "mul.0.add"]
    assert joined("a * b + c, a * b", "abc") == ["mul", "add"]
    assert joined("(a * b) * (a * b)", "ab") == ["mul", "mul"]
    assert "add.0.mul" not in joined("i64(a) * i64(b) + i64(c)", "abc")


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize(("first", "second", "position"), PAIRS)
def test_pairs_agree_with_numpy_to_the_bit(first, second, position, kind, run):
    name = pair_name(first, second, position)
    opcode = opcodes()[name, kind]
    names = OPERANDS[: len(opcode.args)]
    special = np.array([0.0, -0.0, 1.0, -3.5, np.inf, np.nan], DTYPES[kind])
    env = {name: np.append(data(kind, 600, i), np.roll(special, i)) for i, name in enumerate(names)}
    assert len(assemble([opcode.expr], dict.fromkeys(names, kind), (), kind).code) == 2
    (got,) = run([opcode.expr], kind, env)
    with np.errstate(all="ignore"):
        (want,) = evaluate([opcode.expr], env, kind, dict.fromkeys(names, kind), [kind])
    np.testing.assert_array_equal(got, want)


def test_common_functions_are_one_instruction():
    code = assemble(parse("tanh(exp(a))", ["a"]), ["a"])
    assert len(code.code) == 3
