"""Pointwise regions as one flat list of the formula language's instructions.

Each node is lowered in the compute type the core would use for it, and the pieces are joined
with the conversions the core would make between them, so that every element passes through the
same operations as it would node by node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from flambeau.core.formula import Instr, Program, lower, parse
from flambeau.core.formula.expr import Expr
from flambeau.core.formula.literal import encode
from flambeau.core.opdefs.literal import at_literal
from flambeau.core.opdefs.opdef import FORMULA_OF_KIND, OpDef
from flambeau.core.opdefs.wide import in_double
from flambeau.jit.convert import (
    KIND_OF_DTYPE,
    PARTS,
    REGISTER,
    REGISTER_OF_KIND,
    can_cast,
    can_convert,
    cast,
    convert,
    narrow,
)
from flambeau.jit.dims import Dim
from flambeau.jit.ir import Graph, Node, Value
from flambeau.jit.literals import Slot
from flambeau.jit.opset import find_opdef

Registers = tuple[int, ...]
_REAL = {"c64": "f32", "c128": "f64"}


@dataclass
class Region:
    """A flat program over loads and run-time scalars.

    Args:
        program: its ``param`` instructions are called ``p0`` (``p0.re``, ``p0.im``) for inputs,
            its ``scalar`` instructions ``s0`` likewise.
        inputs: dtypes in memory of the inputs.
        outputs: dtypes in memory of the outputs.
        scalars: what each run-time scalar is made from, and its register type.
    """

    program: Program
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    scalars: list[tuple[Slot | Dim, str]] = field(default_factory=list)


_INEXACT = ("float", "bfloat", "complex")
_INEXACT_KINDS = ("f32", "f64", "c64", "c128")


def can_lower(node: Node) -> bool:
    """Whether a node can be part of a region: pointwise, with rules here for all its dtypes."""
    opdef = find_opdef(node.op)
    if opdef is None or opdef.category != "pointwise":
        return False
    if opdef.rule not in ("promote", "float", "integer", "bool", "real"):
        return False
    kind = compute_kind(opdef, node)
    if kind is None or FORMULA_OF_KIND[kind] not in opdef.formulas:
        return False
    if kind == "c64" and in_double(opdef):
        return False
    sources = [value.dtype for value in node.inputs]
    if _is_open(opdef, node):
        return False        # which formula it is, the run decides
    if opdef.refuses_integers and not any(dtype.startswith(_INEXACT) for dtype in sources):
        return False        # eager code says why
    return all(can_convert(dtype, kind) for dtype in sources if dtype != "bool")


#: Reductions, and the operator of two elements by which they go.
FOLDS = {"sum": "add", "mean": "add", "prod": "mul", "amax": "maximum", "amin": "minimum"}
#: Kernels that give each element of their argument, in a dtype.
COPIES = ("cast", "clone", "contiguous_copy")


def can_copy(node: Node) -> bool:
    """Whether a node is a copy that can be part of a region."""
    return node.op in COPIES and can_cast(node.inputs[0].dtype, node.outputs[0].dtype)


def _is_open(opdef: OpDef, node: Node) -> bool:
    """Whether a number that may have a formula of its own is known only when the graph runs."""
    return any(param.name in opdef.literals and isinstance(arg, Slot | Dim)
               for param, arg in zip(opdef.params, node.args, strict=True))


def compute_kind(opdef: OpDef, node: Node) -> str | None:
    """The compute type of a node, from the dtypes around it; ``None`` where that is not certain."""
    writes = any(param.writes for param in opdef.params)
    if opdef.rule in ("promote", "float", "integer") and not writes:
        return KIND_OF_DTYPE.get(node.outputs[0].dtype)
    operands = _operands(opdef, node)
    dtypes = {arg.dtype for arg in operands if isinstance(arg, Value)}
    if len(dtypes) != 1:
        return None
    dtype = dtypes.pop()
    numbers = [arg for arg in operands if not isinstance(arg, Value)]
    if any(_family_of_number(arg) > _family(dtype) for arg in numbers):
        return None
    if dtype == "uint64" and numbers:       # negative ones are compared as floating ones
        return None
    return KIND_OF_DTYPE.get(dtype)


def flatten(body: Graph) -> Region:
    """Lower all nodes of a region into one program.

    Args:
        body: a graph whose nodes all pass ``can_lower``.

    Returns:
        The program and what it is called with.
    """
    return Flattener(body).region()


class Flattener:
    """Appends the programs of nodes to one.

    Args:
        body: the nodes.
    """

    def __init__(self, body: Graph) -> None:
        self.body = body
        self.out = Program()
        self.numbers: dict[Instr, int] = {}
        self.made: dict[Value, Registers] = {}
        self.scalars: dict[tuple[Slot | Dim, str], int] = {}

    def region(self) -> Region:
        for number, value in enumerate(self.body.inputs):
            self.made[value] = self.load(f"p{number}", value.dtype)
        for node in self.body.nodes:
            self.made.update(zip(node.outputs, self.node(node), strict=True))
        self.out.outputs = [self.made[value] for value in self.body.outputs]
        inputs = tuple(value.dtype for value in self.body.inputs)
        outputs = tuple(value.dtype for value in self.body.outputs)
        return Region(self.out, inputs, outputs, list(self.scalars))

    def load(self, name: str, dtype: str) -> Registers:
        register = REGISTER[dtype]
        return tuple(self.emit("param", register, (), name + part) for part in PARTS[dtype])

    def node(self, node: Node) -> list[Registers]:
        if node.op in FOLDS:
            return [(self.fold(node),)]
        if node.op in COPIES:
            source, result = node.inputs[0], node.outputs[0]
            return [cast(self.emit, self.made[source], source.dtype, result.dtype)]
        opdef = find_opdef(node.op)
        assert opdef is not None
        kind = compute_kind(opdef, node)
        assert kind is not None
        args: Sequence[Any] = node.args
        if kind in _INEXACT_KINDS:
            opdef, args = at_literal(opdef, args)
        is_unsigned = any(value.dtype == "uint64" for value in (*node.inputs, *node.outputs))
        program = lower_opdef(opdef, kind, is_unsigned)
        results = self.splice(program, self.leaves(opdef, args, kind))
        return [
            narrow(self.emit, registers, value.dtype)
            for registers, value in zip(results, node.outputs, strict=True)
        ]

    def fold(self, node: Node) -> int:
        """A reduction of a few values in the order of the core's kernels."""
        (values,) = node.args
        assert isinstance(values, tuple)
        kind = KIND_OF_DTYPE[node.outputs[0].dtype]
        parts = [self.made[value][0] for value in values]
        if FOLDS[node.op] == "add":             # from 0 on, which counts where all are -0
            parts.insert(0, self.constant(0.0, kind))
        opdef = find_opdef(FOLDS[node.op])
        assert opdef is not None
        total = parts[0]
        for part in parts[1:]:
            if opdef.name in ("add", "mul"):
                total = self.emit(opdef.name, kind, (total, part))
            else:
                leaves = {"self": part, "other": total}
                total = self.splice(lower_opdef(opdef, kind), leaves)[0][0]
        if node.op == "mean":
            total = self.emit("div", kind, (total, self.constant(float(len(values)), kind)))
        return total

    def leaves(self, opdef: OpDef, args: Sequence[Any], kind: str) -> dict[str, int]:
        """The register of every operand and scalar, by the name the formula calls it."""
        found: dict[str, int] = {}
        for param, arg in zip(opdef.params, args, strict=True):
            wanted = "bool" if param.role == "Mask" else kind
            if isinstance(arg, Value):
                registers = convert(self.emit, self.made[arg], arg.dtype, wanted)
            else:
                registers = self.number(arg, wanted)
            names = PARTS["complex64"] if len(registers) == 2 else ("",)
            found |= {param.name + part: r for part, r in zip(names, registers, strict=True)}
        return found

    def number(self, arg: Any, kind: str) -> Registers:
        register = REGISTER_OF_KIND[kind]
        if isinstance(arg, Slot | Dim):
            index = self.scalars.setdefault((arg, kind), len(self.scalars))
            parts = PARTS["complex64"] if kind in ("c64", "c128") else ("",)
            return tuple(self.emit("scalar", register, (), f"s{index}{p}") for p in parts)
        if kind in ("c64", "c128"):
            value = complex(arg)
            return (self.constant(value.real, register), self.constant(value.imag, register))
        return (self.constant(arg, register),)

    def constant(self, value: Any, register: str) -> int:
        if register in ("i64", "b") and isinstance(value, float):
            value = int(value)
        return self.emit("const", register, (), encode(value, register))

    def splice(self, program: Program, leaves: Mapping[str, int]) -> list[Registers]:
        """Append an operator's program, its leaves replaced by registers; returns its registers."""
        at: dict[int, int] = {}
        for number, instr in enumerate(program.instrs):
            if instr.op in ("param", "scalar"):
                at[number] = leaves[str(instr.value)]
            else:
                args = tuple(at[arg] for arg in instr.args)
                at[number] = self.emit(instr.op, instr.type, args, instr.value)
        return [tuple(at[number] for number in output) for output in program.outputs]

    def emit(self, op: str, kind: str, args: Registers = (), value: object = None) -> int:
        instr = Instr(op, kind, args, value)
        number = self.numbers.get(instr)
        if number is None:
            number = self.numbers[instr] = len(self.out.instrs)
            self.out.instrs.append(instr)
        return number


