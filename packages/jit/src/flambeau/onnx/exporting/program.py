"""A program's graph as an ONNX model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.jit.dims import Dim
from flambeau.jit.ir import Graph, Node
from flambeau.jit.opset import FUSED
from flambeau.onnx.errors import ExportError
from flambeau.onnx.exporting import (  # noqa: F401
    activations,
    indexing,
    layers,
    losses,
    pointwise,
    recurrent,
    reductions,
    scattering,
    shapes,
    windows,
)
from flambeau.onnx.exporting.builder import Builder, info
from flambeau.onnx.exporting.flow import write_flow
from flambeau.onnx.exporting.formulas import write_formula
from flambeau.onnx.exporting.table import EMITTERS, refuse
from flambeau.onnx.exporting.writes import Memory
from onnx import helper


def model_of(graph: Graph, opset: int, input_names: Sequence[str],
             output_names: Sequence[str]) -> Any:
    """An ONNX model that computes what a graph does.

    Args:
        graph: A graph that writes to nothing.
        opset: The version of ONNX's operators.
        input_names: What its inputs are called; as many as are given.
        output_names: The same for outputs.

    Returns:
        A ``ModelProto``.

    Raises:
        ExportError: It has something that ONNX has no form for.
    """
    if graph.writes or graph.grads:
        raise ExportError("onnx.export(): the program writes to its inputs, its buffers or to "
                          "gradients; export the module in evaluation mode, without backward()")
    b = Builder(opset)
    inputs = _inputs(b, graph, input_names)
    _captures(b, graph)
    memory = Memory(b, {*graph.inputs, *(each.value for each in graph.captures)})
    for node in graph.nodes:
        _write(b, node, memory)
    outputs = _outputs(b, graph, output_names)
    body = helper.make_graph(b.nodes, "flambeau", inputs, outputs, b.initializers)
    imports = [helper.make_opsetid("", opset)]
    return helper.make_model(body, opset_imports=imports, producer_name="flambeau",
                             ir_version=helper.find_min_ir_version_for(imports))


def _inputs(b: Builder, graph: Graph, names: Sequence[str]) -> list[Any]:
    infos = []
    for i, value in enumerate(graph.inputs):
        b.names[value] = b.fresh(names[i] if i < len(names) else f"input_{i}")
        for axis, size in enumerate(value.shape):
            if isinstance(size, Dim) and size.offset == 0 and size.terms == ((str(size), 1),):
                b.symbols.setdefault(str(size), (b.names[value], axis))
        infos.append(info(b.names[value], value))
    return infos


def _captures(b: Builder, graph: Graph) -> None:
    for capture in graph.captures:
        tensor = capture.tensor.detach().cpu()
        array = tensor.float().numpy() if capture.value.dtype == "bfloat16" else tensor.numpy()
        held = b.tensor(b.fresh(capture.name), array)
        b.names[capture.value] = b.cast(held, "float32", "bfloat16") \
            if capture.value.dtype == "bfloat16" else held


def _write(b: Builder, node: Node, memory: Memory) -> None:
    if node.body is not None and node.op == FUSED:
        for inside, outside in zip(node.body.inputs, node.args[0], strict=True):
            b.names[inside] = b.names[outside]
        for each in node.body.nodes:
            _write(b, each, memory)
        for inside, outside in zip(node.body.outputs, node.outputs, strict=True):
            b.names[outside] = b.names[inside]
    elif node.regions:
        names = write_flow(b, node, lambda graph, given: _inside(b, graph, given))
        b.names.update(zip(node.outputs, names, strict=True))
    else:
        for value, name in zip(node.outputs, _names(b, node), strict=False):
            b.names[value] = name
    memory.note(node)
    if node.into:
        memory.write(node)


def _inside(b: Builder, graph: Graph, given: Sequence[str]) -> list[str]:
    """The nodes of a branch or loop, over inputs with these names; the names of its outputs."""
    b.names.update(zip(graph.inputs, given, strict=True))
    memory = Memory(b, set(graph.inputs))
    for node in graph.nodes:
        _write(b, node, memory)
    return [b.names[value] for value in graph.outputs]


def _names(b: Builder, node: Node) -> list[str]:
    """The names of a node's results, as far as ONNX has them."""
    if node.op not in _OF_COMPLEX and any("complex" in each.dtype for each in node.inputs):
        refuse(node, "complex numbers are not written")
    if any(each not in b.names for each in node.inputs):
        refuse(node, "it uses a result of an operator that ONNX does not have")
    written = EMITTERS[node.op](b, node, *node.args) if node.op in EMITTERS else write_formula(
        b, node, *node.args)
    if written is None:
        refuse(node, "this operator is not written to ONNX; write it with others that are")
    return [written] if isinstance(written, str) else list(written or [])


#: Operators that take pairs of real and imaginary part.
_OF_COMPLEX = ("view_as_real",)


def _outputs(b: Builder, graph: Graph, names: Sequence[str]) -> list[Any]:
    infos = []
    for i, value in enumerate(graph.outputs):
        name = b.fresh(names[i] if i < len(names) else f"output_{i}")
        if value not in b.names:
            raise ExportError(f"onnx.export(): {name} is a result that ONNX does not have, such as "
                              "the indices of a max pool")
        b.nodes.append(helper.make_node("Identity", [b.names[value]], [name]))
        infos.append(info(name, value))
    return infos
