"""The core's kernels over rows as formulas around reductions, step by step as they compute.

``reduce`` instructions hold the name of an order (``orders``); ``length`` is the number of
elements of a row, ``at`` the element of a row at an index. What counts beyond a row's end may be
given with a reduction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from flambeau.core.formula import Program, lower, param
from flambeau.core.formula.literal import encode
from flambeau.core.formula.prelude.exponential import exp_raised
from flambeau.core.formula.prelude.tools import FORMATS
from flambeau.core.formula.prelude.tools import lower as lower_product
from flambeau.jit.convert import narrow
from flambeau.jit.opset import find_opdef
from flambeau.jit.region import Flattener, lower_opdef
from flambeau.jit.rowcode.orders import PIECE_ELEMENTS

#: Powers of norms that are computed here.
NORMS = (1.0, 2.0, float("inf"))
#: Longer rows the core's kernels reduce in pieces, in other orders.
MOST_ELEMENTS = 8192
_MEAN = 1                           # a loss's ``reduction``


@dataclass
class Maker:
    """Appends a kernel's instructions.

    Args:
        out: where to.
        kind: ``f32`` or ``f64``: what the kernel computes in.
        elements: of a row, where these decide the order of a sum; else 0.
    """

    out: Flattener
    kind: str
    elements: int

    def __call__(self, op: str, *args: int, kind: str = "") -> int:
        """An instruction on values of one type."""
        return self.out.emit(op, kind or self.out.out.instrs[args[0]].type, args)

    def const(self, value: float, kind: str = "") -> int:
        """A number."""
        kind = kind or self.kind
        return self.out.emit("const", kind, (), encode(value, kind))

    def wide(self, number: int) -> int:
        """A value in double precision."""
        return number if self.type(number) == "f64" else self("f64", number, kind="f64")

    def own(self, number: int) -> int:
        """A value in the kernel's precision."""
        return number if self.type(number) == self.kind else self(self.kind, number,
                                                                  kind=self.kind)

    def type(self, number: int) -> str:
        return self.out.out.instrs[number].type

    def reduce(self, order: str, x: int, rest: int | None = None) -> int:
        """A reduction of a row."""
        kind = "f64" if order.endswith("_of_pieces") else self.type(x)
        args = (x,) if rest is None else (x, rest)
        return self.out.emit("reduce", kind, args, order)

    def length(self, kind: str) -> int:
        """How many elements a row has."""
        return self.out.emit("length", kind)

    def exp(self, x: int) -> int:
        """As the kernels around exp compute it, which is as its formula does."""
        opdef = find_opdef("exp")
        assert opdef is not None
        return self.out.splice(lower_opdef(opdef, self.kind), {"self": x})[0][0]

    def exp_raised(self, x: int) -> tuple[int, float]:
        """For what is not above 0, in fewer steps; see the prelude's function."""
        program, down = _exp_raised(self.kind)
        return self.out.splice(program, {"self": x})[0][0], down

    def weight(self, x: int) -> int:
        """exp, with zero for what is denormal, as the kernels of attention have it."""
        return self.out.splice(_exp_raised(self.kind, 0)[0], {"self": x})[0][0]

    def lowered(self, x: int, factor: int, border: int) -> int:
        """x * factor, which is denormal where x is below the border."""
        given = {"self": x, "factor": factor, "border": border}
        return self.out.splice(_lowered(self.kind), given)[0][0]

    def log(self, x: int) -> int:
        """The C library's, in double precision."""
        return self.out.emit("extern", "f64", (self.wide(x),), "log")


@cache
def _exp_raised(kind: str, up: int | None = None) -> tuple[Program, float]:
    value, down = exp_raised(param("self"), kind, up)
    return lower((value,), kind, {"self": kind}, [kind]), down


@cache
def _lowered(kind: str) -> Program:
    x, factor, border = (param(name) for name in ("self", "factor", "border"))
    value = lower_product(x, factor, x < border, kind)
    return lower((value,), kind, dict.fromkeys(("self", "factor", "border"), kind), [kind])


def total(make: Maker, x: int) -> list[int]:
    return [make.reduce("sum", x)]


def mean(make: Maker, x: int) -> list[int]:
    return [make("div", make.reduce("sum", x), make.length(make.kind))]


def softmax(make: Maker, x: int) -> list[int]:
    powers, down = make.exp_raised(make("sub", x, make.reduce("largest", x)))
    sum_ = make.reduce("sum_exp", powers)
    least = make.const(0.999 * FORMATS[make.kind].normal / down)
    border = make("mul", make("mul", sum_, make.const(down)), least)
    return [make.lowered(powers, make("div", make.const(1.0), sum_), border)]


def log_softmax(make: Maker, x: int) -> list[int]:
    below = make("sub", x, make.reduce("largest", x))
    return [make("sub", below, _log_of_sum(make, below))]


def _log_of_sum(make: Maker, below: int) -> int:
    """The logarithm of the sum of exponentials, the largest of them being 1."""
    powers, down = make.exp_raised(below)
    sum_ = make("mul", make.reduce("sum_exp", powers), make.const(down))
    return make.own(make.log(sum_))


def log_softmax_at(make: Maker, x: int, index: int) -> list[int]:
    zero, nothing = make.const(0, "i64"), make.const(0.0)
    inside = make("and", make("ge", index, zero, kind="b"),
                  make("lt", index, make.length("i64"), kind="b"), kind="b")
    own = make("at", x, make("select", inside, index, zero, kind="i64"), kind=make.type(x))
    top = make.reduce("largest", x)
    rest = _log_of_sum(make, make("sub", x, top))
    return [make("select", inside, make("sub", make("sub", own, top), rest), nothing,
                 kind=make.kind)]


