"""Partial derivatives of the primitives and of prelude functions, one line each.

A rule gets the node and its arguments and gives one partial derivative per argument; ``y`` is
the node itself, so a derivative in terms of the result costs no second evaluation. Functions
without a rule are differentiated through their definition.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from .algebra import ONE, ZERO, add, div, mul, neg, select, sub
from .expr import Expr, call, const, is_const

Rule = Callable[..., tuple[Expr, ...]]

LN2 = math.log(2)
LN10 = math.log(10)
TWO_OVER_ROOT_PI = 1.1283791670955126
ROOT_PI_OVER_TWO = 0.886226925452758

#: Results that do not change, or only jump, as the arguments change.
CONSTANT = frozenset(
    "lt le gt ge eq ne and or xor not shl shr shru bits floor ceil trunc rint floordiv truncdiv "
    "rem i32 i64 bool sign signbit isnan isinf isfinite ipow".split()
)


def _call(name: str, *args: Expr) -> Expr:
    return call(name, *args)


def _square(x: Expr) -> Expr:
    return x * x


def _pow(y: Expr, a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """PyTorch's: no derivative in the base for exponent 0, none in the exponent for base 0."""
    lower = call("pow", a, sub(b, 1.0) if b.op != "const" else float(str(b.value)) - 1.0)
    base = mul(b, a if is_const(b, 2) else ONE if is_const(b, 1) else lower)
    if b.op != "const":
        base = select(call("eq", b, 0.0), ZERO, base)
    exponent = select(call("eq", a, 0.0) & (b >= 0.0), ZERO, mul(y, call("log", a)))
    return base, exponent


def _extremum(before: str) -> Rule:
    """One where it wins, half on ties; ``before`` compares a loser to the winner."""

    def rule(y: Expr, a: Expr, b: Expr) -> tuple[Expr, Expr]:
        def one(x: Expr, other: Expr) -> Expr:
            tie = select(call("eq", x, other), 0.5, ONE)
            return select(call(before, x, other), ZERO, tie)

        return one(a, b), one(b, a)

    return rule


def _clamp(y: Expr, x: Expr, low: Expr, high: Expr) -> tuple[Expr, ...]:
    inside = (x >= low) & (x <= high)
    below = (x < low) & (low < high)
    above = (x > high) | (high < low)
    return select(inside, ONE, ZERO), select(below, ONE, ZERO), select(above, ONE, ZERO)


def _first_or_second(first: Expr) -> tuple[Expr, Expr]:
    return select(first, ONE, ZERO), select(first, ZERO, ONE)


def _atan2(y: Expr, a: Expr, b: Expr) -> tuple[Expr, Expr]:
    size = a * a + b * b
    return div(b, size), neg(div(a, size))


def _gelu(y: Expr, x: Expr) -> tuple[Expr]:
    """Phi(x) + x phi(x)."""
    density = 0.3989422804014327 * call("exp", -0.5 * x * x)
    return (add(0.5 * (1.0 + call("erf", x * 0.7071067811865476)), mul(x, density)),)


def _xlog(log: str, least: float) -> Rule:
    """Of a log(b), whose slope in a is taken as 0 where both are at their ends."""

    def rule(y: Expr, a: Expr, b: Expr) -> tuple[Expr, Expr]:
        ends = call("eq", a, 0.0) & (b <= least)
        return select(ends, ZERO, call(log, b)), div(a, b - least if least else b)

    return rule


def _logit(y: Expr, a: Expr) -> tuple[Expr]:
    """1 / (a (1 - a)) inside the interval, nan outside."""
    inside = (a >= 0.0) & (a <= 1.0)
    return (select(inside, div(ONE, a * (1.0 - a)), const(math.nan)),)


def _sinc(y: Expr, a: Expr) -> tuple[Expr]:
    """(cos(pi a) - y) / a, and its series near 0."""
    angle = a * math.pi
    square = angle * angle
    series: Expr = const(_SINC_SERIES[-1])
    for c in reversed(_SINC_SERIES[:-1]):
        series = series * square + c
    near = call("abs", a) < 0.1
    return (select(near, series * angle * math.pi, div(sub(call("cos", angle), y), a)),)


def _silu(y: Expr, x: Expr) -> tuple[Expr]:
    s = call("sigmoid", x)
    return (s * (1.0 + x * (1.0 - s)),)


#: The derivative of sin(p) / p over p, in powers of p**2.
_SINC_SERIES = tuple((-1.0) ** k * 2 * k / math.factorial(2 * k + 1) for k in range(1, 7))


def _mish(y: Expr, a: Expr) -> tuple[Expr]:
    """With w = exp(a), n = w (w + 2): n / (n + 2) + 4 a w (w + 1) / (n + 2)**2."""
    w = call("exp", call("minimum", a, 20.0))
    n = w * (w + 2.0)
    return (div(n, n + 2.0) + a * (4.0 * w * (w + 1.0) / ((n + 2.0) * (n + 2.0))),)


