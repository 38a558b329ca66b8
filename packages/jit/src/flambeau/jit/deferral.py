"""Plans for kernels that waited: which of them run as one loop, and what they leave in memory.

Inside a compiled call the core notes pointwise kernels instead of running them
(``core/native/deferral/deferral.h``). When somebody needs what they compute, they arrive here, if
calls of their structure were not met before. Each is a formula over pieces of memory, so a plan is
right whatever views, aliases and writes in place there are: two calls share a loop only where each
element depends on elements of the same index alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from flambeau.jit.ir import Graph, Node, Value
from flambeau.jit.literals import Slot
from flambeau.jit.llvm.fused import region_key
from flambeau.jit.llvm.grid import broadcast_strides, make_grid
from flambeau.jit.llvm.launch import RegionCode, grid_words
from flambeau.jit.llvm.memory import SIZE
from flambeau.jit.opset import find_opdef
from flambeau.jit.region import can_lower, flatten

#: Formulas and operands of one loop; more would not fit a processor's registers.
MAX_CALLS = 64
MAX_OPERANDS = 24


@dataclass(frozen=True)
class Piece:
    """Elements in memory: a storage by number, and how they lie in it; ``start`` counts bytes."""

    storage: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    start: int

    @property
    def end(self) -> int:
        """The first byte after the last element."""
        pairs = zip(self.shape, self.strides, strict=True)
        last = sum((size - 1) * stride for size, stride in pairs)
        return self.start + (last + 1) * SIZE.get(self.dtype, 16)

    def overlaps(self, other: Piece) -> bool:
        """Whether they may share memory."""
        return (self.storage == other.storage and self.start < other.end
                and other.start < self.end)


@dataclass(frozen=True)
class Call:
    """One kernel that waits.

    Args:
        number: its number in the order of calls.
        op: key of the definition.
        args: pieces and numbers.
        outs: pieces.
        first: number of its first value; arguments come first, then results.
    """

    number: int
    op: str
    args: tuple[Any, ...]
    outs: tuple[Piece, ...]
    first: int

    @property
    def reads(self) -> tuple[Piece, ...]:
        """The pieces among the arguments."""
        return tuple(arg for arg in self.args if isinstance(arg, Piece))


@dataclass(eq=False)
class Loop:
    """Calls that run as one loop over a shape; a call that cannot be lowered stands alone.

    Args:
        shape: what is looped over.
        is_lowered: whether it is to be machine code.
        calls: the calls, in order.
        loads: pieces that are read from memory, and the number of a value that lies there.
        made: pieces that hold results, and the number of a value that lies there.
    """

    shape: tuple[int, ...]
    is_lowered: bool
    calls: list[Call] = field(default_factory=list)
    loads: dict[Piece, int] = field(default_factory=dict)
    made: dict[Piece, int] = field(default_factory=dict)

    def takes(self, call: Call) -> bool:
        """Whether a call may join: it meets memory of this loop only element by element."""
        if not self.is_lowered or call.outs[0].shape != self.shape or len(self.calls) >= MAX_CALLS:
            return False
        if len(self.loads) + len(self.made) + len(call.args) + len(call.outs) > MAX_OPERANDS:
            return False
        for piece in call.reads:
            if piece not in self.made and any(piece.overlaps(made) for made in self.made):
                return False
        used = [*self.loads, *self.made, *(p for p in call.reads if p not in self.made)]
        return not any(out.overlaps(piece) and out != piece
                       for out in call.outs for piece in used)

    def add(self, call: Call) -> None:
        """Join a call."""
        self.calls.append(call)
        for number, arg in enumerate(call.args, call.first):
            if isinstance(arg, Piece) and arg not in self.made:
                self.loads.setdefault(arg, number)
        for number, out in enumerate(call.outs, call.first + len(call.args)):
            self.made[out] = number


@dataclass(eq=False)
class Plan:
    """What runs in place of calls that waited.

    Args:
        steps: for the core: ``(call,)``, or code with the numbers of its operands and scalars.
        about: for people, a line for each step.
        kept: what the steps point to.
    """

    steps: list[tuple[Any, ...]] = field(default_factory=list)
    about: list[str] = field(default_factory=list)
    kept: list[Any] = field(default_factory=list)


def make_plan(noted: Sequence[tuple[str, list[Any], list[Any]]], needed: bytes) -> Plan:
    """Plan for calls that waited.

    Args:
        noted: for each its key, arguments and results, from the core.
        needed: a byte for each storage, not 0 where somebody holds it.

    Returns:
        The plan.
    """
    loops = gather(_calls(noted))
    plan = Plan()
    for loop, stored in zip(loops, _stored(loops, needed), strict=True):
        if stored and loop.is_lowered:
            _add_code(plan, loop, stored)
        elif stored:
            plan.steps += [(call.number,) for call in loop.calls]
            plan.about += [f"{call.op}: as it stands" for call in loop.calls]
    return plan


def _stored(loops: Sequence[Loop], needed: bytes) -> list[list[Piece]]:
    """What each loop has to leave in memory: for those who hold it, or for a later loop."""
    wanted = {storage for storage, held in enumerate(needed) if held}
    found = []
    for loop in reversed(loops):
        found.append([piece for piece in loop.made if piece.storage in wanted])
        wanted.update(piece.storage for call in loop.calls for piece in (*call.reads, *call.outs))
    return found[::-1]


def _calls(noted: Sequence[tuple[str, list[Any], list[Any]]]) -> list[Call]:
    calls, first = [], 0
    for number, (op, args, outs) in enumerate(noted):
        made = tuple(Piece(*arg) if isinstance(arg, tuple) else arg for arg in args)
        calls.append(Call(number, op, made, tuple(Piece(*out) for out in outs), first))
        first += len(args) + len(outs)
    return calls


def gather(calls: Sequence[Call]) -> list[Loop]:
    """Neighbours in order that may run as one loop; each loop after what it depends on."""
    loops: list[Loop] = []
    for call in calls:
        is_lowered = can_lower(_node(call, {}))
        if not (loops and is_lowered and loops[-1].takes(call)):
            loops.append(Loop(call.outs[0].shape, is_lowered))
        loops[-1].add(call)
    return loops


def _node(call: Call, values: dict[Piece, Value]) -> Node:
    """A call in the graph's terms; scalars are known by the number of their value."""
    opdef = find_opdef(call.op)
    assert opdef is not None
    args: list[Any] = []
    for number, (arg, param) in enumerate(zip(call.args, opdef.params, strict=True), call.first):
        if isinstance(arg, Piece):
            args.append(values.get(arg) or Value(arg.shape, arg.dtype))
        elif arg in opdef.literals.get(param.name, ()):
            args.append(arg)
        else:
            args.append(Slot(number, type(arg).__name__))
    return Node(call.op, tuple(args), tuple(Value(p.shape, p.dtype) for p in call.outs))


