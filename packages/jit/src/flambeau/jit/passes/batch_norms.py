"""Batch norms of frozen programs: a factor and a summand, or part of the weights before them."""

from __future__ import annotations

from collections.abc import Sequence
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

    Sums have scaled terms then, so that results differ by rounding. Where a weight would not be
    finite, all stays as it is.
    """
    known = _Known(graph)
    nodes: list[Node] = []
    for node in graph.nodes:
        chain = known.chain(node) if node.op == "channel_affine" else None
        nodes += (known.scaled(node, chain) if chain else None) or [node]
    return replace(graph, nodes=nodes, captures=known.captures)


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

    def chain(self, node: Node) -> _Chain | None:
        """What leads to it, where its weights can be scaled."""
        views: list[Node] = []
        before, summand = self.behind_views(node.args[0], views), None
        if before is not None and before.op == "add":
            summand = self.column(before)
            before = None if summand is None else self.behind_views(before.args[0], views)
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
        return None if weight is None else _Chain(before, weight, summand, views)

    def column(self, node: Node) -> Tensor | None:
        """A constant for each channel that a node adds."""
        x, other, alpha = node.args
        if alpha != 1 or not isinstance(x, Value) or other not in self.tensors:
            return None
        shape = node.outputs[0].shape
        is_column = x.shape == shape and other.shape == (shape[1], *[1] * (len(shape) - 2))
        return self.tensors[other].double().flatten() if is_column else None

    def scaled(self, node: Node, chain: _Chain) -> list[Node] | None:
        """The chain with other weights; ``None`` where they are not finite."""
        first, dtype = chain.first, node.outputs[0].dtype
        scale, shift = (self.tensors[each].double().flatten() for each in node.args[1:])
        if chain.weight.dtype != bridge.dtype_named(dtype):
            return None
        weight = _times(chain.weight.double(), scale, _CHANNELS[first.op])
        bias = shift if chain.summand is None else chain.summand * scale + shift
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


def _times(weight: Tensor, scale: Tensor, channels: int) -> Tensor:
    """Scale a weight by channel of the result; transposed ones have those of a group second."""
    ones = [1] * (weight.ndim - 2)
    if channels == 0:
        return weight * scale.reshape(-1, 1, *ones)
    groups = scale.numel() // weight.shape[1]
    by_group = weight.reshape(groups, -1, *weight.shape[1:])
    return (by_group * scale.reshape(groups, 1, -1, *ones)).reshape(weight.shape)
