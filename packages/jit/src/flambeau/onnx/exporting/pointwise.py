"""Operators that work element by element."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau.jit.dims import Dim
from flambeau.jit.ir import Node, Value
from flambeau.onnx.exporting.builder import Builder, Name
from flambeau.onnx.exporting.table import EMITTERS, emits, refuse

#: Operators with one operand that have a node of their own.
_UNARY = {
    "abs": "Abs", "acos": "Acos", "acosh": "Acosh", "asin": "Asin", "asinh": "Asinh",
    "atan": "Atan", "atanh": "Atanh", "ceil": "Ceil", "cos": "Cos", "cosh": "Cosh", "erf": "Erf",
    "exp": "Exp", "floor": "Floor", "isnan": "IsNaN", "log": "Log", "neg": "Neg",
    "reciprocal": "Reciprocal", "relu": "Relu", "round": "Round", "sigmoid": "Sigmoid",
    "sign": "Sign", "sin": "Sin", "sinh": "Sinh", "sqrt": "Sqrt", "tan": "Tan", "tanh": "Tanh",
    "hardswish": "HardSwish", "mish": "Mish", "softsign": "Softsign", "isinf": "IsInf",
}
_TESTS = ("isnan", "isinf")
_COMPARISONS = {"eq": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater",
                "ge": "GreaterOrEqual"}
_BINARY = {"mul": "Mul", "div": "Div", "pow": "Pow", "maximum": "Max", "minimum": "Min"}
_LOGICAL = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}
_BITWISE = {"bitwise_and": ("And", "BitwiseAnd"), "bitwise_or": ("Or", "BitwiseOr"),
            "bitwise_xor": ("Xor", "BitwiseXor")}


def _kind(dtype: str) -> str:
    return "bool" if dtype == "bool" else "float" if "float" in dtype else "int"


def out_dtype(node: Node) -> str:
    """The dtype of a node's first output."""
    return node.outputs[0].dtype


def _unary(b: Builder, node: Node, x: Value, *_: Any) -> Name:
    dtype = x.dtype if node.op in _TESTS else out_dtype(node)
    if node.op in _TESTS and _kind(dtype) != "float":
        return b.add("Expand", b.constant(False, "bool"), b.shape(x.shape))
    if node.op == "relu" and _kind(dtype) == "int":
        return b.add("Max", b.operand(x, dtype), b.constant(0, dtype))
    return b.add(_UNARY[node.op], b.operand(x, dtype))


EMITTERS.update(dict.fromkeys(_UNARY, _unary))


def promoted(a: Any, other: Any) -> str:
    """The dtype in which two operands are compared."""
    def stand(value: Any) -> Any:
        if isinstance(value, Dim):
            return 1 if value.form == "int" else 1.0
        if not isinstance(value, Value):
            return value
        shape = (0,) * len(value.shape)
        return flambeau.empty(shape, dtype=getattr(flambeau, value.dtype))

    return str(flambeau.result_type(stand(a), stand(other))).rpartition(".")[2]


def _compared(node: Node, a: Any, other: Any) -> str:
    """The dtype of a comparison: numbers outside of a tensor's dtype stay what they are."""
    dtype = promoted(a, other)
    numbers = [each for each in (a, other) if type(each) is int]
    if _kind(dtype) == "int" and numbers:
        limits = flambeau.iinfo(getattr(flambeau, dtype))
        if not limits.min <= numbers[0] <= limits.max:
            if dtype == "uint64" or abs(numbers[0]) >= 2**63:
                refuse(node, f"{numbers[0]} is no {dtype}")
            return "int64"
    return dtype


def _compare(b: Builder, node: Node, a: Any, other: Any) -> Name:
    dtype = _compared(node, a, other)
    if dtype == "bool" and node.op != "eq":
        dtype = "int32"
    return b.add(_COMPARISONS[node.op], b.operand(a, dtype), b.operand(other, dtype))


EMITTERS.update(dict.fromkeys(_COMPARISONS, _compare))


