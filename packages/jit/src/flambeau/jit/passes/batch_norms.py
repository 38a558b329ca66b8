"""Batch norms and constants of frozen programs: a factor and a summand, or part of the weights
before them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.ir import Graph, Node, Value
from flambeau.jit.opset import is_view
from flambeau.jit.passes.constants import add_constant

Tensor = Any
#: By operator: which dimension of its weight are the channels of the result.
_CHANNELS = {"linear": 0, "conv2d": 0, "conv3d": 0, "conv2d_input_grad": 1, "conv3d_input_grad": 1}
_DTYPES = ("float32", "float64")


def affine(graph: Graph) -> Graph:
    """``x * scale + shift`` where the statistics are constants; no bit changes."""
    known = _Known(graph)
    nodes = [known.affine(node) or node for node in graph.nodes]
    return replace(graph, nodes=nodes, captures=known.captures)


def into_weights(graph: Graph) -> Graph:
    """Scale the weights of a product or a convolution that only such a node reads.

    So do constants that are multiplied with its results or added to them, one for each channel or
    one for all. Sums have scaled terms then, so that results differ by rounding. Where a weight
    would not be finite, all stays as it is.
    """
    known = _Known(graph)
    nodes: list[Node] = []
    for node in graph.nodes:
        made = known.in_weights(node) or [node]
        known.add(made)
        nodes += made
    return replace(graph, nodes=nodes, captures=known.captures)


@dataclass(frozen=True)
class _Terms:
    """``x * scale + shift``, by channel in float64."""

    x: Value
    scale: Tensor
    shift: Tensor


@dataclass(frozen=True)
class _Chain:
    """What leads to a batch norm: an operator with a weight, a summand, views.

    Args:
        first: the operator.
        weight: its weight.
        summand: its bias, or what is added to its result, by channel in float64.
        views: what lies between.
    """

    first: Node
    weight: Tensor
    summand: Tensor | None
    views: Sequence[Node]


def _sum(x: Value, first: Any, second: Any, alpha: Tensor) -> tuple[Tensor, Tensor]:
    one = bridge.from_numbers([1.0], "float64")
    return (one, alpha * second) if first is x else (alpha, first)


def _difference(x: Value, first: Any, second: Any, alpha: Tensor) -> tuple[Tensor, Tensor]:
    return _sum(x, first, second, -alpha)


def _product(x: Value, first: Any, second: Any) -> tuple[Tensor, Tensor]:
    factor = second if first is x else first
    return factor, bridge.from_numbers([0.0], "float64")


def _quotient(x: Value, first: Any, second: Any) -> tuple[Tensor, Tensor] | None:
    return _product(x, first, 1 / second) if first is x else None


#: Factor and summand of a value among an operator's arguments, the others of which are constants.
_AFFINE: dict[str, Callable[..., tuple[Tensor, Tensor] | None]] = {
    "channel_affine": lambda x, _, scale, shift: (scale, shift),
    "mul": _product, "add": _sum, "sub": _difference, "div": _quotient}


class _Known:
    """A graph's constants, and who reads what."""

    def __init__(self, graph: Graph) -> None:
        self.producers, self.users = graph.producers(), graph.users()
        self.results = set(graph.results())
        self.captures = list(graph.captures)
        self.tensors = {each.value: each.tensor for each in graph.captures if each.constant}

    def constant(self, tensor: Tensor, dtype: str) -> Value:
        value = add_constant(self.captures, tensor.to(bridge.dtype_named(dtype)))
        self.tensors[value] = self.captures[-1].tensor
        return value

    def tensor(self, value: Value) -> Tensor | None:
        """A constant, or a view of one."""
        node = self.producers.get(value)
        if value in self.tensors or node is None or not is_view(node.op):
            return self.tensors.get(value)
        base = self.tensor(node.args[0])
        return None if base is None else bridge.call(node.op, [base, *node.args[1:]])[0]

    def affine(self, node: Node) -> Node | None:
        if node.op != "native_batch_norm" or node.args[5] is not False:
            return None
        x, *given, eps = (*node.args[:5], node.args[7])
        if x.dtype not in _DTYPES or any(self.is_used(value) for value in node.outputs[1:]):
            return None
        if any(each is not None and each not in self.tensors for each in given):
            return None
        weight, bias, mean, var = (
            None if each is None else self.tensors[each].double() for each in given)
        scale = 1 / (var + eps).sqrt()
        scale = scale if weight is None else weight * scale
        shift = -(mean * scale) if bias is None else bias - mean * scale
        column = (-1, *[1] * (len(x.shape) - 2))
        operands = [self.constant(each.reshape(column), x.dtype) for each in (scale, shift)]
        return Node("channel_affine", (x, *operands), node.outputs[:1], where=node.where)

    def is_used(self, value: Value) -> bool:
        return value in self.users or value in self.results

    def before(self, value: Value) -> Node | None:
        """What gives a value that one node reads and no one else."""
        node = self.producers.get(value)
        is_shared = node is None or value in self.results or len(self.users[value]) > 1
        return None if is_shared else node

    def behind_views(self, value: Value, views: list[Node]) -> Node | None:
        """The same, behind views that drop dimensions of one element; they are added in front."""
        node = self.before(value)
        while node is not None and node.op == "squeeze" and \
                node.args[0].shape[:2] == node.outputs[0].shape[:2]:
            views.insert(0, node)
            node = self.before(node.args[0])
        return node

    def add(self, nodes: Sequence[Node]) -> None:
        """Nodes that stand in the graph from now on."""
        for node in nodes:
            self.producers.update(dict.fromkeys(node.outputs, node))
            for value in dict.fromkeys(node.inputs):
                self.users.setdefault(value, [node])

    def in_weights(self, node: Node) -> list[Node] | None:
        """Nodes with other weights that compute the same; ``None`` where there are none."""
        return self.linear(node) or self.in_channels(node)

    def linear(self, node: Node) -> list[Node] | None:
        """A product with a constant matrix, and a constant row that is added to it."""
        if node.op != "add" or node.args[2] != 1 or node.outputs[0].dtype not in _DTYPES:
            return None
        (x, bias), output = node.args[:2], node.outputs[0]
        x, bias = (bias, x) if x in self.tensors else (x, bias)
        before = self.before(x) if isinstance(x, Value) else None
        if before is None or before.op != "matmul" or x.type != output.type:
            return None
        matrix = self.tensors.get(before.args[1])
        row = self.tensors.get(bias) if isinstance(bias, Value) else None
        if matrix is None or row is None or matrix.ndim != 2 or len(output.shape) < 2:
            return None
        if row.numel() != output.shape[-1] or row.shape[-1:] != (row.numel(),) \
                or row.ndim > len(output.shape) or not row.dtype == matrix.dtype:
            return None
        weight = self.constant(matrix.t().contiguous(), output.dtype)
        args = before.args[0], weight, self.constant(row.reshape(-1), output.dtype)
        return [Node("linear", args, node.outputs, where=before.where)]

    def in_channels(self, node: Node) -> list[Node] | None:
        terms = self.terms(node) if node.op in _AFFINE else None
        chain = None if terms is None else self.chain(terms.x)
        return None if chain is None or terms is None else self.scaled(node, chain, terms)

    def terms(self, node: Node) -> _Terms | None:
        """What a node with constants makes of each channel."""
        output = node.outputs[0]
        if output.dtype not in _DTYPES or len(output.shape) < 2:
            return None
        channels = output.shape[1]
        values = [arg for arg in node.args
                  if isinstance(arg, Value) and arg not in self.tensors and arg.type == output.type]
        if len(values) != 1 or not isinstance(channels, int):
            return None
        args = [arg if arg is values[0] else self.by_channel(arg, output) for arg in node.args]
        if any(each is None for each in args):
            return None
        found = _AFFINE[node.op](values[0], *args)
        if found is None:
            return None
        scale, shift = (each.expand(channels) for each in found)
        return _Terms(values[0], scale, shift)

    def by_channel(self, arg: Any, output: Value) -> Tensor | None:
        """A number, or a constant with one element or one for each channel, in float64."""
        if isinstance(arg, int | float) and not isinstance(arg, bool):
            return bridge.from_numbers([arg], "float64")
        tensor = self.tensors.get(arg) if isinstance(arg, Value) else None
        if tensor is None or arg.dtype != output.dtype or tensor.ndim > len(output.shape):
            return None
        shape = (*[1] * (len(output.shape) - tensor.ndim), *tensor.shape)
        is_column = all(size == 1 for k, size in enumerate(shape) if k != 1)
        return tensor.double().flatten() if is_column else None

    def chain(self, value: Value) -> _Chain | None:
        """What leads to a value, where its weights can be scaled."""
        views: list[Node] = []
        before, summand = self.behind_views(value, views), None
        if before is not None and before.op == "add":
            terms = self.terms(before)
            if terms is None or not _is_one(terms.scale):
                return None
            before, summand = self.behind_views(terms.x, views), terms.shift
        if before is None or before.op not in _CHANNELS:
            return None
        if before.op == "linear" and len(before.outputs[0].shape) != 2:
            return None
        weight, bias = self.tensor(before.args[1]), None
        if _CHANNELS[before.op] == 0 and before.args[2] is not None:
            bias = self.tensor(before.args[2])
            if bias is None:
                return None
            summand = bias.double() if summand is None else bias.double() + summand
        if weight is None or weight.dtype != bridge.dtype_named(value.dtype):
            return None
        return _Chain(before, weight, summand, views)

    def scaled(self, node: Node, chain: _Chain, terms: _Terms) -> list[Node] | None:
        """The chain with other weights; ``None`` where they are not finite."""
        first, dtype, scale = chain.first, node.outputs[0].dtype, terms.scale
        if _CHANNELS[first.op] == 1 and _is_one(scale) and chain.summand is None:
            return None             # a sum, which stays one
        weight = _times(chain.weight.double(), scale, _CHANNELS[first.op])
        bias = terms.shift if chain.summand is None else chain.summand * scale + terms.shift
        if not all(each.to(chain.weight.dtype).isfinite().all() for each in (weight, bias)):
            return None
        args = [first.args[0], self.constant(weight, dtype), *first.args[2:]]
        is_transposed = _CHANNELS[first.op] == 1
        if not is_transposed:
            args[2] = self.constant(bias, dtype)
        nodes = [replace(first, args=tuple(args), outputs=(first.outputs[0].like(),))]
        for view in chain.views:
            nodes.append(replace(view, args=(nodes[-1].outputs[0], *view.args[1:]),
                                 outputs=(view.outputs[0].like(),)))
        if is_transposed:
            column = bias.reshape(-1, *[1] * (len(node.outputs[0].shape) - 2))
            nodes.append(Node("add", (nodes[-1].outputs[0], self.constant(column, dtype), 1), (),
                              where=node.where))
        return [*nodes[:-1], replace(nodes[-1], outputs=node.outputs)]


def _is_one(scale: Tensor) -> bool:
    return bool((scale == 1).all())


def _times(weight: Tensor, scale: Tensor, channels: int) -> Tensor:
    """Scale a weight by channel of the result; transposed ones have those of a group second."""
    ones = [1] * (weight.ndim - 2)
    if channels == 0:
        return weight * scale.reshape(-1, 1, *ones)
    groups = scale.numel() // weight.shape[1]
    by_group = weight.reshape(groups, -1, *weight.shape[1:])
    return (by_group * scale.reshape(groups, 1, -1, *ones)).reshape(weight.shape)
