"""Pointwise calls that run as one loop."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flambeau.jit.cache.kernels import Kernel
from flambeau.jit.deferral.pieces import Call, Piece
from flambeau.jit.ir import Graph, Node, Value
from flambeau.jit.literals import Slot
from flambeau.jit.llvm.flat import side_by_side
from flambeau.jit.llvm.fused import region_key
from flambeau.jit.llvm.grid import broadcast_strides, make_grid
from flambeau.jit.llvm.launch import RegionCode, grid_words
from flambeau.jit.region import COPIES, can_copy, can_lower, flatten

#: Formulas and operands of one loop; addresses of more would not fit a processor's registers. What
#: nobody holds has no address, unless it is read elsewhere.
MAX_CALLS = 128
MAX_OPERANDS = 24


@dataclass(eq=False)
class Loop:
    """Calls that run as one loop over a shape.

    Args:
        shape: what is looped over.
        held: the storages that somebody holds.
        calls: the calls, in order.
        loads: pieces that are read from memory, and the number of a value that lies there.
        made: pieces that hold results, and the number of a value that lies there.
        offsets: of these pieces, bytes from the value's first element where that is another one.
    """

    shape: tuple[int, ...]
    held: Collection[int] = ()
    calls: list[Call] = field(default_factory=list)
    loads: dict[Piece, int] = field(default_factory=dict)
    made: dict[Piece, int] = field(default_factory=dict)
    offsets: dict[Piece, int] = field(default_factory=dict)

    @property
    def is_unrolled(self) -> bool:
        """Whether it computes parts of what calls compute."""
        return any(call.sources for call in self.calls)

    @property
    def device(self) -> int:
        """Where it runs."""
        return self.calls[0].device

    @property
    def is_copy(self) -> bool:
        """Whether it is no more than copies, for which the core's kernel is made.

        Those that fill gaps between each other are better off together.
        """
        return (all(call.op in COPIES and call.args[0] in self.loads for call in self.calls)
                and not self.is_unrolled and (len(self.calls) == 1 or self._is_dense))

    @property
    def reads(self) -> Sequence[Piece]:
        """What it reads that it did not compute."""
        return list(self.loads)

    @property
    def writes(self) -> Sequence[Piece]:
        """What holds results."""
        return list(self.made)

    @property
    def name(self) -> str:
        """For people."""
        return f"{list(self.shape)}: {' '.join(call.op for call in self.calls)}"

    def takes(self, call: Call) -> bool:
        """Whether a call may join: it meets memory of this loop only element by element."""
        if call.outs[0].shape != self.shape or len(self.calls) >= MAX_CALLS:
            return False
        if call.device != self.device:
            return False
        if not self.device and self._operands(call) > MAX_OPERANDS:
            return False
        for piece in call.reads:
            if piece not in self.made and any(piece.overlaps(made) for made in self.made):
                return False
        used = [*self.loads, *self.made, *(p for p in call.reads if p not in self.made)]
        return not any(out.overlaps(piece) and not _same_elements(out, piece, self.shape)
                       for out in call.outs for piece in used)

    def _operands(self, call: Call) -> int:
        """How many pieces in memory there are, if a call joins."""
        read = {piece for piece in call.reads if piece not in self.made} | self.loads.keys()
        written = [piece for piece in (*self.made, *call.outs) if piece.storage in self.held]
        return len(read) + len(written)

    @property
    def _is_dense(self) -> bool:
        return all(map(_is_dense, (*self.loads, *self.made)))

    def add(self, call: Call) -> None:
        """Join a call."""
        self.calls.append(call)
        reads, made = call.addresses()
        for piece, number, offset in reads:
            if piece not in self.made and piece not in self.loads:
                self._note(self.loads, piece, number, offset)
        for piece, number, offset in made:
            self._note(self.made, piece, number, offset)

    def _note(self, where: dict[Piece, int], piece: Piece, number: int, offset: int) -> None:
        where[piece] = number
        if offset:
            self.offsets[piece] = offset
        else:
            self.offsets.pop(piece, None)


def _is_dense(piece: Piece) -> bool:
    """Whether elements lie side by side along some dimension, if it has more than one."""
    steps = {stride for size, stride in zip(piece.shape, piece.strides, strict=True)
             if size > 1 and stride}
    return not steps or 1 in steps


def _same_elements(out: Piece, piece: Piece, shape: tuple[int, ...]) -> bool:
    """Whether a piece has the elements of a result at the same indices."""
    return piece == out and piece.shape == shape


def is_loop(call: Call) -> bool:
    """Whether a call can be part of a loop."""
    if call.device and call.op in COPIES and _truncates(call):
        return False
    if call.is_fold:
        return True
    if call.op in COPIES:
        return can_copy(node_of(call, {}))
    return call.opdef.category == "pointwise" and can_lower(node_of(call, {}))


def _truncates(call: Call) -> bool:
    """Whether floats become integers: what does not fit is up to each device."""
    return call.args[0].dtype in _FLOATS and call.outs[0].dtype not in _FLOATS


_FLOATS = ("float16", "bfloat16", "float32", "float64")


def node_of(call: Call, values: dict[Piece, Value]) -> Node:
    """A call in the graph's terms; scalars are known by the number of their value."""
    args: list[Any] = []
    made = tuple(Value(p.shape, p.dtype) for p in call.outs)
    if call.is_fold:
        return Node(call.op, (tuple(values[piece] for piece in call.args[0]),), made)
    if call.op in COPIES:
        return Node(call.op, (values.get(call.args[0]) or Value(call.args[0].shape,
                                                                call.args[0].dtype),), made)
    for number, (arg, param) in enumerate(
        zip(call.args, call.opdef.params, strict=True), call.first
    ):
        if isinstance(arg, Piece):
            args.append(values.get(arg) or Value(arg.shape, arg.dtype))
        elif arg in call.opdef.literals.get(param.name, ()):
            args.append(arg)
        else:
            args.append(Slot(number, type(arg).__name__))
    return Node(call.op, tuple(args), made)