def lower_opdef(opdef: OpDef, kind: str, is_unsigned: bool = False) -> Program:
    """A definition's formula in one compute type, as the core's kernels have it.

    Args:
        opdef: the definition.
        kind: the compute type.
        is_unsigned: whether integers are those of uint64.
    """
    result = {"bool": "bool", "real": _REAL.get(kind, kind)}.get(opdef.rule, kind)
    formula = opdef.formulas[FORMULA_OF_KIND[kind]]
    if is_unsigned:
        formula = opdef.formulas.get("unsigned", formula)
    return _lower(formula, _operand_kinds(opdef), _scalar_names(opdef), kind, result)


@cache
def _lower(
    text: str, operands: tuple[tuple[str, str], ...], scalars: tuple[str, ...], kind: str,
    result: str,
) -> Program:
    kinds = {name: own or kind for name, own in operands} | dict.fromkeys(scalars, kind)
    exprs: tuple[Expr, ...] = parse(text, [name for name, _ in operands], scalars)
    return lower(exprs, kind, kinds, [result] * len(exprs))


def _operand_kinds(opdef: OpDef) -> tuple[tuple[str, str], ...]:
    return tuple((p.name, "b" if p.role == "Mask" else "") for p in opdef.operands)


def _scalar_names(opdef: OpDef) -> tuple[str, ...]:
    return tuple(p.name for p in opdef.scalars)


def _operands(opdef: OpDef, node: Node) -> list[object]:
    """The arguments that decide the compute type."""
    roles = ("Tensor", "Operand")
    pairs = zip(opdef.params, node.args, strict=True)
    return [arg for param, arg in pairs if param.role in roles]


def _family(dtype: str) -> int:
    kind = KIND_OF_DTYPE.get(dtype, "")
    return {"bool": 0, "i64": 1, "f32": 2, "f64": 2}.get(kind, 3)


def _family_of_number(arg: object) -> int:
    kind = arg.kind if isinstance(arg, Slot) else type(arg).__name__
    if isinstance(arg, Dim):
        kind = "int" if arg.form == "int" else "float"
    return {"bool": 0, "int": 1, "float": 2}.get(kind, 3)
