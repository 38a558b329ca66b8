"""A program's graph as an ONNX model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau
from flambeau.jit.dims import Dim
from flambeau.jit.ir import Graph, Limits, Node, Value
from flambeau.jit.opset import FUSED
from flambeau.onnx.errors import ExportError
from flambeau.onnx.exporting import (  # noqa: F401
    activations,
    complex_numbers,
    drawing,
    indexing,
    layers,
    linear_algebra,
    looped,
    losses,
    pointwise,
    quantized,
    recurrent,
    reductions,
    sampling,
    scattering,
    selecting,
    shapes,
    symbolics,
    windows,
)
from flambeau.onnx.exporting.builder import Builder, info
from flambeau.onnx.exporting.decomposed import function_of, recorded
from flambeau.onnx.exporting.flow import write_flow
from flambeau.onnx.exporting.formulas import write_formula
from flambeau.onnx.exporting.rewritten import is_by_others
from flambeau.onnx.exporting.table import EMITTERS, refuse
from flambeau.onnx.exporting.trimming import trim
from flambeau.onnx.exporting.writes import Memory
from onnx import checker, helper, shape_inference


def model_of(graph: Graph, opset: int, input_names: Sequence[str],
             output_names: Sequence[str], form: str = "integers"
             ) -> tuple[Any, list[tuple[str, Limits]]]:
    """An ONNX model that computes what a graph does, and for which sizes it does.

    Args:
        graph: A graph that writes to nothing.
        opset: The version of ONNX's operators.
        input_names: What its inputs are called; as many as are given.
        output_names: The same for outputs.
        form: The form of products of int8, ``"integers"`` or ``"qdq"``.

    Returns:
        A ``ModelProto``, and the limits of sizes that vary: the graph's own, and those of operators
        that are written by others.

    Raises:
        ExportError: It has something that ONNX has no form for.
    """
    if graph.writes or graph.grads:
        raise ExportError("onnx.export(): the program writes to its inputs, its buffers or to "
                          "gradients; export the module in evaluation mode, without backward()")
    b = Builder(opset, form)
    b.examples.update({name: sizes[0] for name, sizes in graph.symbols.items()})
    b.ranges.update({name: graph.range_of(name) for name in graph.symbols})
    inputs = _inputs(b, graph, input_names)
    _captures(b, graph)
    _nodes(b, graph, {*graph.inputs, *(each.value for each in graph.captures)})
    outputs = _outputs(b, graph, output_names)
    nodes, held = trim(b.nodes, b.initializers, [info.name for info in outputs])
    body = helper.make_graph(nodes, "flambeau", inputs, outputs, held)
    imports = [helper.make_opsetid("", opset),
               *(helper.make_opsetid(domain, 1) for domain in sorted(b.domains))]
    made = helper.make_model(body, opset_imports=imports, producer_name="flambeau",
                             ir_version=helper.find_min_ir_version_for(imports[:1]))
    return made, [*graph.limits.items(), *b.limits]


def check(model: Any) -> None:
    """Have ONNX's checker and shape inference look at a model.

    Raises:
        ExportError: They find something, such as a dtype that an operator does not take.
    """
    try:
        if model.ByteSize() < 2**31:
            checker.check_model(model, full_check=True)
    except (checker.ValidationError, shape_inference.InferenceError) as error:
        raise ExportError("onnx.export(): ONNX has no such call of an operator, often for the "
                          f"dtype of its operands: {error}") from error


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
        if capture.value.dtype in complex_numbers.REAL:
            tensor = flambeau.view_as_real(tensor)
        array = tensor.float().numpy() if capture.value.dtype == "bfloat16" else tensor.numpy()
        held = b.tensor(b.fresh(capture.name), array)
        b.tensors[capture.value] = capture.tensor.detach().cpu()
        b.names[capture.value] = b.cast(held, "float32", "bfloat16") \
            if capture.value.dtype == "bfloat16" else held


def _nodes(b: Builder, graph: Graph, held: set[Value]) -> None:
    """The nodes of a graph whose inputs and captured tensors have names."""
    b.used.update(graph.outputs, (value for node in graph.nodes for value in node.inputs))
    memory = Memory(b, held)
    for node in graph.nodes:
        _write(b, node, memory)


def _write(b: Builder, node: Node, memory: Memory) -> None:
    if node.body is not None and node.op == FUSED:
        b.names.update((inside, b.names[outside]) for inside, outside in zip(
            node.body.inputs, node.args[0], strict=True))
        b.used.update(node.body.outputs, (v for each in node.body.nodes for v in each.inputs))
        for each in node.body.nodes:
            _write(b, each, memory)
        for inside, outside in zip(node.body.outputs, node.outputs, strict=True):
            b.names[outside] = b.names[inside]
    elif node.regions:
        names = write_flow(b, node, lambda graph, given: _inside(b, graph, given))
        b.names.update(zip(node.outputs, names, strict=True))
    else:
        _operator(b, node)
    b.find_sizes(node.outputs)
    memory.note(node)
    if node.into:
        memory.write(node)


def _inside(b: Builder, graph: Graph, given: Sequence[str]) -> list[str]:
    """The nodes of a graph over inputs with these names; the names of its outputs."""
    b.names.update(zip(graph.inputs, given, strict=True))
    _captures(b, graph)
    _nodes(b, graph, {*graph.inputs, *(each.value for each in graph.captures)})
    return [b.names[value] for value in graph.outputs]


def _operator(b: Builder, node: Node) -> None:
    """An operator by its own writer, by its formula, or else by other operators."""
    if any(each not in b.names for each in node.inputs):
        refuse(node, "it uses a result of an operator that ONNX does not have")
    wanted = [k for k, value in enumerate(node.outputs) if value in b.used or node.into]
    is_complex = complex_numbers.is_complex(node)
    names, why = _of_pairs(b, node) if is_complex else _own_names(b, node)
    if all(k < len(names) for k in wanted):
        b.names.update(zip(node.outputs, names, strict=False))
        return
    function = complex_numbers.function_of(node) if is_complex else function_of(node)
    if function is None:
        if why is not None:
            raise why
        refuse(node, "complex numbers are not written here" if is_complex else
               "ONNX has no form for one of its results" if names else
               "this operator is not written to ONNX; write it with others that are")
    assert function is not None
    try:
        over = complex_numbers.stand_in(b, node) if is_complex else node
        graph = recorded(b, over, wanted, function)
        made = _inside(b, graph, [b.names[each] for each in dict.fromkeys(over.inputs)])
    except ExportError as error:
        raise why or error from None
    b.names.update(zip((node.outputs[k] for k in wanted), made, strict=True))


def _own_names(b: Builder, node: Node) -> tuple[list[str], ExportError | None]:
    """The names of a node's results, as far as its own writer has them, or why it has not."""
    if symbolics.find(node) is not None:
        return symbolics.write_symbolic(b, node), None
    if is_by_others(node):
        return [], None
    try:
        written = EMITTERS[node.op](b, node, *node.args) if node.op in EMITTERS else \
            write_formula(b, node, *node.args)
    except ExportError as error:
        return [], error
    return [written] if isinstance(written, str) else list(written or []), None


def _of_pairs(b: Builder, node: Node) -> tuple[list[str], ExportError | None]:
    """The same for complex numbers."""
    try:
        written = complex_numbers.own_name(b, node)
    except ExportError as error:
        return [], error
    return [] if written is None else [written], None


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
