"""Formulas on NumPy arrays: the plainest implementation, one array operation per instruction."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .expr import Expr
from .literal import decode
from .lower import lower
from .numpy_fma import fma
from .program import Instr, Program

Array = Any

_DTYPES = {"f32": "float32", "f64": "float64", "i32": "int32", "i64": "int64", "b": "bool"}
_WIDTH = {"i32": 32, "i64": 64}
_COUNTERPART = {"f32": "i32", "f64": "i64", "i32": "f32", "i64": "f64"}
_UFUNCS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "div": "true_divide",
    "neg": "negative",
    "abs": "absolute",
    "sqrt": "sqrt",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "rint": "rint",
    "copysign": "copysign",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "not": "invert",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
    "select": "where",
    "rare": "where",
}


def evaluate(
    exprs: Sequence[Expr],
    env: Mapping[str, Array],
    compute: str = "f32",
    kinds: Mapping[str, str] | None = None,
    results: Sequence[str] | None = None,
) -> tuple[Array, ...]:
    """Compute formulas on arrays.

    Args:
        exprs: One expression per output.
        env: Operands and run-time scalars by name, arrays that broadcast.
        compute: Compute type, as for ``lower``.
        kinds: Kinds of the operands that are not of the compute type.
        results: Compute type of each output.

    Returns:
        One array per output.

    Example:
        >>> import numpy as np
        >>> from flambeau.core.formula import evaluate, parse
        >>> evaluate(parse("a * a", ["a"]), {"a": np.arange(3.0)}, "f64")
        (array([0., 1., 4.]),)
    """
    import numpy as np

    program = lower(exprs, compute, kinds, results)
    with np.errstate(all="ignore"):
        return _Evaluation(np, program, env).outputs()


class _Evaluation:
    def __init__(self, np: Any, program: Program, env: Mapping[str, Array]) -> None:
        self.np = np
        self.env = env
        self.program = program
        self.values: dict[int, Array] = {}

    def outputs(self) -> tuple[Array, ...]:
        shape = self.np.broadcast_shapes(*(self.np.shape(value) for value in self.env.values()))
        for number in self.program.used(self.program.roots()):
            self.values[number] = self.np.asarray(self.value(self.program.instrs[number]))
        return tuple(self.output(numbers, shape) for numbers in self.program.outputs)

    def output(self, numbers: tuple[int, ...], shape: tuple[int, ...]) -> Array:
        parts = [self.np.broadcast_to(self.values[n], shape) for n in numbers]
        if len(parts) == 1:
            return self.np.array(parts[0])
        double = parts[0].dtype == self.np.float64
        pair = self.np.empty(shape, self.np.complex128 if double else self.np.complex64)
        pair.real, pair.imag = parts
        return pair

    def value(self, instr: Instr) -> Array:
        dtype = self.np.dtype(_DTYPES[instr.type])
        if instr.op == "const":
            return dtype.type(decode(int(str(instr.value)), instr.type))
        if instr.op in ("param", "scalar"):
            return self.leaf(str(instr.value)).astype(dtype, copy=False)
        args = [self.values[arg] for arg in instr.args]
        if instr.op == "extern":
            return _EXTERNS[str(instr.value)](self.np, *args).astype(dtype)
        if instr.op in _UFUNCS:
            return getattr(self.np, _UFUNCS[instr.op])(*args)
        kind = self.program.instrs[instr.args[-1]].type
        return _SPECIAL[instr.op](self.np, kind, *args)

    def leaf(self, name: str) -> Array:
        base, _, part = name.partition(".")
        array = self.np.asarray(self.env[base])
        return {"": array, "re": array.real, "im": array.imag}[part]


def _divide(np: Any, a: Array, b: Array) -> tuple[Array, Array]:
    """Truncated quotient and remainder, total."""
    unit = (b == 0) | (b == -1)
    safe = np.where(unit, np.ones_like(b), b)
    remainder = np.fmod(a, safe)
    quotient = (a - remainder) // safe
    quotient = np.where(b == 0, np.zeros_like(a), np.where(b == -1, -a, quotient))
    return quotient, remainder


def _truncdiv(np: Any, kind: str, a: Array, b: Array) -> Array:
    return _divide(np, a, b)[0]


def _rem(np: Any, kind: str, a: Array, b: Array) -> Array:
    return _divide(np, a, b)[1]


def _floordiv(np: Any, kind: str, a: Array, b: Array) -> Array:
    quotient, remainder = _divide(np, a, b)
    return quotient - ((remainder != 0) & ((remainder < 0) != (b < 0))).astype(quotient.dtype)


def _mod(np: Any, kind: str, a: Array, b: Array) -> Array:
    remainder = _divide(np, a, b)[1]
    return np.where((remainder != 0) & ((remainder < 0) != (b < 0)), remainder + b, remainder)


def _ipow(np: Any, kind: str, a: Array, b: Array) -> Array:
    a, b = np.broadcast_arrays(a, b)
    result, square, rest = np.ones_like(a), a.copy(), np.where(b < 0, 0, b)
    while rest.any():
        result = np.where(rest & 1, result * square, result)
        square, rest = square * square, rest >> 1
    sign = np.where(b & 1, -1, 1)
    unit = np.where(a == 1, 1, np.where(a == -1, sign, 0)).astype(a.dtype)
    return np.where(b < 0, unit, result)


def _shift(np: Any, kind: str, a: Array, b: Array, how: str) -> Array:
    width = _WIDTH[kind]
    wide = (b < 0) | (b >= width)
    if how == "shr":
        return np.right_shift(a, np.where(wide, np.asarray(width - 1, b.dtype), b))
    unsigned = np.asarray(a).astype(f"uint{width}")
    count = np.where(wide, 0, b).astype(f"uint{width}")
    moved = np.left_shift(unsigned, count) if how == "shl" else np.right_shift(unsigned, count)
    return np.where(wide, 0, moved).astype(f"uint{width}").astype(a.dtype)


def _to_integer(np: Any, kind: str, a: Array, target: str) -> Array:
    if kind not in ("f32", "f64"):
        return a.astype(target)
    info = np.iinfo(target)
    fits = (np.trunc(a) >= float(info.min)) & (np.trunc(a) < -float(info.min))
    return np.where(fits, np.where(fits, a, 0).astype(target), info.min).astype(target)


def _mul_err(np: Any, kind: str, a: Array, b: Array) -> Array:
    return fma(a, b, -(a * b))


def _bits(np: Any, kind: str, a: Array) -> Array:
    return np.ascontiguousarray(a).view(_DTYPES[_COUNTERPART[kind]]).reshape(np.shape(a))


_SPECIAL: dict[str, Callable[..., Array]] = {
    "truncdiv": _truncdiv,
    "rem": _rem,
    "floordiv": _floordiv,
    "mod": _mod,
    "ipow": _ipow,
    "shl": lambda np, kind, a, b: _shift(np, kind, a, b, "shl"),
    "shr": lambda np, kind, a, b: _shift(np, kind, a, b, "shr"),
    "shru": lambda np, kind, a, b: _shift(np, kind, a, b, "shru"),
    "fma": lambda np, kind, a, b, c: fma(a, b, c),
    "mul_err": _mul_err,
    "minimum": lambda np, kind, a, b: np.where((b < a) | (b != b), b, a),
    "maximum": lambda np, kind, a, b: np.where((b > a) | (b != b), b, a),
    "bits": _bits,
    "frombits": _bits,
    "f32": lambda np, kind, a: a.astype("float32"),
    "f64": lambda np, kind, a: a.astype("float64"),
    "i32": lambda np, kind, a: _to_integer(np, kind, a, "int32"),
    "i64": lambda np, kind, a: _to_integer(np, kind, a, "int64"),
    "bool": lambda np, kind, a: a != 0,
}


def _lgamma(np: Any, a: Array) -> Array:
    def one(x: float) -> float:
        try:
            return math.lgamma(x)
        except (ValueError, OverflowError):
            return math.inf

    return np.vectorize(one, otypes=["float64"])(a)


_EXTERNS: dict[str, Callable[..., Array]] = {
    "sin": lambda np, a: np.sin(a.astype("float64")),
    "cos": lambda np, a: np.cos(a.astype("float64")),
    "tan": lambda np, a: np.tan(a.astype("float64")),
    "lgamma": _lgamma,
    "fmod": lambda np, a, b: np.fmod(a, b),
}