def _body(loop: Loop, stored: Sequence[Piece]) -> Graph:
    """The loop as a graph of values: every write in place is a new one."""
    values = {piece: Value(piece.shape, piece.dtype) for piece in loop.loads}
    body = Graph(inputs=[values[piece] for piece in loop.loads])
    for call in loop.calls:
        node = _node(call, values)
        body.nodes.append(node)
        values.update(zip(call.outs, node.outputs, strict=True))
    body.outputs = [values[piece] for piece in stored]
    return body


def _add_code(plan: Plan, loop: Loop, stored: Sequence[Piece]) -> None:
    """Machine code for a loop."""
    region = flatten(_body(loop, stored))
    code = RegionCode(region, region_key(region))
    pieces = [*loop.loads, *stored]
    sizes = [SIZE[piece.dtype] for piece in pieces]
    strides = [broadcast_strides(loop.shape, piece.shape, piece.strides, size)
               for piece, size in zip(pieces, sizes, strict=True)]
    grid = make_grid(loop.shape, strides, sizes)
    loads = list(loop.loads)
    overwrites = tuple(loads.index(piece) if piece in loop.loads else -1 for piece in stored)
    kernel = code.kernel(grid.steps, overwrites if max(overwrites) >= 0 else ())
    operands = (*loop.loads.values(), *(loop.made[piece] for piece in stored))
    scalars = tuple(leaf.index for leaf, _ in region.scalars if isinstance(leaf, Slot))
    integers = tuple(int(kind in ("i64", "bool")) for _, kind in region.scalars)
    plan.steps.append((kernel.address, grid.total, operands, scalars, integers,
                       tuple(grid_words(grid))))
    plan.kept.append(kernel)
    names = " ".join(call.op for call in loop.calls)
    plan.about.append(f"{list(loop.shape)}: {names}; reads {len(loads)}, writes {len(stored)}")