@emits("ne")
def write_ne(b: Builder, node: Node, a: Any, other: Any) -> Name:
    dtype = _compared(node, a, other)
    return b.add("Not", b.add("Equal", b.operand(a, dtype), b.operand(other, dtype)))


def _binary(b: Builder, node: Node, a: Any, other: Any, *rest: Any) -> Name:
    dtype = out_dtype(node)
    if dtype == "bool":
        if node.op not in ("mul", "maximum", "minimum"):
            refuse(node, "is not defined for bool")
        word = "Or" if node.op == "maximum" else "And"
        return b.add(word, b.operand(a, dtype), b.operand(other, dtype))
    if node.op == "pow" and _kind(dtype) == "int" and isinstance(other, Value):
        return _whole_power(b, b.operand(a, dtype), b.operand(other, dtype), dtype)
    return b.add(_BINARY[node.op], b.operand(a, dtype), b.operand(other, dtype))


def _whole_power(b: Builder, base: Name, exponent: Name, dtype: str) -> Name:
    """A power of integers; of a negative exponent, 1 for 1, 1 or -1 for -1, else 0."""
    zero, one, two = (b.constant(n, dtype) for n in range(3))
    below = b.add("Less", exponent, zero)
    least = b.add("Where", below, b.add("Abs", b.add("Mod", exponent, two)), exponent)
    is_unit = b.add("Equal", b.add("Abs", base), one)
    is_zero = b.add("And", below, b.add("Not", is_unit))
    power = b.add("Pow", b.add("Where", is_zero, one, base), least)
    return b.add("Where", is_zero, zero, power)


EMITTERS.update(dict.fromkeys(_BINARY, _binary))


@emits("add", "sub")
def write_add(b: Builder, node: Node, a: Any, other: Any, alpha: Any = 1) -> Name:
    dtype = out_dtype(node)
    if dtype == "bool":
        return b.add("Or", b.operand(a, dtype), b.operand(other, dtype))
    second = b.operand(other, dtype)
    if alpha != 1:
        second = b.add("Mul", second, b.constant(alpha, dtype))
    return b.add("Add" if node.op == "add" else "Sub", b.operand(a, dtype), second)


@emits("rsub")
def write_rsub(b: Builder, node: Node, a: Any, other: Any, alpha: Any = 1) -> Name:
    dtype = out_dtype(node)
    first = b.operand(a, dtype)
    if alpha != 1:
        first = b.add("Mul", first, b.constant(alpha, dtype))
    return b.add("Sub", b.operand(other, dtype), first)


def _logical(b: Builder, node: Node, a: Any, other: Any) -> Name:
    return b.add(_LOGICAL[node.op], truth(b, a), truth(b, other))


EMITTERS.update(dict.fromkeys(_LOGICAL, _logical))


def truth(b: Builder, value: Any) -> Name:
    """Whether elements are not zero."""
    return b.operand(value, "bool")


@emits("logical_not")
def write_logical_not(b: Builder, node: Node, x: Value) -> Name:
    return b.add("Not", truth(b, x))


def _bitwise(b: Builder, node: Node, a: Any, other: Any) -> Name:
    dtype = out_dtype(node)
    words = _BITWISE[node.op]
    word = words[0] if dtype == "bool" else words[1]
    return b.add(word, b.operand(a, dtype), b.operand(other, dtype))


EMITTERS.update(dict.fromkeys(_BITWISE, _bitwise))


@emits("bitwise_not")
def write_bitwise_not(b: Builder, node: Node, x: Value) -> Name:
    return b.add("Not" if x.dtype == "bool" else "BitwiseNot", b.of(x))


@emits("where")
def write_where(b: Builder, node: Node, condition: Value, a: Any, other: Any) -> Name:
    return _chosen(b, truth(b, condition), a, other, out_dtype(node))


