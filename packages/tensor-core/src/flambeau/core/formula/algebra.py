"""Constructors that simplify as they build, for derivatives.

The rule: what is exact for finite numbers is simplified, so ``0 * x`` is 0 and ``x + 0`` is x.
A derivative that is zero by its formula stays zero where x is infinite or nan, as a mask does in
PyTorch. Nothing is reassociated.
"""

from __future__ import annotations

from .expr import Expr, Operand, call, const, is_const, wrap

ZERO = const(0.0)
ONE = const(1.0)


def add(a: Operand, b: Operand) -> Expr:
    """a + b."""
    x, y = wrap(a), wrap(b)
    if is_const(x, 0):
        return y
    if is_const(y, 0):
        return x
    if y.op == "neg":
        return call("sub", x, y.args[0])
    both = _literals(x, y)
    return call("add", x, y) if both is None else both


def sub(a: Operand, b: Operand) -> Expr:
    """a - b."""
    x, y = wrap(a), wrap(b)
    if is_const(y, 0):
        return x
    if is_const(x, 0):
        return neg(y)
    return call("sub", x, y)


def neg(a: Operand) -> Expr:
    """-a."""
    x = wrap(a)
    if x.op == "const":
        return const(-float(str(x.value)))
    return x.args[0] if x.op == "neg" else call("neg", x)


def mul(a: Operand, b: Operand) -> Expr:
    """a * b; a factor that is a choice with 0 or 1 chooses between products instead."""
    x, y = wrap(a), wrap(b)
    if is_const(x, 0) or is_const(y, 0):
        return ZERO
    if is_const(x, 1):
        return y
    if is_const(y, 1):
        return x
    for factor, other in ((x, y), (y, x)):
        if is_const(factor, -1):
            return neg(other)
        if factor.op == "neg":
            return neg(mul(factor.args[0], other) if factor is x else mul(other, factor.args[0]))
    for factor, other in ((y, x), (x, y)):
        if factor.op == "div" and is_const(factor.args[0], 1):
            return div(other, factor.args[1])
        if factor.op == "select" and any(map(_is_mask, factor.args[1:])):
            c, p, q = factor.args
            return select(c, mul(other, p), mul(other, q))
    return call("mul", x, y)


def div(a: Operand, b: Operand) -> Expr:
    """a / b."""
    x, y = wrap(a), wrap(b)
    if is_const(x, 0):
        return ZERO
    if is_const(y, 1):
        return x
    if x.op == "neg":
        return neg(div(x.args[0], y))
    return call("div", x, y)


def select(condition: Expr, a: Operand, b: Operand) -> Expr:
    """a if condition else b."""
    x, y = wrap(a), wrap(b)
    return x if x is y else call("select", condition, x, y)


def _is_mask(node: Expr) -> bool:
    return is_const(node, 0) or is_const(node, 1)


def _literals(x: Expr, y: Expr) -> Expr | None:
    """The sum of two whole literals, which is exact."""
    if x.op != "const" or y.op != "const":
        return None
    p, q = float(str(x.value)), float(str(y.value))
    whole = p.is_integer() and q.is_integer() and abs(p) + abs(q) < 2**24
    return const(p + q) if whole else None
