"""Typed, flat form: expressions to a list of primitive instructions in single-assignment form.

Prelude functions are inlined in the precision of their arguments, complex values have been
split into real parts (``parts``), equal instructions are shared, and literals are computed when
that gives exactly what the machine would. Literals have no type of their own: they take the
type of what they meet. Where types differ, bool is converted to integer and integer to float.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from .expr import Expr, postorder
from .folding import fold_instruction
from .functions import PRELUDE
from .literal import Literal
from .parts import split
from .primitives import CONVERSIONS, EXTERNS, PRIMITIVES, TYPE_CLASSES
from .program import Instr, Program
from .registry import FormulaError, find

COMPUTE_TYPES = {"f32": "f32", "f64": "f64", "i64": "i64", "bool": "b", "c64": "f32", "c128": "f64"}
"""Compute type of a kernel, to the type of its real parts."""

_OPERAND_TYPES = {**COMPUTE_TYPES, "i32": "i32"}

_RANK = {"b": 0, "i32": 1, "i64": 1, "f32": 2, "f64": 2}


def real_type(dtype: str) -> str:
    """Type of the real parts of a compute type or kind."""
    return _OPERAND_TYPES[dtype]


def input_type(kind: str, dtype: str) -> str:
    """The compute type an operand of this kind has in a kernel of type ``dtype``.

    Kinds are ``f``, ``i``, ``b``, ``c`` or already the name of a compute type.
    """
    single = dtype in ("f32", "c64")
    letters = {"f": "f32" if single else "f64", "c": "c64" if single else "c128"}
    return {"i": "i64", "b": "bool", **letters}.get(kind, kind)


def lower(
    exprs: Sequence[Expr],
    dtype: str,
    kinds: Mapping[str, str] | None = None,
    results: Sequence[str] | None = None,
    opaque: Collection[str] = (),
) -> Program:
    """Lower formulas for one compute type.

    Args:
        exprs: One expression per output.
        dtype: ``f32``, ``f64``, ``i64``, ``bool``, ``c64`` or ``c128``.
        kinds: Kinds of operands that are not of the compute type, by name.
        results: Compute type of each output; left out, each keeps its own.
        opaque: Prelude functions of floats that become one instruction of their own name
            instead of their definition, unless an argument is a literal.

    Returns:
        The instructions and the outputs among them.

    Raises:
        FormulaError: An operation meets a type it is not defined for.

    Example:
        >>> from flambeau.core.formula import lower, parse
        >>> [i.op for i in lower(parse("a * a", ["a"]), "f32").instrs]
        ['param', 'mul']
    """
    if dtype not in COMPUTE_TYPES:
        raise FormulaError(f"no compute type {dtype!r}; there are {', '.join(COMPUTE_TYPES)}")
    types = {name: input_type(kind, dtype) for name, kind in (kinds or {}).items()}
    builder = _Lowering(dtype, types, opaque)
    for n, expr in enumerate(exprs):
        result = input_type(results[n], dtype) if results is not None else None
        builder.output(expr, result)
    return builder.program


class _Lowering:
    def __init__(self, dtype: str, types: Mapping[str, str], opaque: Collection[str]) -> None:
        self.opaque = opaque
        self.dtype = dtype
        self.base = real_type(dtype)
        self.types = types
        self.program = Program()
        self.numbers: dict[Instr, int] = {}
        self.memos: dict[str, dict[Expr, int]] = {self.base: {}}
        self.done = self.memos[self.base]

    def output(self, expr: Expr, result: str | None) -> None:
        wants_pair = result in ("c64", "c128")
        target = None if result is None else real_type(result)
        is_complex = lambda name: self.types.get(name, self.dtype) in ("c64", "c128")  # noqa: E731
        value = split(expr, is_complex, wants_pair)
        numbers = tuple(self.convert(self.typed(self.visit(part)), target) for part in value)
        self.program.outputs.append(numbers)

    def visit(self, root: Expr) -> int:
        for node in postorder([root], self.done):
            self.done[node] = self.node(node)
        return self.done[root]

    def node(self, node: Expr) -> int:
        if node.op == "const":
            return self.emit(Instr("const", "weak", (), Literal.of(node.value)))
        if node.op in ("param", "scalar"):
            return self.leaf(node)
        args = [self.done[arg] for arg in node.args]
        if node.op in CONVERSIONS:
            return self.convert(self.typed(args[0]), "b" if node.op == "bool" else node.op)
        if node.op == "extern":
            return self.extern(node, args)
        common = self.promote(node, args)
        if node.op in PRELUDE:
            found = self.prelude(node, args, common)
            if found is not None:
                return found
        if node.op not in PRIMITIVES:
            raise FormulaError(f"{node.op}() is not defined for {common} arguments")
        return self.primitive(node, args, common)

    def leaf(self, node: Expr) -> int:
        name = str(node.value)
        kind = self.types.get(name.split(".")[0], self.dtype)
        return self.emit(Instr(node.op, real_type(kind), (), name))

    def prelude(self, node: Expr, args: list[int], common: str) -> int | None:
        definition = find(node.op, common)
        if definition is None and common in ("i32", "i64", "b") and self.base in ("f32", "f64"):
            if node.op not in PRIMITIVES:
                common = self.base
                definition = find(node.op, common)
        if definition is None:
            return None
        literal = any(map(self.is_weak, args))
        if node.op in self.opaque and common in ("f32", "f64") and not literal:
            numbers = tuple(self.convert(number, common) for number in args)
            return self.emit(Instr(node.op, common, numbers))
        inner = {}
        for expr, number in zip(node.args, args, strict=True):
            if not self.is_weak(number) and self.program.instrs[number].type != common:
                expr = Expr("bool" if common == "b" else common, (expr,))
                number = self.convert(number, common)
            inner[expr] = number
        return self.inline(definition(*inner), inner, common)

    def inline(self, body: Expr, inner: Mapping[Expr, int], common: str) -> int:
        """Lower a prelude body, in which literals that meet only literals are of its own type."""
        outer = self.base, self.done
        if common in ("f32", "f64"):
            self.base = common
            self.done = self.memos.setdefault(common, {})
        self.done.update(inner)
        number = self.visit(body)
        self.base, self.done = outer
        return number

    def primitive(self, node: Expr, args: list[int], common: str) -> int:
        primitive = PRIMITIVES[node.op]
        letter = primitive.args[-1]
        if common == "b" and "b" not in TYPE_CLASSES[letter]:
            common = "i64"
        if common not in TYPE_CLASSES[letter]:
            raise FormulaError(f"{node.op}: {primitive.meaning}: not defined for {common}, "
                               f"in {node!r}")
        numbers = tuple(
            self.convert(number, "b" if want == "b" else common)
            for number, want in zip(args, primitive.args, strict=True)
        )
        return self.emit(Instr(node.op, _result_type(primitive.result, letter, common), numbers))

    def extern(self, node: Expr, args: list[int]) -> int:
        common = self.promote(node, args)
        if common not in ("f32", "f64") or EXTERNS.get(str(node.value)) != len(args):
            raise FormulaError(f"no such extern function: {node!r} of {common}")
        numbers = tuple(self.convert(number, common) for number in args)
        return self.emit(Instr("extern", common, numbers, node.value))

    def promote(self, node: Expr, args: list[int]) -> str:
        """The common type of the arguments that share one; literals follow the others."""
        primitive = PRIMITIVES.get(node.op)
        shared = args[1:] if primitive is not None and primitive.args == "bTT" else args
        types = {self.program.instrs[a].type for a in shared if not self.is_weak(a)}
        literals = [self.literal(a) for a in shared if self.is_weak(a)]
        common = self.widest(node, types)
        if common is None or _RANK[common] < max((v.rank for v in literals), default=0):
            common = self.literal_type(literals)
        return common

    def widest(self, node: Expr, types: set[str]) -> str | None:
        if not types:
            return None
        top = max(_RANK[t] for t in types)
        names = sorted(t for t in types if _RANK[t] == top)
        if len(names) > 1:
            raise FormulaError(f"{' and '.join(names)} meet in {node!r}; convert one of them")
        return names[0]

    def literal_type(self, literals: list[Literal]) -> str:
        rank = max(v.rank for v in literals)
        if rank == 2 and self.base not in ("f32", "f64"):
            value = next(v.value for v in literals if v.rank == 2)
            raise FormulaError(f"the literal {value} needs a floating compute type")
        if rank == 2 or (rank == 1 and self.base in ("f32", "f64")):
            return self.base
        return "i64" if rank == 1 else "b"

    def is_weak(self, number: int) -> bool:
        return self.program.instrs[number].type == "weak"

    def typed(self, number: int) -> int:
        if not self.is_weak(number):
            return number
        return self.convert(number, self.literal_type([self.literal(number)]))

    def literal(self, number: int) -> Literal:
        value = self.program.instrs[number].value
        assert isinstance(value, Literal)
        return value

    def convert(self, number: int, target: str | None) -> int:
        instr = self.program.instrs[number]
        if target is None or instr.type == target:
            return number
        if instr.type == "weak":
            return self.emit(Instr("const", target, (), self.literal(number).to(target)))
        return self.emit(Instr("bool" if target == "b" else target, target, (number,)))

    def emit(self, instr: Instr) -> int:
        simpler = fold_instruction(instr, self.program.instrs)
        if isinstance(simpler, int):
            return simpler
        instr = simpler
        number = self.numbers.get(instr)
        if number is None:
            number = self.numbers[instr] = len(self.program.instrs)
            self.program.instrs.append(instr)
        return number


def _result_type(letter: str, operand: str, common: str) -> str:
    """Type of a result: fixed, that of the operands, or its integer or float counterpart."""
    if letter not in TYPE_CLASSES or letter == "b":
        return letter
    if letter in (operand, "T", "N"):
        return common
    return {"f32": "i32", "f64": "i64", "i32": "f32", "i64": "f64"}[common]
