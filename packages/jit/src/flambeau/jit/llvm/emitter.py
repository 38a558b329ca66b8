"""Writes LLVM instructions: one method per primitive of the formula language.

The meanings are those of ``flambeau.core.formula.primitives``, bit for bit: no fast-math flags, no
contraction, and no instruction whose result LLVM leaves undefined reaches a value.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from flambeau.core.formula.literal import decode
from flambeau.core.formula.program import Instr
from flambeau.jit.llvm import half

TYPES = {"f32": "float", "f64": "double", "i32": "i32", "i64": "i64", "b": "i1"}
WIDTHS = {"i32": 32, "i64": 64, "f32": 32, "f64": 64}
_INTEGER_TWIN = {"f32": "i32", "f64": "i64"}
_FLOAT_TWIN = {"i32": "f32", "i64": "f64"}
_LIMIT = {  # the float range whose integer part fits: lower test, lower end, upper end
    ("f32", "i32"): ("oge", -(2.0**31), 2.0**31),
    ("f32", "i64"): ("oge", -(2.0**63), 2.0**63),
    ("f64", "i64"): ("oge", -(2.0**63), 2.0**63),
    ("f64", "i32"): ("ogt", -(2.0**31) - 1.0, 2.0**31),
}
_INTRINSICS = {"abs": "fabs", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
               "rint": "rint", "copysign": "copysign"}
_PLAIN = {"add": ("fadd", "add"), "sub": ("fsub", "sub"), "mul": ("fmul", "mul"),
          "div": ("fdiv", ""), "and": ("", "and"), "or": ("", "or"), "xor": ("", "xor")}
_COMPARE = {"lt": ("olt", "slt"), "le": ("ole", "sle"), "gt": ("ogt", "sgt"),
            "ge": ("oge", "sge"), "eq": ("oeq", "eq"), "ne": ("une", "ne")}

#: Powers by squaring; a negative exponent gives 0, or 1 and -1 to that power.
IPOW = """define internal WIDE @ipow.WIDE(WIDE %a, WIDE %b) {
entry:
  %negative = icmp slt WIDE %b, 0
  br i1 %negative, label %inverse, label %loop
inverse:
  %odd = trunc WIDE %b to i1
  %sign = select i1 %odd, WIDE -1, WIDE 1
  %is1 = icmp eq WIDE %a, 1
  %ism = icmp eq WIDE %a, -1
  %rest = select i1 %ism, WIDE %sign, WIDE 0
  %unit = select i1 %is1, WIDE 1, WIDE %rest
  ret WIDE %unit
loop:
  %n = phi WIDE [%b, %entry], [%n.next, %step]
  %square = phi WIDE [%a, %entry], [%square.next, %step]
  %result = phi WIDE [1, %entry], [%result.next, %step]
  %more = icmp sgt WIDE %n, 0
  br i1 %more, label %step, label %done
step:
  %bit = trunc WIDE %n to i1
  %product = mul WIDE %result, %square
  %result.next = select i1 %bit, WIDE %product, WIDE %result
  %square.next = mul WIDE %square, %square
  %n.next = ashr WIDE %n, 1
  br label %loop
done:
  ret WIDE %result
}"""


class Emitter:
    """Collects the lines of one function, and what it calls; names are numbered.

    While ``width`` is not 0, instructions are those of vectors of so many elements.

    Args:
        has_fma: whether the machine multiplies and adds in one rounding; without it ``fma``
            rounds twice, as the core's kernels for such machines do.
    """

    def __init__(self, has_fma: bool = True) -> None:
        self.lines: list[str] = []
        self.declared: set[str] = set()
        self.has_fma = has_fma
        self.count = 0
        self.width = 0

    def type(self, kind: str) -> str:
        """LLVM's type of a value of a type of the language."""
        return f"<{self.width} x {TYPES[kind]}>" if self.width else TYPES[kind]

    def number(self, kind: str, text: str) -> str:
        """A constant, in all elements."""
        return splat(TYPES[kind], text, self.width) if self.width else text

    def add(self, text: str) -> str:
        """Append an instruction that gives a value; its name."""
        self.count += 1
        name = f"%t{self.count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def line(self, text: str) -> None:
        """Append an instruction or label that gives none."""
        self.lines.append(text if text.endswith(":") else f"  {text}")

    def call(self, function: str, result: str, types: Sequence[str], args: Sequence[str]) -> str:
        """Call a function, declaring it."""
        self.declared.add(f"declare {result} @{function}({', '.join(types)})")
        texts = [f"{t} {a}" for t, a in zip(types, args, strict=True)]
        return self.add(f"call {result} @{function}({', '.join(texts)})")

    def instruction(self, instr: Instr, kinds: Sequence[str], args: Sequence[str]) -> str:
        """One instruction of the language.

        Args:
            instr: the instruction; not a ``param`` or ``scalar``.
            kinds: the types of its arguments.
            args: their names or constants.

        Returns:
            The name or constant of its value.
        """
        if instr.op == "const":
            return self.number(instr.type, constant(int(str(instr.value)), instr.type))
        kind = kinds[-1]
        if instr.op == "extern":
            return self.extern(str(instr.value), kind, args)
        if instr.op in _COMPARE:
            return self.compare(instr.op, kind, args)
        if instr.op in _PLAIN:
            name = _PLAIN[instr.op][kind in ("i32", "i64", "b")]
            return self.add(f"{name} {self.type(kind)} {args[0]}, {args[1]}")
        if instr.op in _INTRINSICS and kind in ("f32", "f64"):
            return self.intrinsic(_INTRINSICS[instr.op], kind, args)
        if instr.op in ("i32", "i64", "f32", "f64", "bool"):
            return self.convert(kind, instr.type, args[0])
        result: str = getattr(self, f"op_{instr.op}")(kind, *args)
        return result

    def compare(self, op: str, kind: str, args: Sequence[str]) -> str:
        on_floats, on_integers = _COMPARE[op]
        test = f"fcmp {on_floats}" if kind in ("f32", "f64") else f"icmp {on_integers}"
        return self.add(f"{test} {self.type(kind)} {args[0]}, {args[1]}")

    def intrinsic(self, name: str, kind: str, args: Sequence[str]) -> str:
        types = [self.type(kind)] * len(args)
        suffix = f"v{self.width}{kind}" if self.width else kind
        return self.call(f"llvm.{name}.{suffix}", self.type(kind), types, args)

    def extern(self, name: str, kind: str, args: Sequence[str]) -> str:
        function = name + ("f" if kind == "f32" else "")
        return self.call(function, self.type(kind), [self.type(kind)] * len(args), args)

    def op_neg(self, kind: str, a: str) -> str:
        if kind in ("f32", "f64"):
            return self.add(f"fneg {self.type(kind)} {a}")
        return self.add(f"sub {self.type(kind)} {self.number(kind, '0')}, {a}")

    def op_abs(self, kind: str, a: str) -> str:
        negative = self.add(f"icmp slt {self.type(kind)} {a}, {self.number(kind, '0')}")
        return self.op_select(kind, negative, self.op_neg(kind, a), a)

    def op_not(self, kind: str, a: str) -> str:
        ones = self.number(kind, "true" if kind == "b" else "-1")
        return self.add(f"xor {self.type(kind)} {a}, {ones}")

    def op_select(self, kind: str, condition: str, a: str, b: str) -> str:
        t = self.type(kind)
        return self.add(f"select {self.type('b')} {condition}, {t} {a}, {t} {b}")

    op_rare = op_select

    def op_minimum(self, kind: str, a: str, b: str) -> str:
        return self._extremum("lt", kind, a, b)

    def op_maximum(self, kind: str, a: str, b: str) -> str:
        return self._extremum("gt", kind, a, b)

    def _extremum(self, order: str, kind: str, a: str, b: str) -> str:
        """The second where it is beyond the first or NaN; the first of two that are equal."""
        second = self.compare(order, kind, (b, a))
        if kind in ("f32", "f64"):
            nan = self.add(f"fcmp uno {self.type(kind)} {b}, {b}")
            second = self.add(f"or {self.type('b')} {second}, {nan}")
        return self.op_select(kind, second, b, a)

    def op_fma(self, kind: str, a: str, b: str, c: str) -> str:
        if self.has_fma:
            return self.intrinsic("fma", kind, (a, b, c))
        product = self.add(f"fmul {self.type(kind)} {a}, {b}")
        return self.add(f"fadd {self.type(kind)} {product}, {c}")

    def op_mul_err(self, kind: str, a: str, b: str) -> str:
        product = self.add(f"fmul {self.type(kind)} {a}, {b}")
        if self.has_fma:
            return self.intrinsic("fma", kind, (a, b, self.op_neg(kind, product)))
        if kind == "f32":
            return self._mul_err_f32(a, b, product)
        return self._mul_err_f64(a, b, product)

    def _mul_err_f32(self, a: str, b: str, product: str) -> str:
        wide = [self.convert("f32", "f64", value) for value in (a, b, product)]
        exact = self.add(f"fmul double {wide[0]}, {wide[1]}")
        return self.convert("f64", "f32", self.add(f"fsub double {exact}, {wide[2]}"))

    def _mul_err_f64(self, a: str, b: str, product: str) -> str:
        """Dekker's product: halves of 26 bits multiply exactly."""
        ah, al = self._halves(a)
        bh, bl = self._halves(b)
        rest = product
        for x, y in ((ah, bh), (al, bh), (ah, bl)):
            part = self.add(f"fmul double {x}, {y}")
            rest = self.add(f"fsub double {rest}, {part}")
        return self.add(f"fsub double {self.add(f'fmul double {al}, {bl}')}, {rest}")

    def _halves(self, a: str) -> tuple[str, str]:
        big = self.add(f"fmul double {constant_float(134217729.0)}, {a}")
        high = self.add(f"fsub double {big}, {self.add(f'fsub double {big}, {a}')}")
        return high, self.add(f"fsub double {a}, {high}")

    def op_truncdiv(self, kind: str, a: str, b: str) -> str:
        t = self.type(kind)
        safe, zero, minus = self._safe_divisor(kind, b)
        quotient = self.add(f"sdiv {t} {a}, {safe}")
        quotient = self.op_select(kind, minus, self.op_neg(kind, a), quotient)
        return self.op_select(kind, zero, self.number(kind, "0"), quotient)

    def op_rem(self, kind: str, a: str, b: str) -> str:
        return self.add(f"srem {self.type(kind)} {a}, {self._safe_divisor(kind, b)[0]}")

    def _safe_divisor(self, kind: str, b: str) -> tuple[str, str, str]:
        t = self.type(kind)
        zero = self.add(f"icmp eq {t} {b}, {self.number(kind, '0')}")
        minus = self.add(f"icmp eq {t} {b}, {self.number(kind, '-1')}")
        either = self.add(f"or {self.type('b')} {zero}, {minus}")
        return self.op_select(kind, either, self.number(kind, "1"), b), zero, minus

    def op_floordiv(self, kind: str, a: str, b: str) -> str:
        remainder = self.op_rem(kind, a, b)
        quotient = self.op_truncdiv(kind, a, b)
        less = self.add(f"sub {self.type(kind)} {quotient}, {self.number(kind, '1')}")
        return self.op_select(kind, self._crosses(kind, remainder, b), less, quotient)

    def op_mod(self, kind: str, a: str, b: str) -> str:
        remainder = self.op_rem(kind, a, b)
        moved = self.add(f"add {self.type(kind)} {remainder}, {b}")
        return self.op_select(kind, self._crosses(kind, remainder, b), moved, remainder)

    def _crosses(self, kind: str, remainder: str, b: str) -> str:
        """Whether rounding down differs from rounding towards zero."""
        t = self.type(kind)
        zero = self.number(kind, "0")
        some = self.add(f"icmp ne {t} {remainder}, {zero}")
        mixed = self.add(f"xor {t} {remainder}, {b}")
        negative = self.add(f"icmp slt {t} {mixed}, {zero}")
        return self.add(f"and {self.type('b')} {some}, {negative}")

    def op_ipow(self, kind: str, a: str, b: str) -> str:
        t = self.type(kind)
        self.declared.add(IPOW.replace("WIDE", t))
        return self.add(f"call {t} @ipow.{t}({t} {a}, {t} {b})")

    def op_shl(self, kind: str, a: str, b: str) -> str:
        return self._logical_shift("shl", kind, a, b)

    def op_shru(self, kind: str, a: str, b: str) -> str:
        return self._logical_shift("lshr", kind, a, b)

    def _logical_shift(self, name: str, kind: str, a: str, b: str) -> str:
        t, top = self.type(kind), self.number(kind, str(WIDTHS[kind] - 1))
        near = self.add(f"{name} {t} {a}, {self.add(f'and {t} {b}, {top}')}")
        far = self.add(f"icmp ugt {t} {b}, {top}")
        return self.op_select(kind, far, self.number(kind, "0"), near)

    def op_shr(self, kind: str, a: str, b: str) -> str:
        t, top = self.type(kind), self.number(kind, str(WIDTHS[kind] - 1))
        far = self.add(f"icmp ugt {t} {b}, {top}")
        return self.add(f"ashr {t} {a}, {self.op_select(kind, far, top, b)}")

    def op_half(self, kind: str, a: str) -> str:
        """Rounded to half precision."""
        return half.widen(self, half.narrow(self, a))

    def op_bits(self, kind: str, a: str) -> str:
        return self.add(f"bitcast {self.type(kind)} {a} to {self.type(_INTEGER_TWIN[kind])}")

    def op_frombits(self, kind: str, a: str) -> str:
        return self.add(f"bitcast {self.type(kind)} {a} to {self.type(_FLOAT_TWIN[kind])}")

    def convert(self, source: str, target: str, a: str) -> str:
        """Between any two types."""
        if source == target:
            return a
        s, t = self.type(source), self.type(target)
        if target == "b":
            return self.compare("ne", source, (a, self.number(source, constant(0, source))))
        if source == "b":
            name = "uitofp" if target[0] == "f" else "zext"
            return self.add(f"{name} {s} {a} to {t}")
        if source[0] == "f" and target[0] == "i":
            return self._to_integer(source, target, a)
        if source[0] == "i":
            name = "sitofp" if target[0] == "f" else "trunc" if target == "i32" else "sext"
        else:
            name = "fptrunc" if target == "f32" else "fpext"
        return self.add(f"{name} {s} {a} to {t}")

    def _to_integer(self, source: str, target: str, a: str) -> str:
        """Out of range and NaN give the least integer; what LLVM leaves open is not chosen."""
        s, t = self.type(source), self.type(target)
        order, low, high = _LIMIT[source, target]
        above = self.add(f"fcmp {order} {s} {a}, {self.number(source, constant_float(low))}")
        below = self.add(f"fcmp olt {s} {a}, {self.number(source, constant_float(high))}")
        fits = self.add(f"and {self.type('b')} {above}, {below}")
        value = self.add(f"fptosi {s} {a} to {t}")
        least = self.number(target, str(-(1 << (WIDTHS[target] - 1))))
        return self.op_select(target, fits, value, least)


def splat(kind: str, text: str, width: int) -> str:
    """A vector whose elements are all the same constant of an LLVM type."""
    return f"<{', '.join([f'{kind} {text}'] * width)}>"


def constant(code: int, kind: str) -> str:
    """A constant as LLVM text, exact bit for bit; ``code`` as formula constants hold it."""
    if kind == "b":
        return "true" if code else "false"
    if kind in ("i32", "i64"):
        return str(code)
    return constant_float(float(decode(code, kind)), code, kind)


def constant_float(value: float, code: int | None = None, kind: str = "f64") -> str:
    """A float as the bits of a double, which is how LLVM writes both precisions."""
    if code is not None and kind == "f32" and value != value:
        code &= 0xFFFFFFFF
        sign, payload = code >> 31, code & 0x7FFFFF
        return f"0x{sign << 63 | 0x7FF << 52 | payload << 29:016X}"
    if code is not None and kind == "f64":
        return f"0x{code & 0xFFFFFFFFFFFFFFFF:016X}"
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
