"""Pointwise operators without a writer of their own: their definition's formula, as nodes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from flambeau.core.formula import Expr, parse
from flambeau.jit.ir import Node, Value
from flambeau.jit.opset import find_opdef
from flambeau.onnx.exporting.builder import DTYPES, Builder, Name
from flambeau.onnx.exporting.pointwise import promoted
from flambeau.onnx.exporting.table import refuse

#: Functions of the formula language that are a node.
_NODES = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "neg": "Neg", "floor": "Floor",
    "ceil": "Ceil", "rint": "Round", "abs": "Abs", "sign": "Sign", "sqrt": "Sqrt", "exp": "Exp",
    "log": "Log", "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin", "acos": "Acos",
    "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "asinh": "Asinh",
    "acosh": "Acosh", "atanh": "Atanh", "erf": "Erf", "sigmoid": "Sigmoid", "relu": "Relu",
    "reciprocal": "Reciprocal", "pow": "Pow", "minimum": "Min", "maximum": "Max",
    "softplus": "Softplus", "mish": "Mish"}
_COMPARISONS = {"lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual",
                "eq": "Equal"}
_LOGICAL = {"and": "And", "or": "Or", "xor": "Xor"}
_BITS = {"and": "BitwiseAnd", "or": "BitwiseOr", "xor": "BitwiseXor"}

def _inverse_error() -> str:
    """Giles, Approximating the erfinv function (2011), in single precision."""
    near = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
            -0.00125372503, -0.00417768164, 0.246640727, 1.50140941)
    far = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
           -0.0076224613, 0.00943887047, 1.00167406, 2.83297682)
    logs = "(-log((1 - x) * (1 + x)))"
    sums = []
    for numbers, at in ((near, f"({logs} - 2.5)"), (far, f"(sqrt({logs}) - 3)")):
        text = repr(numbers[0])
        for number in numbers[1:]:
            text = f"({number!r} + {text} * {at})"
        sums.append(text)
    return f"x * inf if abs(x) == 1 else x * {sums[0]} if {logs} < 5 else x * {sums[1]}"


#: Functions as formulas of those above.
_COMPOSED: dict[str, tuple[tuple[str, ...], str]] = {
    "trunc": (("x",), "floor(x) if x >= 0 else ceil(x)"),
    "square": (("x",), "x * x"),
    "rsqrt": (("x",), "1 / sqrt(x)"),
    "log2": (("x",), f"log(x) / {math.log(2)!r}"),
    "log10": (("x",), f"log(x) / {math.log(10)!r}"),
    "exp2": (("x",), f"exp(x * {math.log(2)!r})"),
    # What x + 1 and exp(x) - 1 round away is put back, so that small x keep their digits.
    "log1p": (("x",), "x if (x + 1 == 1) | (x == inf) else log(x + 1) * (x / ((x + 1) - 1))"),
    "expm1": (("x",), "tanh(x / 2) * (exp(x) + 1) if abs(x) < 1 else exp(x) - 1"),
    "isnan": (("x",), "x != x"),
    "isinf": (("x",), "abs(x) == inf"),
    "isfinite": (("x",), "abs(x) < inf"),
    "xlogy": (("x", "y"), "nan if y != y else 0 if x == 0 else x * log(y)"),
    "xlog1py": (("x", "y"), "nan if y != y else 0 if x == 0 else x * log1p(y)"),
    "entr": (("x",), "nan if x != x else -inf if x < 0 else 0 if x == 0 else -x * log(x)"),
    "logit": (("x",), "log(x / (1 - x))"),
    "logsigmoid": (("x",), "minimum(x, 0) - log1p(exp(-abs(x)))"),
    "silu": (("x",), "x * sigmoid(x)"),
    "logaddexp": (("a", "b"), "a if (a == b) & (abs(a) == inf) else"
                              " maximum(a, b) + log1p(exp(-abs(a - b)))"),
    "erfc": (("x",), "1 - erf(x)"),
    "hypot": (("a", "b"), "inf if (abs(a) == inf) | (abs(b) == inf) else 0 if (a == 0) & (b == 0)"
                          " else maximum(abs(a), abs(b)) * sqrt("
                          "square(a / maximum(abs(a), abs(b)))"
                          " + square(b / maximum(abs(a), abs(b))))"),
    "clamp": (("x", "a", "b"), "minimum(maximum(x, a), b)"),
    "clamp_min": (("x", "a"), "maximum(x, a)"),
    "clamp_max": (("x", "a"), "minimum(x, a)"),
    "sinc": (("x",), f"1 if x == 0 else sin(x * {math.pi!r}) / (x * {math.pi!r})"),
    "signbit": (("x",), "(x < 0) | ((x == 0) & (1 / x < 0))"),
    "atan2": (("y", "x"),
              "nan if (x != x) | (y != y) else (-1 if signbit(y) else 1) * ("
              f"({math.pi!r} if signbit(x) else 0) + (-1 if signbit(x) else 1) * ("
              f"{math.pi / 4!r} if (abs(y) == inf) & (abs(x) == inf) else 0 if y == 0 else"
              " atan(abs(y) / abs(x))))"),
    "copysign": (("a", "b"), "-abs(a) if signbit(b) else abs(a)"),
    "fmax": (("a", "b"), "b if a != a else a if b != b else maximum(a, b)"),
    "fmin": (("a", "b"), "b if a != a else a if b != b else minimum(a, b)"),
    "angle": (("x",), f"nan if x != x else {math.pi!r} if x < 0 else 0"),
    "ndtr": (("x",), f"(1 + erf(x * {math.sqrt(0.5)!r})) / 2"),
    "logaddexp2": (("a", "b"), "a if (a == b) & (abs(a) == inf) else"
                   f" maximum(a, b) + log1p(exp2(-abs(a - b))) / {math.log(2)!r}"),
    "erfinv": (("x",), _inverse_error()),
}


def write_formula(b: Builder, node: Node, *args: Any) -> Name | None:
    """The nodes of an operator's formula; nothing where it has none of these functions.

    A result whose sign of zero or last digits another runtime computes otherwise may differ
    by as much.
    """
    opdef = find_opdef(node.op)
    if opdef is None or opdef.category != "pointwise" or len(node.outputs) != 1:
        return None
    dtype = node.outputs[0].dtype
    if opdef.rule == "bool":
        values = [arg for arg in args if isinstance(arg, Value)]
        dtype = promoted(values[0], values[1] if len(values) > 1 else values[0])
    kind = "bool" if dtype == "bool" else "float" if "float" in dtype else "int"
    text = opdef.formulas.get(kind)
    if text is None or dtype not in DTYPES:
        return None
    names = [param.name for param in opdef.operands]
    scalars = [param.name for param in opdef.scalars]
    given = {param.name: arg for param, arg in zip(opdef.params, args, strict=False)}
    given |= {param.name: param.default for param in opdef.params if param.name not in given}
    try:
        (expr,) = parse(text, names, scalars)
        writer = _Writer(b, dtype, {name: b.operand(given[name], dtype)
                                    for name in (*names, *scalars)})
        name, is_bool = writer.of(expr)
    except _UnknownError as error:
        refuse(node, f"its formula has {error}, which has no form in ONNX")
    result = node.outputs[0].dtype
    return b.cast(name, "bool" if is_bool else dtype, result)


class _UnknownError(Exception):
    """A function that has no node."""


class _Writer:
    def __init__(self, b: Builder, dtype: str, names: dict[str, Name]) -> None:
        self.b, self.dtype, self.names = b, dtype, names
        self.done: dict[Expr, tuple[Name, bool]] = {}
        self.own: dict[str, Callable[..., tuple[Name, bool]]] = {
            "select": self.select, "not": self.negated, "ne": self.unequal, "mod": self.modulo,
            "fmod": self.modulo, "floordiv": self.floor_divide, "ipow": self.power,
            "shl": self.shift_left, "shr": self.shift_right, "truncdiv": self.divide}

    def of(self, expr: Expr) -> tuple[Name, bool]:
        """The name of an expression's value, and whether it is a truth value."""
        if expr not in self.done:
            self.done[expr] = self.new(expr)
        return self.done[expr]

    def number(self, expr: Expr) -> Name:
        name, is_bool = self.of(expr)
        return self.b.cast(name, "bool", self.dtype) if is_bool and self.dtype != "bool" else name

    def truth(self, expr: Expr) -> Name:
        name, is_bool = self.of(expr)
        return name if is_bool or self.dtype == "bool" else self.b.cast(name, self.dtype, "bool")

    def new(self, expr: Expr) -> tuple[Name, bool]:
        op, b = expr.op, self.b
        if op in ("param", "scalar"):
            return self.names[str(expr.value)], self.dtype == "bool"
        if op == "const":
            value = expr.value
            is_bool = isinstance(value, bool)
            return b.constant(value, "bool" if is_bool else self.dtype), is_bool
        if op in self.own:
            return self.own[op](*expr.args)
        if op in _COMPARISONS:
            return b.add(_COMPARISONS[op], *map(self.number, expr.args)), True
        if op in _LOGICAL:
            if all(self.of(each)[1] for each in expr.args):
                return b.add(_LOGICAL[op], *map(self.truth, expr.args)), True
            return b.add(_BITS[op], *map(self.number, expr.args)), False
        if op in _COMPOSED:
            return self.composed(op, expr.args)
        if op not in _NODES:
            raise _UnknownError(op)
        return b.add(_NODES[op], *map(self.number, expr.args)), False

    def composed(self, op: str, args: tuple[Expr, ...]) -> tuple[Name, bool]:
        names, text = _COMPOSED[op]
        (expr,) = parse(text, names)
        inner = _Writer(self.b, self.dtype, dict(zip(names, map(self.number, args), strict=True)))
        return inner.of(expr)

    def select(self, condition: Expr, a: Expr, other: Expr) -> tuple[Name, bool]:
        is_bool = self.of(a)[1] and self.of(other)[1]
        part = self.truth if is_bool else self.number
        return self.b.add("Where", self.truth(condition), part(a), part(other)), is_bool

    def negated(self, x: Expr) -> tuple[Name, bool]:
        name, is_bool = self.of(x)
        return self.b.add("Not" if is_bool else "BitwiseNot", name), is_bool

    def unequal(self, a: Expr, other: Expr) -> tuple[Name, bool]:
        equal = self.b.add("Equal", self.number(a), self.number(other))
        return self.b.add("Not", equal), True

    def modulo(self, a: Expr, other: Expr) -> tuple[Name, bool]:
        if "float" in self.dtype:
            raise _UnknownError("mod")
        return self.b.add("Mod", self.number(a), self.number(other)), False

    def floor_divide(self, a: Expr, other: Expr) -> tuple[Name, bool]:
        left, right = self.number(a), self.number(other)
        if "float" in self.dtype:
            return self.b.add("Floor", self.b.add("Div", left, right)), False
        rest = self.b.add("Mod", left, right)
        return self.b.add("Div", self.b.add("Sub", left, rest), right), False

    def divide(self, a: Expr, other: Expr) -> tuple[Name, bool]:
        """ONNX's quotient of integers is rounded to zero."""
        if "float" in self.dtype:
            raise _UnknownError("truncdiv")
        return self.b.add("Div", self.number(a), self.number(other)), False

    def shift_left(self, a: Expr, other: Expr) -> tuple[Name, bool]:
        number, by = self.number(a), self.number(other)
        if self.dtype.startswith("uint"):
            return self.b.add("BitShift", number, by, direction="LEFT"), False
        power = self.b.add("Pow", self.b.constant(2, self.dtype), by)
        return self.b.add("Mul", number, power), False

    def shift_right(self, a: Expr, other: Expr) -> tuple[Name, bool]:
        """Division by a power of two that the dtype holds, which is rounded down."""
        b, most = self.b, int(self.dtype.lstrip("uint")) - 2
        number, by = self.number(a), self.number(other)
        if self.dtype.startswith("uint"):
            return b.add("BitShift", number, by, direction="RIGHT"), False
        zero = b.constant(0, self.dtype)
        within = b.add("And", b.add("GreaterOrEqual", by, zero),
                       b.add("LessOrEqual", by, b.constant(most, self.dtype)))
        by = b.add("Where", within, by, zero)
        power = b.add("Pow", b.constant(2, self.dtype), by)
        rest = b.add("Mod", number, power)
        whole = b.add("Div", b.add("Sub", number, rest), power)
        beyond = b.add("Where", b.add("Less", number, zero), b.constant(-1, self.dtype), zero)
        return b.add("Where", within, whole, beyond), False

    def power(self, a: Expr, other: Expr) -> tuple[Name, bool]:
        return self.b.add("Pow", self.number(a), self.number(other)), False