RULES: dict[str, Rule] = {
    # arithmetic
    "add": lambda y, a, b: (ONE, ONE),
    "sub": lambda y, a, b: (ONE, neg(ONE)),
    "mul": lambda y, a, b: (b, a),
    "div": lambda y, a, b: (div(ONE, b), neg(div(y, b))),
    "neg": lambda y, a: (neg(ONE),),
    "abs": lambda y, a: (call("sign", a),),
    "fma": lambda y, a, b, c: (b, a, ONE),
    "fmod": lambda y, a, b: (ONE, neg(call("truncdiv", a, b))),
    "mod": lambda y, a, b: (ONE, neg(call("floordiv", a, b))),
    "copysign": lambda y, a, b: (select(call("eq", a, 0.0), ZERO, div(y, a)), ZERO),
    "square": lambda y, a: (mul(2.0, a),),
    "reciprocal": lambda y, a: (neg(_square(y)),),
    # powers
    "pow": _pow,
    "sqrt": lambda y, a: (div(0.5, y),),
    "rsqrt": lambda y, a: (mul(-0.5, y * y * y),),
    "hypot": lambda y, a, b: (div(a, y), div(b, y)),
    # exponentials and logarithms
    "exp": lambda y, a: (y,),
    "exp2": lambda y, a: (mul(y, LN2),),
    "expm1": lambda y, a: (add(y, 1.0),),
    "log": lambda y, a: (div(ONE, a),),
    "log2": lambda y, a: (div(ONE, a * LN2),),
    "log10": lambda y, a: (div(ONE, a * LN10),),
    "log1p": lambda y, a: (div(ONE, 1.0 + a),),
    # trigonometric and hyperbolic
    "sin": lambda y, a: (_call("cos", a),),
    "cos": lambda y, a: (neg(_call("sin", a)),),
    "tan": lambda y, a: (add(1.0, _square(y)),),
    "asin": lambda y, a: (div(ONE, _call("sqrt", (1.0 - a) * (1.0 + a))),),
    "acos": lambda y, a: (neg(div(ONE, _call("sqrt", (1.0 - a) * (1.0 + a)))),),
    "atan": lambda y, a: (div(ONE, 1.0 + a * a),),
    "atan2": _atan2,
    "sinh": lambda y, a: (_call("cosh", a),),
    "cosh": lambda y, a: (_call("sinh", a),),
    "tanh": lambda y, a: (sub(1.0, _square(y)),),
    "asinh": lambda y, a: (div(ONE, _call("sqrt", a * a + 1.0)),),
    "acosh": lambda y, a: (div(ONE, _call("sqrt", (a - 1.0) * (a + 1.0))),),
    "atanh": lambda y, a: (div(ONE, (1.0 - a) * (1.0 + a)),),
    # error and gamma functions
    "erf": lambda y, a: (mul(TWO_OVER_ROOT_PI, _call("exp", -(a * a))),),
    "erfc": lambda y, a: (mul(-TWO_OVER_ROOT_PI, _call("exp", -(a * a))),),
    "erfinv": lambda y, a: (mul(ROOT_PI_OVER_TWO, _call("exp", y * y)),),
    "lgamma": lambda y, a: (_call("digamma", a),),
    "digamma": lambda y, a: (_call("trigamma", a),),
    # logarithms with care
    "xlogy": _xlog("log", 0.0),
    "xlog1py": _xlog("log1p", -1.0),
    "entr": lambda y, a: (neg(add(call("log", a), 1.0)),),
    "logit": _logit,
    "logaddexp": lambda y, a, b: (_call("sigmoid", a - b), _call("sigmoid", b - a)),
    "logaddexp2": lambda y, a, b: (
        _call("sigmoid", (a - b) * LN2),
        _call("sigmoid", (b - a) * LN2),
    ),
    "sinc": _sinc,
    # choices
    "minimum": _extremum("gt"),
    "maximum": _extremum("lt"),
    "fmax": lambda y, a, b: _first_or_second((a >= b) | call("ne", b, b)),
    "fmin": lambda y, a, b: _first_or_second((a <= b) | call("ne", b, b)),
    "clamp": _clamp,
    "clamp_min": lambda y, a, b: _first_or_second(a >= b),
    "clamp_max": lambda y, a, b: _first_or_second(a <= b),
    "relu": lambda y, a: (select(y > 0.0, ONE, ZERO),),
    # networks
    "sigmoid": lambda y, a: (mul(y, sub(1.0, y)),),
    "logsigmoid": lambda y, a: (_call("sigmoid", -a),),
    "softplus": lambda y, a: (_call("sigmoid", a),),
    "softplus_scaled": lambda y, a, b: (
        _call("sigmoid", a * b), (a * _call("sigmoid", a * b) - y) / b),
    "silu": _silu,
    "gelu": _gelu,
    "mish": _mish,
    "angle": lambda y, a: (ZERO,),
}

#: Rules of complex numbers where that of real ones is on another branch.
COMPLEX_RULES: dict[str, Rule] = {
    "acosh": lambda y, a: (div(ONE, _call("sqrt", a - 1.0) * _call("sqrt", a + 1.0)),),
}

#: Functions whose complex derivative is that of the real function.
HOLOMORPHIC = frozenset(
    "add sub mul div neg square reciprocal pow sqrt rsqrt exp log sin cos tan sinh cosh tanh "
    "sigmoid silu exp2 expm1 log2 log10 log1p asin acos atan asinh acosh atanh sinc "
    "logaddexp".split()
)