def body_of(loop: Loop, stored: Sequence[Piece]) -> Graph:
    """The loop as a graph of values: every write in place is a new one."""
    values = {piece: Value(piece.shape, piece.dtype) for piece in loop.loads}
    body = Graph(inputs=[values[piece] for piece in loop.loads])
    for call in loop.calls:
        node = node_of(call, values)
        body.nodes.append(node)
        values.update(zip(call.outs, node.outputs, strict=True))
    body.outputs = [values[piece] for piece in stored]
    return body


@dataclass(frozen=True, eq=False)
class Code:
    """Machine code for a loop.

    Args:
        kernel: what keeps it in memory.
        pieces: its operands.
        step: the core's form of it: address, elements, operands, scalars, which of them are
            integers, the walk over the operands, which of these are moved, bytes by which each
            begins after its value.
        length: instructions for an element.
        moves: whether operands are moved to where their elements lie side by side.
    """

    kernel: Kernel
    pieces: Sequence[Piece]
    step: tuple[Any, ...]
    length: int
    moves: bool


def code_of(
    loop: Loop, stored: Sequence[Piece], inputs: Mapping[Piece, Piece] | None = None
) -> Code:
    """Machine code for a loop.

    Args:
        loop: the loop.
        stored: which results are written to memory; a walk follows the last one's.
        inputs: for results the pieces that lie in their memory instead of their own, and are read
            before those are written.
    """
    inputs = inputs or {}
    lying = {read: written for written, read in inputs.items()}
    region = flatten(body_of(loop, stored))
    pieces = [*loop.loads, *stored]
    sizes = [piece.size for piece in pieces]
    strides = [broadcast_strides(loop.shape, piece.shape, piece.strides, piece.size)
               for piece in pieces]
    loads = list(loop.loads)
    sources = [inputs.get(piece, piece) for piece in stored]
    overwrites = tuple(loads.index(piece) if piece in loop.loads else -1 for piece in sources)
    grid = make_grid(loop.shape, strides, sizes)
    length = len(region.program.instrs)
    flat, moved = (grid, ()) if inputs else side_by_side(grid, sizes, overwrites, length)
    kernel = RegionCode(region, region_key(region)).kernel(
        flat.steps, overwrites if max(overwrites) >= 0 else (), flat.is_short)
    offsets = tuple(loop.offsets.get(piece, 0) for piece in pieces)
    operands = (*(loop.made[lying[piece]] if piece in lying else number
                  for piece, number in loop.loads.items()), *(loop.made[piece] for piece in stored))
    scalars = tuple(leaf.index for leaf, _ in region.scalars if isinstance(leaf, Slot))
    integers = tuple(int(kind in ("i64", "bool")) for _, kind in region.scalars)
    return Code(kernel, pieces,
                (kernel.address, flat.total, operands, scalars, integers, tuple(grid_words(flat)),
                 moved, offsets if any(offsets) else ()),
                length, bool(moved))
