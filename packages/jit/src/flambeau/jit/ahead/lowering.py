"""Which function computes each operator."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.ahead import draws, linear, moves, scans, scattered, searches, windows
from flambeau.jit.ahead.channels import batch_norm
from flambeau.jit.ahead.columns import OPS, columns_text
from flambeau.jit.ahead.expand import created
from flambeau.jit.ahead.fixed import shape_of
from flambeau.jit.ahead.lookup import lookup_text
from flambeau.jit.ahead.pointwise import add_region, region_of
from flambeau.jit.ahead.rows import WIDTH, Formula, RowOperand, rows_of
from flambeau.jit.ahead.scope import NotThisError, Scope
from flambeau.jit.ahead.unit import Place
from flambeau.jit.ahead.views import VIEWS, expanded_to, permuted
from flambeau.jit.errors import ProgramError
from flambeau.jit.inference import infer_values
from flambeau.jit.ir import Graph, Node, Value
from flambeau.jit.literals import DType
from flambeau.jit.opset import is_random
from flambeau.jit.region import can_copy, can_lower
from flambeau.jit.rowcode import formulas
from flambeau.jit.rowcode.formulas import MOST_ELEMENTS


def lower(scope: Scope, graph: Graph) -> None:
    """Append the steps of all nodes.

    Raises:
        ProgramError: an operator has no machine code; the message names it and the line.
    """
    for number, node in enumerate(graph.nodes):
        scope.number = number
        try:
            _lower_node(scope, node)
        except (NotThisError, ProgramError) as error:
            shapes = ", ".join(f"{value.dtype}{list(value.shape)}" for value in node.inputs)
            raise ProgramError(
                f"aot(): {node.op}({shapes}), {node.where}, has no machine code ahead of time: "
                f"{error}; run the saved program in the runtime instead (flambeau/runtime.h), "
                "which has every operator, or write the step in terms of others") from None


def is_known(node: Node) -> bool:
    """Whether an operator has machine code of its own, for some dtypes at least."""
    return (node.body is not None or node.op in VIEWS or node.op in _TABLE or not node.inputs
            or can_lower(node) or can_copy(node))


def _lower_node(scope: Scope, node: Node) -> None:
    if node.into:
        _write(scope, node)
    elif not node.inputs:
        _create(scope, node)
    elif node.body is not None:
        region(scope, node, node.body)
    elif node.op in VIEWS:
        _view(scope, node)
    elif node.op == "filled_like" and node.args[1] is None:
        scope.new(node.outputs[0])
    elif node.op in _TABLE:
        _TABLE[node.op](scope, node)
    elif can_lower(node) or can_copy(node):
        region(scope, node, region_of(node))
    else:
        raise NotThisError("it is none of the operators that are compiled")


def _create(scope: Scope, node: Node) -> None:
    """What is made of numbers alone lies with the weights; a copy is what may be written to."""
    if is_random(node.op):
        raise NotThisError("it draws random numbers")
    if node.op == "empty":
        scope.new(node.outputs[0])
        return
    for value, tensor in zip(node.outputs, created(node), strict=True):
        constant = scope.unit.constant(bridge.bytes_of(tensor), value.dtype, shape_of(value))
        if scope.has_writes or value in scope.places:
            scope.copy_to(constant, scope.new(value))
        else:
            scope.places[value] = constant


def _write(scope: Scope, node: Node) -> None:
    """Results that are copied to where the program writes."""
    for target in node.into:
        if scope.place(target).buffer.kind not in ("arena", "output", "state"):
            raise NotThisError("it writes to inputs")
    if node.op == "copy":
        _copy(scope, node)
        return
    made = infer_values(node.op, node.args)
    if node.op in _BEGIN_AS_COPIES and scope.is_alone(node, scope.place(node.into[0])):
        scope.places[made[0]] = scope.place(node.into[0])
    _lower_node(scope, replace(node, outputs=tuple(made), into=()))
    for found, value, target in zip(made, node.outputs, node.into, strict=True):
        to = scope.place(target)
        if found.dtype != value.dtype:
            raise NotThisError(f"it writes {found.dtype} into {value.dtype}")
        if scope.place(found) != to:
            scope.copy_to(expanded_to(scope.place(found), to.shape), to)
        scope.places[value] = to


def _copy(scope: Scope, node: Node) -> None:
    """Elements of a tensor, cast and expanded; of the same memory by way of a copy."""
    to, source, (result,) = scope.place(node.into[0]), node.args[1], node.outputs
    if source.dtype != to.dtype:
        made = replace(source, dtype=to.dtype)
        _lower_node(scope, replace(node, op="cast", args=(source, DType(to.dtype)),
                                   outputs=(made,), into=()))
        source = made
    place = scope.place(source)
    if place.buffer is to.buffer:
        place = scope.copy(place)
    scope.copy_to(expanded_to(place, to.shape), to)
    scope.places[result] = to


def region(scope: Scope, node: Node, body: Graph) -> None:
    """A fused region, or one pointwise operator; where an input ends here, in its memory."""
    inputs = [scope.place(value) for value in body_inputs(node, body)]
    outputs: list[Place] = []
    for value in node.outputs:
        taken = {place.buffer for place in outputs}
        reused = next((place for place in inputs if place.buffer not in taken
                       and scope.can_overwrite(place, value)), None)
        outputs.append(scope.new(value) if reused is None else scope.reuse(value, reused))
    add_region(scope.unit, body, inputs, outputs)


def body_inputs(node: Node, body: Graph) -> list[Value]:
    """What a node gives its region."""
    return list(node.inputs) if node.body is not None else body.inputs


def _view(scope: Scope, node: Node) -> None:
    source, (result,) = scope.place(node.args[0]), node.outputs
    found = VIEWS[node.op](source, shape_of(result), node.args[1:])
    if found is None:
        if node.args[0] in scope.written or source.buffer.kind == "state":
            raise NotThisError("its elements lie apart where the program writes to memory")
        found = VIEWS[node.op](scope.dense(node.args[0]), shape_of(result), node.args[1:])
    assert found is not None
    scope.places[result] = found


@dataclass(frozen=True)
class _RowOp:
    formula: Callable[..., Any]
    reduces: bool


_ROWS = {
    "softmax": _RowOp(formulas.softmax, False),
    "log_softmax": _RowOp(formulas.log_softmax, False),
    "sum": _RowOp(formulas.total, True), "mean": _RowOp(formulas.mean, True),
    "amax": _RowOp(lambda make, x: [make.reduce("amax", x)], True),
    "amin": _RowOp(lambda make, x: [make.reduce("amin", x)], True),
}


def _dims(node: Node, ndim: int) -> list[int]:
    dims = node.args[1]
    if dims is None or dims == ():
        return list(range(ndim))
    return sorted(d % ndim for d in (dims if isinstance(dims, tuple) else (dims,)))


def _reduction(scope: Scope, node: Node) -> None:
    """Reductions of neighbouring dimensions, and functions over the last ones."""
    value, result = node.args[0], node.outputs[0]
    if node.op == "sum" and value.dtype in searches.COUNTED:
        searches.count(scope, node)
        return
    if value.dtype != "float32" or result.dtype != "float32":
        raise NotThisError("only float32 is reduced")
    dims, shape = _dims(node, len(value.shape)), value.shape
    first, last = dims[0], dims[-1] + 1
    if dims != list(range(first, last)):
        raise NotThisError("it reduces dimensions that are no neighbours")
    outer, count = math.prod(shape[:first]), math.prod(shape[first:last])
    inner = math.prod(shape[last:])
    source, to = scope.dense(value), scope.new(result)
    if inner == 1 and (count >= WIDTH or node.op not in OPS):
        _of_rows(scope, node.op, source, to, (outer, count))
    elif node.op in OPS:
        scope.unit.add(columns_text(node.op, (outer, count, inner), scope.unit.machine), source,
                       to)
    else:
        _along(scope, node, first)


def _along(scope: Scope, node: Node, dim: int) -> None:
    """A function over rows that lie along another dimension than the last one."""
    source, to = scope.place(node.args[0]), scope.new(node.outputs[0])
    order = [d for d in range(len(source.shape)) if d != dim] + [dim]
    turned = scope.copy(permuted(source, order))
    made = scope.unit.temporary(to.dtype, turned.shape)
    elements = turned.shape[-1]
    _of_rows(scope, node.op, turned, made, (made.numel // elements, elements))
    scope.copy_to(made, permuted(to, order))


def _of_rows(scope: Scope, op: str, source: Place, to: Place, sizes: tuple[int, int]) -> None:
    rows, elements = sizes
    own = _ROWS[op]
    out = RowOperand("float32", 1 if own.reduces else elements, not own.reduces)
    add_rows(scope, sizes, [(source, RowOperand("float32", elements, True))], [(to, out)],
             lambda make, given: own.formula(make, *given))


def add_rows(
    scope: Scope, sizes: tuple[int, int], inputs: list[tuple[Place, RowOperand]],
    outputs: list[tuple[Place, RowOperand]], formula: Formula,
) -> None:
    """A step over rows."""
    rows, elements = sizes
    if elements > MOST_ELEMENTS:
        raise NotThisError(f"rows have {elements} elements, and {MOST_ELEMENTS} is the most")
    made = rows_of(rows, elements, [each for _, each in inputs], [each for _, each in outputs],
                   formula, scope.unit.machine)
    places = [place for place, _ in (*inputs, *outputs)]
    if made.kept:
        places.append(scope.unit.temporary("uint8", (made.kept,)))
    scope.unit.add(made.text, *places)


def _layer_norm(scope: Scope, node: Node) -> None:
    x, axes, weight, bias, eps = node.args
    if any(each is not None and each.dtype != "float32" for each in (x, weight, bias)):
        raise NotThisError("only float32 is normalized")
    elements = math.prod(x.shape[len(x.shape) - axes:])
    rows = math.prod(x.shape) // elements
    row, shared = RowOperand("float32", elements, True), RowOperand("float32", 0, True)
    one = RowOperand("float32", 1, False)
    given = [(scope.dense(each), shared) for each in (weight, bias) if each is not None]
    results = [(scope.new(value), row if k == 0 else one) for k, value in enumerate(node.outputs)
               if k == 0 or scope.is_used(value)]
    used = [0, *(k for k in (1, 2) if scope.is_used(node.outputs[k]))]

    def formula(make: formulas.Maker, registers: list[int]) -> list[int]:
        rest = iter(registers[1:])
        made = formulas.layer_norm(
            make, registers[0], None if weight is None else next(rest),
            None if bias is None else next(rest), make.const(eps, "f64"))
        return [made[k] for k in used]

    add_rows(scope, (rows, elements), [(scope.dense(x), row), *given], results, formula)


def _lookup(scope: Scope, node: Node) -> None:
    table, index = node.args[:2]
    bits = {"int64": 64, "int32": 32}.get(index.dtype)
    if table.dtype != "float32" or bits is None:
        raise NotThisError("tables are of float32, indices of int64 or int32")
    text = lookup_text(math.prod(index.shape), table.shape, bits, scope.unit.machine)
    scope.unit.add(text, scope.dense(table), scope.dense(index), scope.new(node.outputs[0]),
                   scope.unit.status)


#: Operators whose result begins as a copy of the first argument: nothing is copied where they
#: write to that argument itself.
_BEGIN_AS_COPIES = frozenset({"scatter.src", "scatter.value", "scatter_add", "index_put",
                              "index_add"})

_TABLE: dict[str, Callable[[Scope, Node], None]] = {
    **dict.fromkeys(_ROWS, _reduction),
    "native_layer_norm": _layer_norm, "native_batch_norm": batch_norm, "embedding_lookup": _lookup,
    "linear": linear.linear, "matmul": linear.matmul, "attention": linear.attention,
    "conv2d": windows.convolve, "cat": moves.cat, "index": moves.index, "gather": moves.gather,
    "index_select": moves.index_select,
    **dict.fromkeys(("argmax", "argmin", "max.dim", "min.dim"), searches.search),
    **dict.fromkeys(("any", "all"), searches.count),
    "cumsum": scans.cumsum, "prod": scans.prod, "sort": scans.sort,
    **dict.fromkeys(("scatter.src", "scatter.value", "scatter_add"), scattered.scatter),
    **dict.fromkeys(("random_uniform", "random_normal", "random_bernoulli", "random_integers"),
                    draws.draw),
    "index_put": scattered.index_put, "index_add": scattered.index_add,
    "max_pool2d_compact_indices": windows.max_pool, "max_pool2d_values": windows.max_pool,
}
