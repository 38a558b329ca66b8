"""Reading formulas, and writing them back."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from flambeau.core.formula import Expr, FormulaError, const, evaluate, param, parse, to_text


def value(text, **env):
    """The value of a formula in double precision."""
    (result,) = evaluate(parse(text, list(env)), env, "f64")
    return float(result)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7),
        ("-a ** 2", -9),
        ("2 - 1 - 1", 0),
        ("a if a > 4 else -a", -3),
        ("1 < a < 4", 1),
        ("1 < a < 2", 0),
        ("(a > 1) & ~(a > 5) | False", 1),
        ("7 // a", 2),
        ("-7 % a", 2),
        ("where(a == 3, pi, e)", math.pi),
        ("min(a, 2) + max(a, 5)", 7),
        ("sqrt(2 / pi) * 0 + 1", 1),
        ("a / inf", 0),
        ("a ** 3 + a ** -1", 27 + 1 / 3),
    ],
)
def test_operators_mean_what_python_means(text, expected):
    assert value(text, a=3.0) == expected


def test_several_outputs():
    outputs = parse("a + b, a - b", ["a", "b"])
    assert [to_text(output) for output in outputs] == ["a + b", "a - b"]


def test_run_time_scalars_are_leaves_of_their_own():
    (node,) = parse("a * alpha", ["a"], ["alpha"])
    assert [arg.op for arg in node.args] == ["param", "scalar"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a + c", "'c' is not an operand; the operands are a, b"),
        ("a +", "not an expression"),
        ("foo(a)", "the function 'foo' is not known"),
        ("exp(a, b)", r"exp\(\) takes 1 argument\(s\), 2 given"),
        ("exp(x=a)", "positional"),
        ("a and b", r"write a & b"),
        ("not a", r"write ~a"),
        ("a @ b", "MatMult"),
        ("a[0]", "Subscript is not part"),
        ("'text'", "a number is expected"),
        ("a in b", "comparison In"),
    ],
)
def test_errors_say_what_is_wrong(text, message):
    with pytest.raises(FormulaError, match=message):
        parse(text, ["a", "b"])


def test_errors_point_at_the_column():
    with pytest.raises(FormulaError) as error:
        parse("a + (b * c)", ["a", "b"])
    _, line, marker = str(error.value).splitlines()
    assert line[marker.index("^")] == "c"


@pytest.mark.parametrize(
    "text",
    [
        "a + b * (a - b)",
        "(a + b) * -(a / b)",
        "a - (b - a)",
        "select(a < b, exp(a), -b)",
        "(a < b) & (b <= a) | ~(a == b)",
        "a / b / (a / b)",
        "-(a * b) + 1e-05",
    ],
)
def test_text_is_read_back_to_the_same_expression(text):
    (node,) = parse(text, ["a", "b"])
    assert parse(to_text(node), ["a", "b"]) == (node,)
    assert to_text(node) == text


def test_equal_expressions_are_one_object():
    assert parse("exp(a) + 1", ["a"])[0] is parse("exp(a)+1", ["a"])[0]
    assert pickle.loads(pickle.dumps(param("a") * 2)) is param("a") * 2


def test_literals_that_compare_equal_stay_apart():
    assert len({const(1), const(1.0), const(True)}) == 3
    assert const(0.0) is not const(-0.0)
    assert const(math.nan) is const(-math.nan) or const(math.nan) is const(math.nan)


def test_expressions_cannot_be_changed_or_tested():
    with pytest.raises(AttributeError, match="immutable"):
        param("a").op = "add"
    with pytest.raises(TypeError, match="truth value"):
        bool(param("a") < 1)


def test_deep_expressions_do_not_recurse():
    node = param("a")
    for _ in range(5000):
        node = node + Expr("neg", (node,))
        node = node * 0.5
    (result,) = evaluate((node + 1,), {"a": np.ones(2)}, "f64")
    np.testing.assert_array_equal(result, [1.0, 1.0])
