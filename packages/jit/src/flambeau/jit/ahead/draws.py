"""Random numbers: Philox 4x32-10, and what becomes of its words, bit for bit those of the core.

The stream is state: a seed, and how many blocks of four words were taken.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from flambeau.jit.ahead.loops import Loops
from flambeau.jit.ahead.scope import NotThisError, Scope
from flambeau.jit.ahead.unit import Buffer, Place
from flambeau.jit.ir import Node
from flambeau.jit.llvm.emitter import constant_float
from flambeau.jit.llvm.machine import Machine

#: Where Python begins, and the runtime's sessions.
_SEED = 67280421310721
_LOW = 0xFFFFFFFF

#: The elements of a block, of its words, which are i64 below 2**32.
_Make = Callable[["_Drawing", list[str]], list[str]]


class _Drawing(Loops):
    """One function: the result, the stream."""

    def two(self, op: str, kind: str, a: str, b: str | int) -> str:
        return self.add(f"{op} {kind} {a}, {b}")

    def low(self, x: str) -> str:
        return self.two("and", "i64", x, _LOW)

    def philox(self, block: str, seed: str) -> list[str]:
        """The four words of a block."""
        k0, k1 = self.low(seed), self.two("lshr", "i64", seed, 32)
        c = [self.low(block), self.two("lshr", "i64", block, 32), "0", "0"]
        for _ in range(10):
            p0 = self.two("mul", "i64", c[0], 0xD2511F53)
            p1 = self.two("mul", "i64", c[2], 0xCD9E8D57)
            high0, high1 = (self.two("lshr", "i64", p, 32) for p in (p0, p1))
            c = [self.two("xor", "i64", self.two("xor", "i64", high1, c[1]), k0), self.low(p1),
                 self.two("xor", "i64", self.two("xor", "i64", high0, c[3]), k1), self.low(p0)]
            k0 = self.low(self.two("add", "i64", k0, 0x9E3779B9))
            k1 = self.low(self.two("add", "i64", k1, 0xBB67AE85))
        return c

    def real(self, word: str) -> str:
        """An integer below 2**31 as a float."""
        return self.add(f"sitofp i64 {word} to float")

    def times(self, a: str, b: str) -> str:
        return self.two("fmul", "float", a, b)

    def fused(self, a: str, b: str, c: str) -> str:
        return self.op_fma("f32", a, b, c)

    def either(self, test: str, kind: str, a: str, b: str) -> str:
        return self.add(f"select i1 {test}, {kind} {a}, {kind} {b}")


def _float(value: float) -> str:
    return constant_float(float(np.float32(value)))


def _polynomial(out: _Drawing, x: str, first: float, *rest: float) -> str:
    value = _float(first)
    for each in rest:
        value = out.fused(value, x, _float(each))
    return value


def _log(out: _Drawing, x: str) -> str:
    """As ``log_of_uniform`` of the core."""
    bits = out.add(f"bitcast float {x} to i32")
    e = out.two("ashr", "i32", out.two("sub", "i32", bits, 0x3F3504F3), 23)
    bits = out.two("sub", "i32", bits, out.two("mul", "i32", e, 1 << 23))
    f = out.two("fsub", "float", out.add(f"bitcast i32 {bits} to float"), _float(1))
    z, n = out.times(f, f), out.add(f"sitofp i32 {e} to float")
    p = _polynomial(out, f, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1,
                    1.4249322787e-1, -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1,
                    3.3333331174e-1)
    low = out.fused(n, _float(-2.12194440e-4), out.times(out.times(p, f), z))
    inner = out.two("fadd", "float", out.fused(_float(-0.5), z, low), f)
    return out.fused(n, _float(0.693359375), inner)


def _box_muller(out: _Drawing, w0: str, w1: str) -> list[str]:
    """Two normal numbers, as ``box_muller`` of the core."""
    u = out.fused(out.real(out.two("lshr", "i64", w0, 1)), _float(2**-31), _float(2**-32))
    r = out.intrinsic("sqrt", "f32", (out.times(_float(-2), _log(out, u)),))
    angle = out.two("sub", "i64", out.two("and", "i64", w1, 0x3FFFFFFF), 0x20000000)
    x = out.times(out.times(out.real(angle), _float(2**-30)), _float(1.57079632679489662))
    z = out.times(x, x)
    p = _polynomial(out, z, -1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
    sine = out.fused(out.times(p, z), x, x)
    p = _polynomial(out, z, 2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
    cosine = out.fused(out.times(p, z), z, out.fused(_float(-0.5), z, _float(1)))
    quadrant = out.two("lshr", "i64", w1, 30)

    def bit(value: str, which: int) -> str:
        return out.add(f"icmp ne i64 {out.two('and', 'i64', value, which)}, 0")

    odd = bit(quadrant, 1)
    a, b = out.either(odd, "float", sine, cosine), out.either(odd, "float", cosine, sine)
    turned = bit(out.two("add", "i64", quadrant, 1), 2), bit(quadrant, 2)
    return [out.times(r, out.either(test, "float", out.add(f"fneg float {part}"), part))
            for test, part in zip(turned, (a, b), strict=True)]


def _uniform(low: float, high: float) -> _Make:
    first, span = np.float32(low), np.float32(high) - np.float32(low)

    def make(out: _Drawing, words: list[str]) -> list[str]:
        found = []
        for word in words:
            u = out.times(out.real(out.two("lshr", "i64", word, 8)), _float(2**-24))
            x = out.two("fadd", "float", _float(float(first)), out.times(u, _float(float(span))))
            over = out.add(f"fcmp oge float {x}, {_float(high)}")
            found.append(out.either(over, "float", _float(low), x))
        return found

    return make


def _normal(mean: float, std: float) -> _Make:
    def make(out: _Drawing, words: list[str]) -> list[str]:
        pairs = [_box_muller(out, *words[k:k + 2]) for k in (0, 2)]
        return [out.fused(x, _float(std), _float(mean)) for pair in pairs for x in pair]

    return make


def _bernoulli(p: float) -> _Make:
    threshold = int(p * 2.0**32)

    def make(out: _Drawing, words: list[str]) -> list[str]:
        tests = [out.add(f"icmp ult i64 {word}, {threshold}") for word in words]
        return [out.add(f"uitofp i1 {test} to float") for test in tests]

    return make


def _integers(low: int, high: int) -> _Make:
    def make(out: _Drawing, words: list[str]) -> list[str]:
        found = []
        for w0, w1 in (words[:2], words[2:]):
            carried = out.two("lshr", "i64", out.two("mul", "i64", w0, high - low), 32)
            product = out.two("add", "i64", out.two("mul", "i64", w1, high - low), carried)
            found.append(out.two("add", "i64", out.two("lshr", "i64", product, 32), low))
        return found

    return make


def drawn_text(count: int, kind: str, per_block: int, make: _Make, machine: Machine) -> str:
    """The function: ``count`` elements, ``per_block`` of each block."""
    out, size = _Drawing(machine, 2), 8 if kind == "i64" else 4
    seed = out.load("%a1", "i64", 8)
    begin = out.load(out.at("%a1", "1", "i64"), "i64", 8)
    whole, rest = divmod(count, per_block)

    def block(number: str, kept: int) -> None:
        words = out.philox(out.two("add", "i64", begin, number), seed)
        for k, value in enumerate(make(out, words)[:kept]):
            to = out.at("%a0", out.offset((number, per_block), start=k), kind)
            out.store(value, to, kind, size)

    if whole:
        with out.loop(whole) as number:
            block(number, per_block)
    if rest:
        block(out.add(f"add i64 {whole}, 0"), rest)
    end = out.two("add", "i64", begin, whole + bool(rest))
    out.store(end, out.at("%a1", "1", "i64"), "i64", 8)
    return out.text()


def stream(scope: Scope) -> Place:
    """The seed and the number of blocks; state that begins where Python does."""
    if scope.unit.stream is None:
        image = scope.unit.constant(np.array([_SEED, 0], np.uint64).tobytes(), "uint8", (16,))
        buffer = Buffer("state", 16)
        scope.unit.stream = Place(buffer, "int64", (2,), (1,))
        scope.unit.state.append((buffer, image))
    return scope.unit.stream


def draw(scope: Scope, node: Node) -> None:
    """Uniform and normal numbers, zeros and ones, integers."""
    (result,), given = node.outputs, node.args[1:]
    if given[-1] is not None:
        raise NotThisError("it draws from a generator of its own")
    if result.dtype != ("int64" if node.op == "random_integers" else "float32"):
        raise NotThisError("numbers of float32 are drawn, integers of int64")
    if node.op == "random_integers":
        low, high = given[0], given[1]
        if high is None or not 0 < high - low < 2**32:
            raise NotThisError("integers are drawn from fewer than 2**32")
        make, per_block, kind = _integers(low, high), 2, "i64"
    else:
        makers: dict[str, Callable[..., _Make]] = {
            "random_uniform": _uniform, "random_normal": _normal,
            "random_bernoulli": _bernoulli}
        make, per_block, kind = makers[node.op](*map(float, given[:-1])), 4, "float"
    to = scope.new(result)
    scope.unit.add(drawn_text(to.numel, kind, per_block, make, scope.unit.machine), to,
                   stream(scope))
