"""Text to expressions: Python syntax, a closed set of names, errors that point at the column."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from typing import NoReturn

from .expr import Expr, call, const, is_const, param, scalar
from .functions import ALIASES, ARITY
from .registry import FormulaError

NAMED_CONSTANTS = {
    "pi": math.pi,
    "e": math.e,
    "inf": math.inf,
    "nan": math.nan,
    "True": True,
    "False": False,
}

_BINARY = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "shl",
    ast.RShift: "shr",
}
_UNARY = {ast.USub: "neg", ast.Invert: "not"}
_COMPARE = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}
_FOLDABLE: dict[str, Callable[..., float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: a**b,
    "neg": lambda a: -a,
    "sqrt": math.sqrt,
    "log": math.log,
    "exp": math.exp,
}


def parse(text: str, params: Sequence[str], scalars: Sequence[str] = ()) -> tuple[Expr, ...]:
    """Read one formula, or several separated by commas.

    Args:
        text: Python expression syntax.
        params: Names of the tensor operands.
        scalars: Names of the run-time scalars.

    Returns:
        One expression per output.

    Raises:
        FormulaError: The text is not a formula over these names.

    Example:
        >>> parse("a + alpha * b", ["a", "b"], ["alpha"])
        (add(a, mul(alpha, b)),)
    """
    return _Reader(text, params, scalars).read()


class _Reader:
    def __init__(self, text: str, params: Sequence[str], scalars: Sequence[str]) -> None:
        self.text = text
        self.names: dict[str, Expr] = {name: const(v) for name, v in NAMED_CONSTANTS.items()}
        self.names.update({name: param(name) for name in params})
        self.names.update({name: scalar(name) for name in scalars})

    def read(self) -> tuple[Expr, ...]:
        source = f"({self.text.strip()}\n)"
        try:
            body = ast.parse(source, mode="eval").body
        except SyntaxError as error:
            raise FormulaError(f"not an expression: {error.msg}\n  {self.text}") from None
        self.source = source.splitlines()
        items = body.elts if isinstance(body, ast.Tuple) else [body]
        return tuple(self.visit(item) for item in items)

    def visit(self, node: ast.expr) -> Expr:
        method = getattr(self, f"visit_{type(node).__name__}", None)
        if method is None:
            kind = type(node).__name__
            self.fail(node, f"{kind} is not part of the formula language")
        result: Expr = method(node)
        return result

    def visit_Constant(self, node: ast.Constant) -> Expr:
        if not isinstance(node.value, int | float):
            self.fail(node, f"a number is expected, not {node.value!r}")
        return const(node.value)

    def visit_Name(self, node: ast.Name) -> Expr:
        if node.id not in self.names:
            known = ", ".join(name for name in self.names if name not in NAMED_CONSTANTS)
            self.fail(node, f"{node.id!r} is not an operand; the operands are {known or 'none'}")
        return self.names[node.id]

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Expr:
        if isinstance(node.op, ast.UAdd):
            return self.visit(node.operand)
        if type(node.op) not in _UNARY:
            self.fail(node, "write ~a for a logical or bitwise not")
        return fold(call(_UNARY[type(node.op)], self.visit(node.operand)))

    def visit_BinOp(self, node: ast.BinOp) -> Expr:
        if type(node.op) not in _BINARY:
            self.fail(node, f"the operator {type(node.op).__name__} is not known")
        return fold(call(_BINARY[type(node.op)], self.visit(node.left), self.visit(node.right)))

    def visit_Compare(self, node: ast.Compare) -> Expr:
        values = [self.visit(item) for item in (node.left, *node.comparators)]
        result = None
        for i, op in enumerate(node.ops):
            if type(op) not in _COMPARE:
                self.fail(node, f"the comparison {type(op).__name__} is not known")
            term = call(_COMPARE[type(op)], values[i], values[i + 1])
            result = term if result is None else result & term
        assert result is not None
        return result

    def visit_BoolOp(self, node: ast.BoolOp) -> Expr:
        self.fail(node, "write a & b or a | b, with parentheses around comparisons")

    def visit_IfExp(self, node: ast.IfExp) -> Expr:
        return call("select", self.visit(node.test), self.visit(node.body), self.visit(node.orelse))

    def visit_Call(self, node: ast.Call) -> Expr:
        if not isinstance(node.func, ast.Name) or node.keywords:
            self.fail(node, "call a function by its name, with positional arguments")
        name = ALIASES.get(node.func.id, node.func.id)
        if name not in ARITY:
            self.fail(node, f"the function {name!r} is not known")
        if len(node.args) != ARITY[name]:
            self.fail(node, f"{name}() takes {ARITY[name]} argument(s), {len(node.args)} given")
        return fold(call(name, *map(self.visit, node.args)))

    def fail(self, node: ast.expr, why: str) -> NoReturn:
        line = self.source[node.lineno - 1]
        marker = " " * node.col_offset + "^"
        raise FormulaError(f"{why}\n  {line}\n  {marker}")


def fold(node: Expr) -> Expr:
    """Compute what consists of literals alone, in double precision."""
    if node.op not in _FOLDABLE or not all(map(is_const, node.args)):
        return node
    try:
        return const(_FOLDABLE[node.op](*(arg.value for arg in node.args)))
    except (ArithmeticError, ValueError):
        return node
