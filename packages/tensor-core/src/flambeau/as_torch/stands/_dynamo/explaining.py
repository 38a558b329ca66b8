"""`torch._dynamo.explain`: where Python reads values in a call, and the graph if it reads none."""
from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from flambeau import rooms
from flambeau.as_torch.stands._dynamo.testing import EagerAndRecordGraphs, op_count
from flambeau.core import _core


class GraphCompileReason(NamedTuple):
    """Why a graph ended.

    Args:
        reason: What happened.
        user_stack: Where: the frame of the program.
    """

    reason: str
    user_stack: list[Any]


@dataclass
class ExplainOutput:
    """What one call does: ``print`` shows it.

    Args:
        graphs: The graph of the whole call, if it is one; parts of a call are not made.
        break_reasons: Where it would have to be cut.
    """

    graphs: list[Any]
    break_reasons: list[GraphCompileReason]
    out_guards: list[Any] = field(default_factory=list)
    compile_times: None = None
    graph_count: int = field(init=False)
    graph_break_count: int = field(init=False)
    op_count: int = field(init=False)
    ops_per_graph: list[list[Any]] = field(init=False)

    def __post_init__(self) -> None:
        self.graph_break_count = len(self.break_reasons)
        self.graph_count = self.graph_break_count + 1
        self.op_count = sum(map(op_count, self.graphs))
        self.ops_per_graph = [[node.target for node in graph.graph.nodes
                               if node.op.startswith("call_")] for graph in self.graphs]

    def __str__(self) -> str:
        lines = [f"Graph Count: {self.graph_count}",
                 f"Graph Break Count: {self.graph_break_count}", f"Op Count: {self.op_count}",
                 "Break Reasons:"]
        for number, each in enumerate(self.break_reasons, 1):
            lines += [f"  Break Reason {number}:", f"    Reason: {each.reason}", "    User Stack:",
                      *(f"      {frame}" for frame in each.user_stack)]
        lines.append("Ops per Graph:")
        for number, targets in enumerate(self.ops_per_graph, 1):
            lines += [f"  Ops {number}:", *(f"    {target}" for target in targets)]
        return "\n".join(lines)


def explain(f: Callable[..., Any], *extra_args: Any, **extra_kwargs: Any) -> Any:
    """Say of a call where a graph of it ends: a function of the call's arguments.

    The function is called once. A cut is where values decide what Python does; where there is
    none, and the call is no graph for another reason, that reason is the only cut.

    Args:
        f: A function or module.
        extra_args: Arguments of the call, which older programs give here.
        extra_kwargs: The same by name.
    """

    def inner(*args: Any, **kwargs: Any) -> ExplainOutput:
        backend, reasons = EagerAndRecordGraphs(), _Reasons()
        compiled = rooms.import_module(f"{rooms.PREFIX}jit").compile(f, backend=backend)
        with warnings.catch_warnings(record=True) as caught, _core.hear_reads(reasons.hear):
            warnings.simplefilter("always")
            compiled(*args, **kwargs)
        if not backend.graphs and not reasons.found:
            told = [str(each.message) for each in caught if "jit.compile()" in str(each.message)]
            reasons.found["", 0] = GraphCompileReason(told[-1] if told else "it is no graph", [])
        return ExplainOutput(backend.graphs, list(reasons.found.values()))

    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner


class _Reasons:
    """Reads of values that end a graph, each line of the program once."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, int], GraphCompileReason] = {}
        self.ends = rooms.import_module(f"{rooms.PREFIX}jit.graph_breaks").ends_graph
        self.frame = rooms.import_module(f"{rooms.PREFIX}jit.locations").caller_frame

    def hear(self, tensor: Any, what: str) -> None:
        """A read."""
        if self.ends(what, sys._getframe(1)):
            at = self.frame()
            why = f"{what} takes values of a tensor of shape {list(tensor.shape)} to Python"
            frame = traceback.FrameSummary(at.f_code.co_filename, at.f_lineno, at.f_code.co_name)
            self.found.setdefault((frame.filename, at.f_lineno), GraphCompileReason(why, [frame]))
