"""Types, sharing and folding in the flat form."""

from __future__ import annotations

import pytest

from flambeau.core.formula import FormulaError, lower, parse


def ops(text, dtype="f32", kinds=None, names=("a", "b")):
    """Operations of the lowered formula that are needed, leaves left out."""
    program = lower(parse(text, list(names)), dtype, kinds)
    instrs = [program.instrs[i] for i in program.used(program.roots())]
    return [instr.op for instr in instrs if instr.args]


def result_type(text, dtype, kinds=None):
    """Type of the value of a formula."""
    program = lower(parse(text, ["a", "b"]), dtype, kinds)
    return program.instrs[program.outputs[0][0]].type


@pytest.mark.parametrize(
    ("text", "dtype", "kinds", "expected"),
    [
        ("a + 1", "f32", None, "f32"),
        ("a + 1.5", "f64", None, "f64"),
        ("a + 1", "i64", None, "i64"),
        ("a < b", "f32", None, "b"),
        ("a + (a < b)", "i64", None, "i64"),
        ("a & b", "bool", None, "b"),
        ("(a < b) + (a > b)", "f32", None, "i64"),
        ("a + b", "f32", {"b": "i"}, "f32"),
        ("a if b else 0", "f32", {"b": "b"}, "f32"),
        ("exp(b) + a", "f64", {"b": "i"}, "f64"),
        ("f64(a) + 1", "f32", None, "f64"),
        ("bits(a)", "f64", None, "i64"),
        ("i64(a) << 2", "f32", None, "i64"),
        ("1.5", "f32", None, "f32"),
        ("2", "f32", None, "f32"),
    ],
)
def test_types(text, dtype, kinds, expected):
    assert result_type(text, dtype, kinds) == expected


@pytest.mark.parametrize(
    ("text", "dtype", "message"),
    [
        ("a / b", "i64", "div: .* not defined for i64"),
        ("a + 1.5", "i64", "1.5 needs a floating compute type"),
        ("f64(a) + a", "f32", "f32 and f64 meet"),
        ("a << b", "f32", "shl: .* not defined for f32"),
        ("exp(a)", "i64", r"exp\(\) is not defined for i64"),
        ("erf(a)", "c64", r"erf\(\) is not defined for complex"),
        ("a + b", "f16", "no compute type 'f16'"),
    ],
)
def test_type_errors(text, dtype, message):
    with pytest.raises(FormulaError, match=message):
        lower(parse(text, ["a", "b"]), dtype)


def test_common_subexpressions_are_computed_once():
    assert ops("(a + b) * (a + b)") == ["add", "mul"]
    assert ops("tanh(a) * tanh(a)").count("div") == ops("tanh(a)").count("div")


def test_unused_parts_of_complex_values_are_not_computed():
    assert ops("real(a * b)", "c64") == ["mul", "neg", "fma"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a * 1", []),
        ("a - 0", []),
        ("a + 0.0", ["add"]),
        ("a + -0.0", []),
        ("a * 0", ["mul"]),
        ("--a", []),
        ("a if True else b", []),
        ("a if a < b else a", []),
        ("a / 1", []),
    ],
)
def test_folding_keeps_the_sign_of_zero_and_nan(text, expected):
    assert ops(text) == expected


def test_literals_fold_in_the_compute_precision():
    program = lower(parse("a * (f32(0.1) + f32(0.2))", ["a"]), "f32")
    constant = next(
        program.instrs[i] for i in program.used(program.roots()) if program.instrs[i].op == "const"
    )
    import numpy as np

    assert constant.value == int((np.float32(0.1) + np.float32(0.2)).view(np.int32))


def test_integer_literals_wrap():
    program = lower(parse("a + 9223372036854775807 + 1", ["a"]), "i64")
    assert program.instrs[program.outputs[0][0]].type == "i64"


def test_results_are_converted():
    program = lower(parse("a < b", ["a", "b"]), "f32", results=["f32"])
    assert program.instrs[program.outputs[0][0]].type == "f32"
    program = lower(parse("a", ["a"]), "f32", results=["c64"])
    assert len(program.outputs[0]) == 2
