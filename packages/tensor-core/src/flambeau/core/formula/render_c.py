"""Formulas as C++ or CUDA scalar functions: straight-line code that compilers vectorize.

Every formula becomes three inline functions with the same arguments:

``NAME``        the value; where a formula has a rare case, wrong there and nowhere else
``NAME_rare``   non-zero where the value of ``NAME`` must not be used
``NAME_slow``   the right value everywhere

and a constant ``NAME_has_rare``. A loop computes ``NAME`` for a tile of elements while it
or-reduces ``NAME_rare``; if that is not zero it goes over the tile again with ``NAME_slow``.
The text uses the helpers that ``helpers`` gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources

from .expr import Expr
from .literal import decode
from .lower import input_type, lower, real_type
from .program import Instr, Program

C_TYPES = {
    "f32": "float",
    "f64": "double",
    "i32": "int32_t",
    "i64": "int64_t",
    "b": "bool",
    "bool": "bool",
    "c64": "fl_c64",
    "c128": "fl_c128",
}

_INFIX = {
    "div": "/",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
    "and": "&",
    "or": "|",
    "xor": "^",
}
_FLOAT_INFIX = {"add": "+", "sub": "-", "mul": "*"}


def helpers(dialect: str = "c++") -> str:
    """Text of the helper functions, for ``c++`` or ``cuda``."""
    if dialect not in ("c++", "cuda"):
        raise ValueError(f"no dialect {dialect!r}; there are 'c++' and 'cuda'")
    folder = resources.files(__package__).joinpath("include")
    head = folder.joinpath("platform_cuda.h" if dialect == "cuda" else "platform_cpp.h")
    return head.read_text() + folder.joinpath("helpers.h").read_text()


def render_function(
    name: str,
    exprs: Sequence[Expr],
    params: Sequence[str] | Mapping[str, str],
    scalars: Sequence[str] | Mapping[str, str] = (),
    compute: str = "f32",
    result: str | Sequence[str] | None = None,
) -> str:
    """Write a formula as C++.

    Args:
        name: Name of the function.
        exprs: One expression per output. A single one is returned, several are written
            through pointers, which come last.
        params: Tensor operands in order; a mapping gives the kind of each (``f``, ``i``, ``b``,
            ``c`` or a compute type), otherwise they are of the compute type.
        scalars: Run-time scalars, which follow the operands; likewise.
        compute: ``f32``, ``f64``, ``i64``, ``bool``, ``c64`` or ``c128``.
        result: Compute type of the output, or of each; by default what the formula gives.

    Returns:
        The text of the functions described above.

    Raises:
        FormulaError: The formula is not defined for these types.
    """
    kinds = _kinds(params, compute) | _kinds(scalars, compute)
    results = [result] * len(exprs) if isinstance(result, str) else result
    program = lower(exprs, compute, kinds, results)
    return _Function(name, program, kinds, real_type(compute)).text()


def render_program(name: str, program: Program, kinds: Mapping[str, str], base: str) -> str:
    """Write a program as C++.

    Args:
        name: Name of the function.
        program: Its leaves are called as the arguments are, or the parts of these (``p0.re``).
        kinds: Compute types of the arguments, in order.
        base: The compute type of what is returned by ``NAME_rare``: ``f64`` suits all.

    Returns:
        The text of the functions described above.
    """
    return _Function(name, program, kinds, base).text()


def _kinds(names: Sequence[str] | Mapping[str, str], compute: str) -> dict[str, str]:
    kinds = names if isinstance(names, Mapping) else dict.fromkeys(names, compute)
    return {name: input_type(kind, compute) for name, kind in kinds.items()}


class _Function:
    def __init__(self, name: str, program: Program, kinds: Mapping[str, str], base: str) -> None:
        self.name = name
        self.program = program
        self.kinds = kinds
        self.flag = "int32_t" if base in ("f32", "b") else "int64_t"

    def text(self) -> str:
        flags = [self.program.instrs[i].args[0] for i in self.fast_instrs() if self.is_rare(i)]
        parts = [
            f"[[maybe_unused]] static constexpr bool {self.name}_has_rare = "
            f"{'true' if flags else 'false'};",
            self.value_function(self.name, self.fast_instrs(), "FL_INLINE"),
            self.rare_function(flags),
            self.slow_function() if flags else self.same_function(),
        ]
        return "\n".join(parts) + "\n"

    def slow_function(self) -> str:
        numbers = self.program.used(self.program.roots())
        return self.value_function(f"{self.name}_slow", numbers, "FL_SLOW", slow=True)

    def same_function(self) -> str:
        """Without rare cases the slow function is the fast one."""
        arguments = [*self.arguments(), *self.pointers()]
        names = ", ".join(argument.split()[-1].lstrip("*") for argument in arguments)
        head = f"FL_SLOW {self.result()} {self.name}_slow({', '.join(arguments)})"
        return _function(head, [f"return {self.name}({names});"])

    def is_rare(self, number: int) -> bool:
        return self.program.instrs[number].op == "rare"

    def fast_instrs(self, roots: Sequence[int] | None = None) -> list[int]:
        """What the fast function needs: of a rare case only the usual value."""
        instrs = self.program.instrs
        stack = list(self.program.roots() if roots is None else roots)
        needed: set[int] = set()
        while stack:
            number = stack.pop()
            if number not in needed:
                needed.add(number)
                args = instrs[number].args
                stack.extend(args[2:] if instrs[number].op == "rare" else args)
        return sorted(needed)

    def value_function(
        self, name: str, numbers: Sequence[int], qualifier: str, slow: bool = False
    ) -> str:
        lines = [self.line(number, slow) for number in numbers if not self.is_leaf(number)]
        values = [self.output(numbers)[1] for numbers in self.program.outputs]
        if len(values) == 1:
            lines.append(f"return {values[0]};")
        else:
            lines += [f"*out{i} = {value};" for i, value in enumerate(values)]
        arguments = ", ".join([*self.arguments(), *self.pointers()])
        return _function(f"{qualifier} {self.result()} {name}({arguments})", lines)

    def result(self) -> str:
        outputs = self.program.outputs
        return self.output(outputs[0])[0] if len(outputs) == 1 else "void"

    def pointers(self) -> list[str]:
        types = [self.output(numbers)[0] for numbers in self.program.outputs]
        return [f"{t} *out{i}" for i, t in enumerate(types)] if len(types) > 1 else []

    def rare_function(self, flags: Sequence[int]) -> str:
        numbers = self.fast_instrs(flags)
        lines = [self.line(number, False) for number in numbers if not self.is_leaf(number)]
        total = " | ".join(map(self.name_of, flags))
        # Three, since with one GCC would reduce bools, which it cannot vectorize.
        lines.append(f"return ({total}) ? 3 : 0;" if flags else "return 0;")
        head = f"FL_INLINE {self.flag} {self.name}_rare({', '.join(self.arguments())})"
        return _function(head, lines)

    def arguments(self) -> list[str]:
        return [f"[[maybe_unused]] {C_TYPES[kind]} {name}" for name, kind in self.kinds.items()]

    def output(self, numbers: tuple[int, ...]) -> tuple[str, str]:
        kind = self.program.instrs[numbers[0]].type
        values = list(map(self.name_of, numbers))
        if len(numbers) == 1:
            return C_TYPES[kind], values[0]
        pair = "fl_c64" if kind == "f32" else "fl_c128"
        return pair, f"{pair}{{{values[0]}, {values[1]}}}"

    def is_leaf(self, number: int) -> bool:
        return not self.program.instrs[number].args

    def name_of(self, number: int) -> str:
        """A variable, an operand's name or a literal."""
        instr = self.program.instrs[number]
        if instr.op == "const":
            return c_literal(int(str(instr.value)), instr.type)
        return str(instr.value) if self.is_leaf(number) else f"v{number}_"

    def line(self, number: int, slow: bool) -> str:
        instr = self.program.instrs[number]
        return f"const {C_TYPES[instr.type]} v{number}_ = {self.expression(instr, slow)};"

    def expression(self, instr: Instr, slow: bool) -> str:
        args = list(map(self.name_of, instr.args))
        kind = self.program.instrs[instr.args[-1]].type
        op = instr.op
        if op == "extern":
            return f"fl_{instr.value}_{instr.type}({', '.join(args)})"
        if op == "rare" and not slow:
            return args[2]
        if op in ("select", "rare") and kind == "b":
            return f"({args[0]} & {args[1]}) | (!{args[0]} & {args[2]})"
        if op in ("select", "rare"):
            return f"{args[0]} ? {args[1]} : {args[2]}"
        if op in ("shl", "shr", "shru") and self.constant_shift(instr):
            return f"fl_{op}_near_{kind}({', '.join(args)})"
        if op in _INFIX:
            return f"{args[0]} {_INFIX[op]} {args[1]}"
        if op in _FLOAT_INFIX and kind in ("f32", "f64"):
            return f"{args[0]} {_FLOAT_INFIX[op]} {args[1]}"
        if op in ("neg", "not") and kind != "b" and (op == "not" or kind in ("f32", "f64")):
            return f"{'-' if op == 'neg' else '~'}{args[0]}"
        return f"fl_{op}_{kind}({', '.join(args)})"

    def constant_shift(self, instr: Instr) -> bool:
        count = self.program.instrs[instr.args[1]]
        width = 32 if count.type == "i32" else 64
        return count.op == "const" and 0 <= int(str(count.value)) < width


def c_literal(code: int, kind: str) -> str:
    """A constant as C++ source, exact bit for bit."""
    if kind == "b":
        return "true" if code else "false"
    if kind in ("i32", "i64"):
        width = 32 if kind == "i32" else 64
        suffix = "" if kind == "i32" else "LL"
        if code == -(1 << (width - 1)):
            return f"(-{(1 << (width - 1)) - 1}{suffix} - 1)"
        return f"{code}{suffix}" if code >= 0 else f"({code}{suffix})"
    value = float(decode(code, kind))
    if value != value:
        integer = "i32" if kind == "f32" else "i64"
        return f"fl_frombits_{integer}({c_literal(code, integer)})"
    if value in (float("inf"), float("-inf")):
        return f"{'-' if value < 0 else '+'}FL_INF_{kind.upper()}"
    mantissa, exponent = value.hex().split("p")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    number = f"{mantissa}p{exponent}{'f' if kind == 'f32' else ''}"
    return f"({number})" if number.startswith("-") else number


def _function(head: str, lines: Sequence[str]) -> str:
    body = "\n".join(f"    {line}" for line in lines)
    return f"{head} {{\n{body}\n}}"
