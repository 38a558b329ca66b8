"""Symbolic derivatives of formulas: again formulas, so derivatives of any order are kernels.

PyTorch's conventions hold where a function has a corner: half to each side of ``maximum`` on a
tie, everything to the argument of ``clamp`` on its bounds, 0 for ``abs`` and ``relu`` at 0.
Choices are differentiated branch by branch; comparisons and rounding have derivative zero.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from .algebra import ONE, ZERO, add, mul, select
from .derivative_rules import COMPLEX_RULES, CONSTANT, HOLOMORPHIC, RULES, Rule
from .expr import LEAVES, Expr, call, is_const, param, postorder, substitute
from .registry import FormulaError, find


def derivative(expr: Expr, wrt: str | Expr, is_complex: bool = False) -> Expr:
    """The derivative of an expression in one of its operands.

    Args:
        expr: The expression.
        wrt: Name of a tensor operand, or any leaf of the expression.
        is_complex: Whether operands are complex numbers.

    Returns:
        An expression over the same operands.

    Raises:
        FormulaError: A function in it has no derivative.

    Example:
        >>> from flambeau.core.formula import parse
        >>> from flambeau.core.formula.derivative import derivative
        >>> derivative(*parse("a * a + b", ["a", "b"]), "b")
        1.0
    """
    leaf = param(wrt) if isinstance(wrt, str) else wrt
    rules = {**RULES, **COMPLEX_RULES} if is_complex else RULES
    slopes: dict[Expr, Expr] = {}
    for node in postorder([expr]):
        slopes[node] = ONE if node is leaf else _slope(node, slopes, rules)
    return slopes[expr]


def grad_formulas(
    exprs: Sequence[Expr], params: Sequence[str], is_complex: bool = False
) -> dict[str, Expr | None]:
    """What a definition's backward pass computes: ``grad`` times the derivative in each operand.

    Args:
        exprs: The definition's formula, one expression per output.
        params: Operands to differentiate in.
        is_complex: Follow PyTorch's convention for complex operands, grad times the conjugate
            of the derivative and the conjugate of grad times that by the conjugate, for formulas
            of holomorphic functions and conj.

    Returns:
        For each operand an expression over the operands, ``grad`` and, where the derivative
        contains the value itself, ``result``; with several outputs ``grad0``, ``result0`` and
        so on. None where a complex formula holds other functions.

    Example:
        >>> from flambeau.core.formula import grad_formulas, parse
        >>> grad_formulas(parse("exp(a)", ["a"]), ["a"])
        {'a': mul(grad, result)}
    """
    return {name: _grad(exprs, name, is_complex) for name in params}


def _grad(exprs: Sequence[Expr], name: str, is_complex: bool) -> Expr | None:
    total = ZERO
    for number, expr in enumerate(exprs):
        suffix = "" if len(exprs) == 1 else str(number)
        grad, known = param(f"grad{suffix}"), _result(expr, f"result{suffix}")
        if not is_complex:
            total = add(total, mul(grad, substitute(derivative(expr, name), known)))
        elif _is_known(expr, name):
            along, against = (substitute(s, known) for s in _wirtinger(expr, param(name)))
            total = add(total, add(mul(grad, _conj(along)), mul(_conj(grad), against)))
        else:
            return None
    return total


def _wirtinger(expr: Expr, leaf: Expr) -> tuple[Expr, Expr]:
    """The derivatives of a complex formula in an operand, and in the operand's conjugate."""
    rules = {**RULES, **COMPLEX_RULES}
    along: dict[Expr, Expr] = {}
    against: dict[Expr, Expr] = {}
    for node in postorder([expr]):
        if node.op == "conj":
            (inner,) = node.args
            along[node], against[node] = _conj(against[inner]), _conj(along[inner])
        else:
            along[node] = ONE if node is leaf else _slope(node, along, rules)
            against[node] = ZERO if node is leaf else _slope(node, against, rules)
    return along[expr], against[expr]


def _conj(expr: Expr) -> Expr:
    if expr.op == "conj":
        return expr.args[0]
    return expr if expr.op == "const" else call("conj", expr)


def _result(expr: Expr, name: str) -> Mapping[Expr, Expr]:
    return {} if expr.op in LEAVES else {expr: param(name)}


def _is_known(expr: Expr, name: str) -> bool:
    """Whether the functions that depend on an operand are holomorphic, or conj."""
    depends: set[Expr] = set()
    for node in postorder([expr]):
        if node is param(name):
            depends.add(node)
        elif any(arg in depends for arg in node.args):
            known = node.op == "conj" or node.op in HOLOMORPHIC
            if not known and not _is_choice(node, depends):
                return False
            depends.add(node)
    return True


def _is_choice(node: Expr, depends: Collection[Expr]) -> bool:
    return node.op == "select" and node.args[0] not in depends


def _slope(node: Expr, slopes: Mapping[Expr, Expr], rules: Mapping[str, Rule]) -> Expr:
    inner = [slopes[arg] for arg in node.args]
    if node.op in CONSTANT or all(is_const(slope, 0) for slope in inner):
        return ZERO
    if node.op in ("select", "rare"):
        return select(node.args[0], inner[1], inner[2])
    if node.op in ("f32", "f64"):
        return call(node.op, inner[0])
    if node.op in rules:
        partials = rules[node.op](node, *node.args)
        total = ZERO
        for slope, partial in zip(inner, partials, strict=True):
            total = add(total, mul(slope, partial))
        return total
    return _through_definition(node, inner)


def _through_definition(node: Expr, inner: Sequence[Expr]) -> Expr:
    """Differentiate the body of a prelude function that is the same in both precisions."""
    definition = find(node.op, "float")
    if definition is None:
        raise FormulaError(f"{node.op}() has no derivative")
    names = [param(f"{node.op}.{number}") for number in range(len(node.args))]
    body = definition(*names)
    total = ZERO
    for name, slope in zip(names, inner, strict=True):
        partial = substitute(derivative(body, name), dict(zip(names, node.args, strict=True)))
        total = add(total, mul(slope, partial))
    return total