def logsumexp(make: Maker, x: int) -> list[int]:
    top, zero = make.reduce("largest", x), make.const(0.0)
    is_finite = make("eq", make("sub", top, top), zero, kind="b")
    shift = make("select", is_finite, top, zero, kind=make.kind)
    powers = make.wide(make.reduce("sum_exp", make.exp(make("sub", x, shift))))
    none = make.const(0.0, "f64")
    is_empty = make("eq", powers, none, kind="b")
    shift = make("select", is_empty, none, make.wide(shift), kind="f64")
    return [make.own(make("add", make.log(powers), shift))]


def softmax_grad(make: Maker, grad: int, result: int) -> list[int]:
    sum_ = make.reduce("sum_exp", make("mul", grad, result))
    return [make("mul", result, make("sub", grad, sum_))]


def log_softmax_grad(make: Maker, grad: int, result: int) -> list[int]:
    sum_ = _sum_of_one(make, grad)
    if sum_ is None:
        sum_ = make.reduce("sum_exp", grad)
    return [make("sub", grad, make("mul", make.exp(result), sum_))]


def nll_loss_grad(make: Maker, given: Mapping[str, int], target: int, reduction: int,
                  ignored: int) -> list[int]:
    """``loss/nll.cpp``: 0 but for the target's element."""
    grad, one = given["grad"], make.const(1.0)
    if reduction == _MEAN:
        total = make.wide(given["total_weight"])
        grad = make("mul", grad, make.own(make("div", make.const(1.0, "f64"), total)))
    counts = make("ne", target, make.const(ignored, "i64"), kind="b")
    weight = one
    if "weight" in given:
        at = make("select", counts, target, make.const(0, "i64"), kind="i64")
        weight = make("at", given["weight"], at, kind=make.kind)
    value = make("mul", make("neg", grad), weight)
    at = make.own(make("select", counts, target, make.const(-1, "i64"), kind="i64"))
    is_target = make("eq", make.out.emit("position", make.kind), at, kind="b")
    return [make("select", is_target, value, make.const(0.0), kind=make.kind)]


def _sum_of_one(make: Maker, x: int) -> int | None:
    """The sum of a row that ``nll_loss_grad`` made: of zeros, and of one value at most."""
    instrs = make.out.out.instrs
    x, half = _unrounded(make, x)
    if instrs[x].op != "select":
        return None
    test, value, _ = instrs[x].args
    if instrs[test].op != "eq" or instrs[instrs[test].args[0]].op != "position":
        return None
    zero = make.const(0.0)
    counts = make("ge", instrs[test].args[1], zero, kind="b")
    if half:
        value = narrow(make.out.emit, (value,), half)[0]
    return make("add", make("select", counts, value, zero, kind=make.kind), zero)


def _unrounded(make: Maker, x: int) -> tuple[int, str]:
    """A value before it was rounded to half precision, and which of them; see ``narrow``."""
    instrs = make.out.out.instrs
    if instrs[x].op == "half":
        return instrs[x].args[0], "float16"
    test = instrs[instrs[x].args[0]] if instrs[x].op == "select" else instrs[x]
    if test.op == "ne" and test.args[0] == test.args[1]:
        return test.args[0], "bfloat16"
    return x, ""


def variance(make: Maker, x: int, correction: int) -> list[int]:
    """``statistics/kernels/moments.cpp`` and ``statistics/var.cpp``."""
    middle = make("div", make.reduce("moment", x), make.length(make.kind))
    gap, rest = make("sub", x, middle), make("sub", middle, middle)
    first = make.wide(make.reduce("deviations", gap, rest))
    second = make.wide(make.reduce("deviations", make("mul", gap, gap), make("mul", rest, rest)))
    count, zero = make.length("f64"), make.const(0.0, "f64")
    off = make("div", first, count)
    second = make("sub", second, make("mul", first, off))
    second = make("select", make("lt", second, zero, kind="b"), zero, second, kind="f64")
    delta = make("add", make.wide(middle), off)
    join = make("div", make("mul", make("mul", make("mul", delta, delta), zero), count), count)
    second = make("add", second, join)
    divisor = make("sub", count, correction)
    divisor = make("select", make("gt", divisor, zero, kind="b"), divisor, zero, kind="f64")
    return [make.own(make("div", second, divisor))]


def deviation(make: Maker, x: int, correction: int) -> list[int]:
    spread = make.wide(variance(make, x, correction)[0])
    return [make.own(make("sqrt", spread))]


def norm(make: Maker, x: int, p: float) -> list[int]:
    """``reduce/map.cpp``."""
    if p == 2:
        return [make("sqrt", make.reduce("sum", make("mul", x, x)))]
    return [make.reduce("sum" if p == 1 else "amax", make("abs", x))]


def layer_norm(make: Maker, x: int, weight: int | None, bias: int | None, eps: int) -> list[int]:
    """``norm/kernels/norm.cpp``."""
    pieces = "_of_pieces" if make.elements > PIECE_ELEMENTS else ""
    sum_ = make.reduce("moment" + pieces, x)
    middle = make.own(make("div", sum_, make.length(make.type(sum_))))
    gap, rest = make("sub", x, middle), make("sub", middle, middle)
    sum_ = make.reduce("deviations" + pieces, make("mul", gap, gap), make("mul", rest, rest))
    spread = make.wide(make.own(make("div", sum_, make.length(make.type(sum_)))))
    root = make("sqrt", make("add", spread, eps))
    scale = make.own(make("div", make.const(1.0, "f64"), root))
    result = make("mul", gap, scale)
    if weight is not None:
        result = make("mul", result, weight)
    if bias is not None:
        result = make("add", result, bias)
    return [result, middle, scale]
