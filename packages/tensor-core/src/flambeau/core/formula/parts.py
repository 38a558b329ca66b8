"""Complex formulas as pairs of real ones.

``split`` walks an expression and gives its real and imaginary part as expressions over
``z.re`` and ``z.im`` for every complex operand ``z``, so that the rest knows real types only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .expr import Expr, Operand, call, const, postorder, wrap
from .registry import FormulaError, find


@dataclass(frozen=True)
class Pair:
    """A complex value: two real expressions, with the arithmetic of complex numbers."""

    re: Expr
    im: Expr

    def __add__(self, other: Pair) -> Pair:
        return Pair(self.re + other.re, self.im + other.im)

    def __sub__(self, other: Pair) -> Pair:
        return Pair(self.re - other.re, self.im - other.im)

    def __mul__(self, other: Pair) -> Pair:
        """Fused where written: gcc 12 fuses this very pattern in vector loops, and there only,
        whatever -ffp-contract says, so results would depend on an element's position.
        """
        return Pair(
            call("fma", self.re, other.re, -(self.im * other.im)),
            call("fma", self.re, other.im, self.im * other.re),
        )

    def __truediv__(self, other: Pair) -> Pair:
        """Smith's algorithm: scale by the larger part of the divisor; before that both numbers
        by a power of two where the divisor is so large or small that its inverse is not normal.
        """
        size = call("maximum", call("abs", other.re), call("abs", other.im))
        factor = call(
            "select", size > 2.0**126, 0.25, call("select", size < 2.0**-100, 2.0**40, 1.0)
        )
        return self.scale(factor)._over(other.scale(factor))

    def _over(self, other: Pair) -> Pair:
        c, d = other.re, other.im
        real_larger = call("abs", c) >= call("abs", d)
        zero = call("eq", call("maximum", call("abs", c), call("abs", d)), 0)
        big = call("select", real_larger, c, d)
        small = call("select", real_larger, d, c)
        ratio = small / big
        scale = const(1) / (big + small * ratio)
        re = call("select", real_larger, self.re + self.im * ratio, self.re * ratio + self.im)
        im = call("select", real_larger, self.im - self.re * ratio, self.im * ratio - self.re)
        return Pair(
            call("select", zero, self.re / call("abs", c), re * scale),
            call("select", zero, self.im / call("abs", c), im * scale),
        )

    def __neg__(self) -> Pair:
        return Pair(-self.re, -self.im)

    def scale(self, factor: Operand) -> Pair:
        """Multiply by a real number."""
        return Pair(wrap(factor) * self.re, wrap(factor) * self.im)


Part = Expr | Pair


def split(root: Expr, is_complex: Callable[[str], bool], as_pair: bool) -> tuple[Expr, ...]:
    """The parts of an expression.

    Args:
        root: The expression.
        is_complex: Whether the operand of that name is complex.
        as_pair: Give two parts even if the value is real.

    Returns:
        One real expression, or the real and the imaginary part.
    """
    done: dict[Expr, Part] = {}
    for node in postorder([root]):
        done[node] = _node(node, [done[arg] for arg in node.args], is_complex)
    value = done[root]
    if isinstance(value, Expr) and as_pair:
        value = _pair(value)
    return (value.re, value.im) if isinstance(value, Pair) else (value,)


def _node(node: Expr, args: list[Part], is_complex: Callable[[str], bool]) -> Part:
    if node.op in ("param", "scalar"):
        name = str(node.value)
        if not is_complex(name):
            return node
        return Pair(Expr(node.op, (), f"{name}.re"), Expr(node.op, (), f"{name}.im"))
    if node.op in _PARTS:
        return _PARTS[node.op](*args)
    if not any(isinstance(arg, Pair) for arg in args):
        new = tuple(arg for arg in args if isinstance(arg, Expr))
        return node if new == node.args else Expr(node.op, new, node.value)
    if node.op == "select" or node.op == "rare":
        return _select(node.op, *args)
    pairs = [_pair(arg) for arg in args]
    if node.op in _ARITHMETIC:
        result: Part = _ARITHMETIC[node.op](*pairs)
        return result
    definition = find(node.op, "complex")
    if definition is None:
        raise FormulaError(f"{node.op}() is not defined for complex arguments")
    found: Part = definition(*pairs)
    return found


def _pair(value: Part) -> Pair:
    return value if isinstance(value, Pair) else Pair(value, const(0.0))


def _select(op: str, condition: Part, a: Part, b: Part) -> Pair:
    if isinstance(condition, Pair):
        condition = call("ne", condition.re, 0) | call("ne", condition.im, 0)
    x, y = _pair(a), _pair(b)
    return Pair(call(op, condition, x.re, y.re), call(op, condition, x.im, y.im))


def _real(z: Part) -> Part:
    return z.re if isinstance(z, Pair) else z


def _imag(z: Part) -> Part:
    return z.im if isinstance(z, Pair) else const(0.0)


def _conj(z: Part) -> Part:
    return Pair(z.re, -z.im) if isinstance(z, Pair) else z


def _complex(re: Part, im: Part) -> Part:
    if isinstance(re, Pair) or isinstance(im, Pair):
        raise FormulaError("complex(re, im) takes two real values")
    return Pair(re, im)


_PARTS: dict[str, Callable[..., Part]] = {
    "real": _real,
    "imag": _imag,
    "conj": _conj,
    "complex": _complex,
}

_ARITHMETIC: dict[str, Callable[..., Part]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "eq": lambda a, b: call("eq", a.re, b.re) & call("eq", a.im, b.im),
    "ne": lambda a, b: call("ne", a.re, b.re) | call("ne", a.im, b.im),
    "bool": lambda a: call("ne", a.re, 0) | call("ne", a.im, 0),
}
