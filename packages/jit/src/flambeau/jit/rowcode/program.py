"""The calls of a group as one list of instructions over a row, and the memory they use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from flambeau.jit.convert import KIND_OF_DTYPE, can_convert, convert, narrow
from flambeau.jit.deferral.groups import Group, Kernel, parts_of
from flambeau.jit.deferral.loops import Loop, node_of
from flambeau.jit.deferral.pieces import Call, Piece
from flambeau.jit.deferral.rows import RowPart, model_of, row_lead, turned_part
from flambeau.jit.ir import Graph, Value
from flambeau.jit.literals import Slot
from flambeau.jit.region import Flattener
from flambeau.jit.rowcode import formulas
from flambeau.jit.rowcode.formulas import MOST_ELEMENTS, Maker
from flambeau.jit.rowcode.orders import VECTOR_BYTES

_REDUCTIONS = ("sum", "mean", "amax", "amin", "var", "std", "logsumexp")
_OF_ONE = {"sum": formulas.total, "mean": formulas.mean, "softmax": formulas.softmax,
           "log_softmax": formulas.log_softmax, "logsumexp": formulas.logsumexp,
           "amax": lambda make, x: [make.reduce("amax", x)],
           "amin": lambda make, x: [make.reduce("amin", x)]}
_OF_TWO = {"softmax_grad": formulas.softmax_grad, "log_softmax_grad": formulas.log_softmax_grad}
_COPIES = ("clone", "contiguous_copy", "cast")
_HALVES = ("bfloat16", "float16")
_FLOATS = (*_HALVES, "float32", "float64")
_DTYPES = {dtype for dtype in KIND_OF_DTYPE if dtype not in ("complex64", "complex128")}


class CannotFuseError(Exception):
    """The group has something that functions over rows do not compute."""


@dataclass(frozen=True)
class Home:
    """Where the rows of a value lie: equal for pieces that are the same memory.

    Args:
        storage: its number.
        dtype: name of the dtype.
        start: bytes before row 0.
        stride: bytes from row to row; 0 where all rows share it.
        is_row: whether it has as many elements as a row, and not one.
        turn: of an operand that is broadcast over some of the rows' dimensions: after how many rows
            the stride starts anew, and bytes from one such run to the next. Else zeros.
    """

    storage: int
    dtype: str
    start: int
    stride: int
    is_row: bool
    turn: tuple[int, int] = (0, 0)


@dataclass
class Operand:
    """Memory that is read or written.

    Args:
        home: where it lies.
        piece: the piece it was first met as.
        number: of the value that lies there.
    """

    home: Home
    piece: Piece
    number: int


@dataclass
class RowProgram:
    """A group as instructions.

    Args:
        flattener: has the instructions and the scalars.
        elements: of a row.
        inputs: what is read, in the order of the ``param`` instructions.
        outputs: what is written.
        results: the registers of what is written.
    """

    flattener: Flattener
    elements: int
    inputs: list[Operand] = field(default_factory=list)
    outputs: list[Operand] = field(default_factory=list)
    results: list[int] = field(default_factory=list)


def program_of(group: Group, needed: set[int]) -> RowProgram:
    """The instructions of a group.

    Args:
        group: loops and kernels that share rows.
        needed: the storages that are needed afterwards.

    Raises:
        CannotFuseError: something of it is not computed here.
    """
    builder = _Builder(group)
    for item in group.items:
        parts = parts_of(item, group.rows) or {}
        if isinstance(item, Loop):
            builder.loop(item, parts)
        else:
            builder.kernel(item, parts)
    return builder.program(needed)


def _kernels(group: Group) -> list[Call]:
    return [item.call for item in group.items if isinstance(item, Kernel)]


def _elements(group: Group) -> int:
    """Elements of a row that all kernels reduce."""
    if any(call.opdef.rows == "drawn" for call in _kernels(group)):
        raise CannotFuseError("random numbers")
    counts = {math.prod(model_of(call).shape) // group.rows for call in _kernels(group)
              if not call.is_by_element}
    if len(counts) != 1:
        raise CannotFuseError("rows of several lengths")
    return counts.pop()


class _Builder:
    def __init__(self, group: Group) -> None:
        self.rows = group.rows
        self.made = RowProgram(Flattener(Graph()), _elements(group))
        self.is_elsewhere = bool(group.items[0].device)
        if not self.is_elsewhere and not VECTOR_BYTES // 4 <= self.made.elements <= MOST_ELEMENTS:
            raise CannotFuseError("rows too short or too long")
        self.values: dict[Home, Value] = {}
        self.written: dict[Home, Operand] = {}

    def home(self, piece: Piece, part: RowPart | None, turn: tuple[int, int]) -> Home:
        """Where a piece's rows lie."""
        if part is None or piece.dtype not in _DTYPES:
            raise CannotFuseError("a piece in some other order")
        count, step, is_dense = 1, 1, True
        for size, stride in zip(reversed(part.shape), reversed(part.strides), strict=True):
            is_dense &= size == 1 or stride == step
            step *= size
            count *= size if stride else 1
        is_row = count == self.made.elements and is_dense
        if not is_row and any(n > 1 and stride
                              for n, stride in zip(part.shape, part.strides, strict=True)):
            raise CannotFuseError("elements of a row that do not lie side by side")
        if math.prod(part.shape) not in (1, self.made.elements):
            raise CannotFuseError("parts of a row")
        stride = part.stride if self.rows > 1 else 0
        return Home(piece.storage, piece.dtype, piece.start, stride, is_row, turn)

    def read(self, piece: Piece, part: RowPart | None, number: int,
             turn: tuple[int, int] = (0, 0)) -> Value:
        """The value of a piece."""
        home = self.home(piece, part, turn)
        if home not in self.values:
            if any(piece.overlaps(each.piece) for each in self.written.values()):
                raise CannotFuseError("memory that is read otherwise than it was written")
            value = Value((), piece.dtype)
            name = f"p{len(self.made.inputs)}"
            self.made.flattener.made[value] = self.made.flattener.load(name, piece.dtype)
            self.made.inputs.append(Operand(home, piece, number))
            self.values[home] = value
        return self.values[home]

    def write(self, piece: Piece, part: RowPart | None, number: int, value: Value) -> None:
        """A new value of a piece."""
        home = self.home(piece, part, (0, 0))
        if any(piece.overlaps(each.piece) for each in self.made.inputs):
            raise CannotFuseError("memory that is read and written")
        if any(piece.overlaps(each.piece) for other, each in self.written.items()
               if other != home):
            raise CannotFuseError("memory that is written in two ways")
        if home.stride == 0 and self.rows > 1:
            raise CannotFuseError("a result that all rows share")
        self.values[home] = value
        self.written[home] = Operand(home, piece, number)

    def operand(self, loop: Loop, piece: Piece, part: RowPart | None, number: int) -> Value:
        """The value of a piece that a loop reads."""
        turned = None if part else turned_part(piece, loop.shape, self.rows)
        return self.read(piece, *(turned[0], number, turned[1]) if turned else (part, number))

    def loop(self, loop: Loop, parts: dict[Piece, RowPart | None]) -> None:
        if loop.is_unrolled:
            raise CannotFuseError("parts of what calls compute")
        for call in loop.calls:
            values = {piece: self.operand(loop, piece, parts[piece], number)
                      for number, piece in enumerate(call.args, call.first)
                      if isinstance(piece, Piece)}
            node = node_of(call, values)
            results = self.made.flattener.node(node)
            for k, (piece, value) in enumerate(zip(call.outs, node.outputs, strict=True)):
                self.made.flattener.made[value] = results[k]
                self.write(piece, parts[piece], call.first + len(call.args) + k, value)

    def kernel(self, item: Kernel, parts: dict[Piece, RowPart | None]) -> None:
        call, out = item.call, self.made.flattener
        registers: dict[str, tuple[int, str]] = {}
        for number, (param, arg) in enumerate(
            zip(call.opdef.params, call.args, strict=True), call.first
        ):
            if isinstance(arg, Piece):
                value = self.read(arg, parts[arg], number)
                registers[param.name] = (out.made[value][0], arg.dtype)
        results = self.results(call, registers)
        first = call.first + len(call.args)
        for k, (piece, register) in enumerate(zip(call.outs, results, strict=True)):
            value = Value((), piece.dtype)
            out.made[value] = narrow(out.emit, (register,), piece.dtype)
            self.write(piece, parts[piece], first + k, value)

    def results(self, call: Call, registers: dict[str, tuple[int, str]]) -> Sequence[int]:
        """A kernel's results, in the precision it computes in."""
        target = call.outs[0].dtype
        if call.op in _COPIES:
            return [self.copied(*next(iter(registers.values())), target)]
        if call.opdef.rows == "elements":
            raise CannotFuseError(call.op)
        index = registers.pop("index", registers.pop("target", (0, "")))[0]
        if target not in _FLOATS or any(dtype not in _FLOATS for _, dtype in registers.values()):
            raise CannotFuseError(f"{call.op} of {call.reads[0].dtype}")
        if not self.reduces_all(call):
            raise CannotFuseError("a kernel that reduces parts of a row")
        kind = KIND_OF_DTYPE[target]
        taken = {name: self.converted(number, dtype, kind)
                 for name, (number, dtype) in registers.items()}
        pieces = 0 if self.is_elsewhere else self.made.elements     # an order of the CPU
        make = Maker(self.made.flattener, kind, pieces)
        if call.op in _OF_ONE:
            return _OF_ONE[call.op](make, taken["self"])
        if call.op in _OF_TWO:
            return _OF_TWO[call.op](make, taken["grad"], taken["result"])
        if call.op == "log_softmax_at":
            return formulas.log_softmax_at(make, taken["self"], index)
        if call.op == "nll_loss_grad":
            return formulas.nll_loss_grad(make, taken, index, call.argument("reduction"),
                                          call.argument("ignore_index"))
        if call.op in ("var", "std"):
            formula = formulas.variance if call.op == "var" else formulas.deviation
            return formula(make, taken["self"], self.scalar(call, "correction", 1))
        if call.op == "norm_of" and call.argument("p") in formulas.NORMS:
            return formulas.norm(make, taken["self"], call.argument("p"))
        if call.op == "native_layer_norm":
            return formulas.layer_norm(make, taken["input"], taken.get("weight"),
                                       taken.get("bias"), self.scalar(call, "eps"))
        raise CannotFuseError(call.op)

    def reduces_all(self, call: Call) -> bool:
        """Whether a kernel reduces whole rows, in the order of memory."""
        if call.opdef.rows in ("axes", "classes"):
            return True
        if call.has_one_row:
            return True
        ndim, lead = len(call.reads[0].shape), row_lead(call)
        dim = call.argument("dim")
        dims = {(d + ndim) % ndim for d in ((dim,) if isinstance(dim, int) else dim)}
        return all(d in dims or call.reads[0].shape[d] == 1 for d in range(lead, ndim))

    def converted(self, number: int, dtype: str, kind: str) -> int:
        if not can_convert(dtype, kind) or (KIND_OF_DTYPE[dtype], kind) == ("f64", "f32"):
            raise CannotFuseError(f"{dtype} in {kind}")
        return convert(self.made.flattener.emit, (number,), dtype, kind)[0]

    def copied(self, number: int, source: str, target: str) -> int:
        """A copy; between floats alone, and not to a half precision from double."""
        if source != target and (not {source, target} <= set(_FLOATS)
                                 or (source == "float64" and target in _HALVES)):
            raise CannotFuseError("a cast")
        kind = KIND_OF_DTYPE[target]
        if source == target or KIND_OF_DTYPE[source] == kind:
            return number
        return self.made.flattener.emit(kind, kind, (number,))

    def scalar(self, call: Call, name: str, default: float | None = None) -> int:
        """A number, as a double that is known when it runs."""
        position = next(k for k, p in enumerate(call.opdef.params) if p.name == name)
        arg: Any = call.args[position]
        if arg is None:
            arg = default
        else:
            arg = Slot(call.first + position, type(arg).__name__)
        return self.made.flattener.number(arg, "f64")[0]

    def program(self, needed: set[int]) -> RowProgram:
        for home, operand in self.written.items():
            if home.storage in needed:
                self.made.outputs.append(operand)
                self.made.results.append(self.made.flattener.made[self.values[home]][0])
        return self.made