def _chosen(b: Builder, test: Name, a: Any, other: Any, dtype: str) -> Name:
    one, two = b.operand(a, dtype), b.operand(other, dtype)
    if dtype == "bool":             # onnxruntime has no Where of truth values
        return b.add("Or", b.add("And", test, one), b.add("And", b.add("Not", test), two))
    return b.add("Where", test, one, two)


@emits("masked_fill")
def write_masked_fill(b: Builder, node: Node, x: Value, mask: Value, value: Any) -> Name:
    dtype = out_dtype(node)
    return _chosen(b, b.of(mask), value, x, dtype)


@emits("clamp", "clamp_both", "hardtanh_between")
def write_clamp(b: Builder, node: Node, x: Value, low: Any = None, high: Any = None) -> Name:
    dtype, result = out_dtype(node), b.operand(x, out_dtype(node))
    if low is not None:
        result = b.add("Max", result, b.operand(low, dtype))
    return result if high is None else b.add("Min", result, b.operand(high, dtype))


@emits("cast")
def write_cast(b: Builder, node: Node, x: Value, *_: Any) -> Name:
    return b.add("Cast", b.of(x), to=_number(node))


def _number(node: Node) -> int:
    from flambeau.onnx.exporting.builder import DTYPES

    return int(DTYPES[out_dtype(node)])


@emits("square")
def write_square(b: Builder, node: Node, x: Value) -> Name:
    return b.add("Mul", b.of(x), b.of(x))


@emits("rsqrt")
def write_rsqrt(b: Builder, node: Node, x: Value) -> Name:
    return b.add("Reciprocal", b.add("Sqrt", b.operand(x, out_dtype(node))))


@emits("log1p")
def write_log1p(b: Builder, node: Node, x: Value) -> Name:
    dtype = out_dtype(node)
    return b.add("Log", b.add("Add", b.operand(x, dtype), b.constant(1, dtype)))


@emits("expm1")
def write_expm1(b: Builder, node: Node, x: Value) -> Name:
    dtype = out_dtype(node)
    return b.add("Sub", b.add("Exp", b.operand(x, dtype)), b.constant(1, dtype))


@emits("log2", "log10")
def write_log_of(b: Builder, node: Node, x: Value) -> Name:
    base = 2.0 if node.op == "log2" else 10.0
    dtype = out_dtype(node)
    scale = b.add("Log", b.constant(base, dtype))
    return b.add("Div", b.add("Log", b.operand(x, dtype)), scale)


@emits("floor_divide", "remainder", "fmod")
def write_divide(b: Builder, node: Node, a: Any, other: Any) -> Name:
    dtype = out_dtype(node)
    left, right = b.operand(a, dtype), b.operand(other, dtype)
    if node.op == "fmod":
        return b.add("Mod", left, right, fmod=1)
    if _kind(dtype) == "float":
        quotient = b.add("Floor", b.add("Div", left, right))
        if node.op == "floor_divide":
            return quotient
        return b.add("Sub", left, b.add("Mul", quotient, right))
    rest = b.add("Mod", left, right)
    return rest if node.op == "remainder" else b.add("Div", b.add("Sub", left, rest), right)


@emits("clamp_min", "clamp_max")
def write_clamp_side(b: Builder, node: Node, x: Value, limit: Any) -> Name:
    word = "Max" if node.op == "clamp_min" else "Min"
    return b.add(word, b.operand(x, out_dtype(node)), b.operand(limit, out_dtype(node)))


@emits("addcmul")
def write_addcmul(b: Builder, node: Node, x: Value, a: Value, other: Value, value: Any = 1) -> Name:
    dtype = out_dtype(node)
    product = b.add("Mul", b.operand(a, dtype), b.operand(other, dtype))
    return b.add("Add", b.operand(x, dtype), b.add("Mul", product, b.operand(value, dtype)))


@emits("lerp")
def write_lerp(b: Builder, node: Node, x: Value, end: Value, weight: Any) -> Name:
    distance = b.add("Sub", b.of(end), b.of(x))
    return b.add("Add", b.of(x), b.add("Mul", b.operand(weight, out_dtype(node)), distance))
