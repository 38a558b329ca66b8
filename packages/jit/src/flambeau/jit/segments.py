"""Recording a call in segments: what was recorded runs when Python needs values, and at the end.

Tensors made while recording have real memory that is not filled. When a segment ends, its graph is
compiled (or found in the cache), run, and the memory of every tensor that someone still holds is
filled; after that they are ordinary tensors, and the next segment captures them when it uses them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from flambeau.core.opdefs import OpDef
from flambeau.jit import bridge
from flambeau.jit.errors import TraceError
from flambeau.jit.interpreter import Executor, Scalars
from flambeau.jit.ir import Arg, Graph
from flambeau.jit.literals import Slot
from flambeau.jit.llvm.fused import FusedRunner
from flambeau.jit.passes import run_passes
from flambeau.jit.recorder import Recorder
from flambeau.jit.structure import structure

Tensor = Any


@dataclass(eq=False)
class Plan:
    """A graph after its passes, and where its captures stand among those of the recording."""

    graph: Graph
    order: tuple[int | None, ...]

    def __post_init__(self) -> None:
        self.executor = Executor(self.graph, FusedRunner(), bridge.fill)

    def run(self, recorded: Sequence[Tensor], slots: Sequence[object]) -> list[Tensor]:
        """Run with the captures of a recording, the plan's own constants, and its numbers."""
        own = [capture.tensor for capture in self.graph.captures]
        pairs = zip(self.order, own, strict=True)
        captures = [tensor if place is None else recorded[place] for place, tensor in pairs]
        return self.executor.run((), captures, Scalars({}, slots))


@dataclass(eq=False)
class PlanCache:
    """The plans used last, by the structure of what was recorded.

    Args:
        size: how many are kept.
    """

    size: int = 128
    plans: OrderedDict[Hashable, Plan] = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, graph: Graph) -> Plan:
        """The plan for a graph, made when there is none yet."""
        key = structure(graph)
        with self.lock:
            plan = self.plans.get(key)
            if plan is None:
                plan = self.plans[key] = make_plan(graph)
            self.plans.move_to_end(key)
            while len(self.plans) > self.size:
                self.plans.popitem(last=False)
        return plan


def make_plan(graph: Graph) -> Plan:
    """Run the passes; the recording's tensors are not kept."""
    places = {capture.value: number for number, capture in enumerate(graph.captures)}
    after = run_passes(graph)
    order = tuple(places.get(capture.value) for capture in after.captures)
    for capture, place in zip(after.captures, order, strict=True):
        if place is not None:
            capture.tensor = None
    return Plan(after, order)


class SegmentRecorder(Recorder):
    """A recorder that runs what it has whenever values are needed.

    Args:
        plans: the cache.
    """

    def __init__(self, plans: PlanCache) -> None:
        super().__init__()
        self.plans = plans
        self.slots: list[object] = []
        self.reasons: list[str] = []
        self.ran: list[Plan] = []

    def record(
        self, key: str, args: Sequence[Any], outs: Sequence[Tensor] | None
    ) -> list[Tensor]:
        """A node; or, where that cannot be, run what there is and then this call as it stands."""
        nodes = len(self.graph.nodes)
        try:
            return super().record(key, args, outs)
        except TraceError as error:
            del self.graph.nodes[nodes:]
            self.run(str(error))
            return bridge.call_below(key, args, outs)

    def arguments(self, opdef: OpDef, args: Sequence[Any]) -> tuple[Arg, ...]:
        """As in a trace, but numbers of pointwise operators become run-time scalars."""
        found = list(super().arguments(opdef, args))
        if opdef.category == "pointwise":
            for number, param in enumerate(opdef.params):
                if param.role in ("Operand", "Scalar", "Float"):
                    found[number] = self.slot(found[number], param.default)
        return tuple(found)

    def slot(self, arg: Arg, default: object) -> Arg:
        if type(arg) not in (int, float, complex):
            return arg
        if type(arg) is type(default) and arg == default:
            return arg
        self.slots.append(arg)
        return Slot(len(self.slots) - 1, type(arg).__name__)

    def read(self, tensor: Tensor, what: str) -> None:
        """Python is about to read values."""
        if not self.busy and self.knows(tensor):
            self.busy = True
            self.run(what)
            self.busy = False

    def run(self, reason: str) -> None:
        """Run the segment, fill the memory that is still held, and start anew."""
        if reason:
            self.reasons.append(reason)
        held = [cell for cell in self.memory.cells if cell.where and cell.is_held]
        graph = self.graph
        graph.outputs = [cell.value for cell in held if cell.value is not None]
        graph.writes = self.writes()
        captures = [capture.tensor for capture in graph.captures]
        if graph.nodes:
            with bridge.no_grad():
                plan = self.plans.get(graph)
                results = plan.run(captures, self.slots)
                for cell, result in zip(held, results, strict=True):
                    bridge.fill(cell.root, result)
            self.ran.append(plan)
        self.start_anew()

    def start_anew(self) -> None:
        """Forget the graph; memory met so far is captured when it is next used."""
        self.graph = Graph()
        self.slots = []
        self.memory.forget_values()
