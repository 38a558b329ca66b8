"""Programs that write to buffers: memory that lives from run to run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from flambeau.jit import bridge
from flambeau.jit.ahead.scope import Scope
from flambeau.jit.ahead.unit import Buffer, Place, Unit
from flambeau.jit.errors import ProgramError
from flambeau.jit.inference import infer_values
from flambeau.jit.ir import Capture, Graph, Node
from flambeau.jit.llvm.memory import SIZE
from flambeau.jit.opset import has_effects
from flambeau.jit.programs.program import Program


def kept(program: Program) -> Graph:
    """The graph of a program that writes to what it captured.

    Raises:
        ProgramError: it leaves gradients, changes random state, or was traced in training mode.
    """
    graph = program.graph
    if program.training:
        raise ProgramError("aot(): the module was traced in training mode; call model.eval() and "
                           "trace it again")
    if graph.grads or graph.writes:
        raise ProgramError("aot(): the program computes gradients, or copies values to what it was "
                           "given at its end; compile what only writes in place")
    for node in graph.nodes:
        if has_effects(node):
            raise ProgramError(f"aot(): {node.op}, {node.where}, changes more than the tensors "
                               "that it writes to in place, which machine code does not do")
    captures = [replace(each, tensor=each.tensor.detach()) for each in graph.captures]
    return replace(graph, captures=captures, requires=[False] * len(graph.outputs))


def writes_apart(graph: Graph, is_known: Callable[[Node], bool]) -> Graph:
    """Operators without machine code give new tensors, which are copied to where they write."""
    nodes: list[Node] = []
    for node in graph.nodes:
        if not node.into or node.op == "copy" or is_known(replace(node, into=())):
            nodes.append(node)
            continue
        made = tuple(infer_values(node.op, node.args))
        nodes.append(replace(node, outputs=made, into=()))
        nodes += [Node("copy", (target, value), (result,), where=node.where, into=(target,))
                  for target, value, result in zip(node.into, made, node.outputs, strict=True)]
    return replace(graph, nodes=nodes)


def place_captures(unit: Unit, scope: Scope, graph: Graph) -> None:
    """Weights lie with the constants. What is written to, and what shares its memory, is state;
    or, where it is a constant of Python's, a copy in each run."""
    groups: dict[int, list[Capture]] = {}
    for capture in graph.captures:
        groups.setdefault(bridge.memory_address(capture.tensor), []).append(capture)
    for group in groups.values():
        if scope.written.isdisjoint(capture.value for capture in group):
            for capture in group:
                data = bridge.bytes_of(capture.tensor)
                scope.places[capture.value] = unit.constant(data, capture.value.dtype,
                                                            tuple(capture.tensor.shape))
        else:
            _place_written(unit, scope, group)


def _place_written(unit: Unit, scope: Scope, group: list[Capture]) -> None:
    memory = bridge.bytes_of(bridge.whole_memory(group[0].tensor))
    image = unit.constant(memory, "uint8", (len(memory),))
    if any(capture.constant for capture in group):
        buffer = scope.copy(image).buffer
    else:
        buffer = Buffer("state", len(memory))
        unit.state.append((buffer, image))
    for capture in group:
        tensor, dtype = capture.tensor, capture.value.dtype
        scope.places[capture.value] = Place(
            buffer, dtype, tuple(tensor.shape), tuple(tensor.stride()),
            tensor.storage_offset() * SIZE[dtype])
