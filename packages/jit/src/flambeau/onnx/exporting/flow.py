"""Branches and loops on values: ``If`` and ``Loop``, whose graphs see the names around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau.jit.ir import Graph, Node, Value
from flambeau.jit.opset import LOOP
from flambeau.onnx.exporting.builder import Builder, Name, info
from flambeau.onnx.exporting.trimming import trim
from onnx import TensorProto, helper

#: Writes a graph's nodes, whose inputs have names, and returns the names of its outputs.
Write = Callable[[Graph, Sequence[Name]], list[Name]]


def write_flow(b: Builder, node: Node, write: Write) -> list[Name]:
    """A branch or loop; the names of its results."""
    b.read_symbols()        # sizes are read outside, where all graphs see them
    if not node.outputs:
        return []
    return _loop(b, node, write) if node.op == LOOP else _branch(b, node, write)


def _branch(b: Builder, node: Node, write: Write) -> list[Name]:
    condition, inputs = node.args
    given = [b.names[value] for value in inputs]
    graphs = []
    for word, region in zip(("then", "else"), node.regions, strict=True):
        nodes = b.enter()
        outputs = _outputs(b, write(region, given), region.outputs)
        graphs.append(_graph(b, nodes, word, [], outputs))
    test = _condition(b, b.names[condition], condition)
    return b.add_several(len(node.outputs), "If", test, then_branch=graphs[0],
                         else_branch=graphs[1])


def _loop(b: Builder, node: Node, write: Write) -> list[Name]:
    """The condition is computed before the loop, and in each step for the next one."""
    carried, others = node.args
    holds, step = node.regions
    outside = [b.names[value] for value in others]
    starts = [b.names[value] for value in carried]
    first = _condition(b, write(holds, [*starts, *outside])[0], holds.outputs[0])
    nodes = b.enter()
    count, before = b.fresh("count"), b.fresh("goes_on")
    names = [b.fresh("carried") for _ in carried]
    after = write(step, [*names, *outside])
    again = _condition(b, write(holds, [*after, *outside])[0], holds.outputs[0])
    inputs = [helper.make_tensor_value_info(count, TensorProto.INT64, []),
              helper.make_tensor_value_info(before, TensorProto.BOOL, []),
              *(info(name, value) for name, value in zip(names, carried, strict=True))]
    outputs = [helper.make_tensor_value_info(again, TensorProto.BOOL, []),
               *_outputs(b, after, step.outputs)]
    body = _graph(b, nodes, "step", inputs, outputs)
    return b.add_several(len(node.outputs), "Loop", "", first, *starts, body=body)


def _graph(b: Builder, around: list[Any], word: str, inputs: list[Any], outputs: list[Any]) -> Any:
    """The nodes that were written since ``around`` was left, as far as they are needed."""
    nodes, _ = trim(b.leave(around), [], [each.name for each in outputs])
    return helper.make_graph(nodes, b.fresh(word), inputs, outputs)


def _outputs(b: Builder, names: Sequence[Name], values: Sequence[Value]) -> list[Any]:
    """Outputs of a graph, which must be names of its own."""
    return [info(b.add("Identity", name), value)
            for name, value in zip(names, values, strict=True)]


def _condition(b: Builder, name: Name, value: Value) -> Name:
    """A name of its own for a bool without dimensions."""
    name = b.cast(name, value.dtype, "bool")
    return b.add("Reshape", name, b.constant([], "int64")) if value.shape else b.add(
        "Identity", name)
