"""Graphs cut by what a backend can run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from flambeau.fx import _names
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node
from flambeau.fx.passes.operator_support import OperatorSupportBase
from flambeau.fx.passes.utils.fuser_utils import fuse_by_partitions

__all__ = ["CapabilityBasedPartitioner", "Partition"]

_NOT_COMPUTING = frozenset(("torch.ops.aten.view", "_operator.getitem"))


class Partition:
    """Nodes that a backend runs together.

    Args:
        id: A number.
        nodes: The nodes.
        node_orders: Where they are in the graph, from its end.
    """

    def __init__(self, id: int | None = None, nodes: Iterable[Node] | None = None,
                 node_orders: Iterable[int] | None = None) -> None:
        self.id = id
        given = list(nodes or ())
        orders: list[Any] = [None] * len(given) if node_orders is None else list(node_orders)
        self.nodes: dict[Node, int | None] = dict(zip(given, orders, strict=True))

    def __repr__(self) -> str:
        return str(self.nodes)

    def add_node(self, node: Node, node_order: int | None = None) -> None:
        """Add a node.

        Args:
            node: The node.
            node_order: Where it is in the graph, from its end.
        """
        self.nodes[node] = node_order

    def remove_node(self, node: Node) -> None:
        """Take a node out.

        Args:
            node: The node.
        """
        del self.nodes[node]

    def size(self) -> int:
        """The number of nodes."""
        return len(self.nodes)


class _Reach:
    """What can be reached from what, as bits: a bit for each node, in the order of the graph."""

    def __init__(self, nodes: list[Node]) -> None:
        self.bit = {node: 1 << at for at, node in enumerate(nodes)}
        self.below: dict[Node, int] = {}
        for node in reversed(nodes):
            bits = 0
            for user in node.users:
                bits |= self.bit[user] | self.below[user]
            self.below[node] = bits

    def users(self, node: Node) -> int:
        """The node, and what uses it."""
        found = self.bit[node]
        for user in node.users:
            found |= self.bit[user]
        return found


class _Group(Partition):
    """A partition while it grows."""

    def __init__(self, id: int, node: Node, order: int, reach: _Reach) -> None:
        super().__init__(id, [node], [order])
        self.order = id
        self.bits = reach.bit[node]
        self.below = reach.below[node]


class CapabilityBasedPartitioner:
    """Finds the nodes that a backend can run, in as few groups as can be called one by one.

    Args:
        graph_module: The module.
        operator_support: Says of a node whether the backend can run it.
        allows_single_node_partition: Keep groups of a single computing node.
        non_compute_ops: Dotted names of functions that compute nothing, such as views.
        allowed_single_node_partition_ops: Functions that are kept alone.
        skip_horizontal_fusion: Put only nodes together that use one another.

    Example:
        >>> from flambeau import fx
        >>> from flambeau.fx.passes.infra.partitioner import CapabilityBasedPartitioner
        >>> from flambeau.fx.passes.operator_support import create_op_support
        >>> module = fx.symbolic_trace(lambda x: ((x + 1) * 2).sin())
        >>> adds = create_op_support(lambda modules, node: node.name in ("add", "mul"))
        >>> fused = CapabilityBasedPartitioner(module, adds).partition_and_fuse()
        >>> [node.name for node in fused.graph.nodes]
        ['x', 'fused_0', 'sin', 'output']
    """

    def __init__(self, graph_module: GraphModule, operator_support: OperatorSupportBase,
                 allows_single_node_partition: bool = False,
                 non_compute_ops: Sequence[str] | None = None,
                 allowed_single_node_partition_ops: Sequence[str] | None = None,
                 skip_horizontal_fusion: bool = False) -> None:
        self.graph_module = graph_module
        self.operator_support = operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = list(non_compute_ops or ())
        self.allowed_single_node_partition_ops = list(allowed_single_node_partition_ops or ())
        self.skip_horizontal_fusion = skip_horizontal_fusion

    def propose_partitions(self) -> list[Partition]:
        """The groups, each node at most in one of them."""
        nodes = list(self.graph_module.graph.nodes)
        modules = dict(self.graph_module.named_modules())
        reach = _Reach(nodes)
        groups: list[_Group] = []
        for at, node in enumerate(reversed(nodes)):
            supported = self.operator_support.is_node_supported(modules, node)
            candidates = sorted(groups, key=lambda each: each.order)
            if self.skip_horizontal_fusion:
                bits = reach.users(node) if supported else 0
                candidates = [each for each in candidates if each.bits & bits]
            if supported:
                groups.append(_Group(at, node, at, reach))
                candidates.insert(0, groups[-1])
            self._merge(groups, candidates, reach)
        home = {node: group for group in groups for node in group.nodes}
        for group in groups:
            group.nodes = dict(sorted(group.nodes.items(), key=lambda item: -(item[1] or 0)))
        self._take_items(nodes, home)
        found = groups if self.allows_single_node_partition else \
            [group for group in groups if self._computes(group)]
        return [Partition(group.id, group.nodes, [each or 0 for each in group.nodes.values()])
                for group in found if group.nodes]

    @staticmethod
    def _merge(groups: list[_Group], candidates: list[_Group], reach: _Reach) -> None:
        """Put as many candidates as possible into one, the first."""
        if len(candidates) < 2:
            return
        first, *others = candidates
        for other in others:
            if _between(groups, first, other, reach):
                continue
            large, small = (first, other) if len(first.nodes) >= len(other.nodes) \
                else (other, first)
            large.nodes.update(small.nodes)
            large.order = min(large.order, small.order)
            large.bits |= small.bits
            large.below |= small.below
            groups.remove(small)
            first = large

    @staticmethod
    def _take_items(nodes: list[Node], home: dict[Node, _Group]) -> None:
        """Put the items of a node's result into the node's group, or out of all groups."""
        changed = True
        while changed:
            changed = False
            for node in nodes:
                if not node.users or not all(_is_item(user) for user in node.users):
                    continue
                group = home.get(node)
                for user in node.users:
                    if home.get(user) is group:
                        continue
                    changed = True
                    if user in home:
                        home.pop(user).remove_node(user)
                    if group is not None:
                        group.add_node(user)
                        home[user] = group

    def _computes(self, group: Partition) -> bool:
        """Whether a group has more than one node that computes, or one that may be alone."""
        nothing = _NOT_COMPUTING.union(self.non_compute_ops)
        names = [_name(node) for node in group.nodes if node.op == "call_function"]
        count = sum(not _among(each, nothing) for each in names)
        count += sum(_among(each, self.allowed_single_node_partition_ops) for each in names)
        return count > 1

    def fuse_partitions(self, partitions: list[Partition], prefix: str = "fused_") -> GraphModule:
        """Put groups into modules of their own.

        Args:
            partitions: The groups.
            prefix: How the names of the modules begin.
        """
        return fuse_by_partitions(self.graph_module, [each.nodes for each in partitions], prefix)

    def remove_bookend_non_compute_ops(self, partitions: list[Partition]) -> None:
        """Take nodes that compute nothing off the beginnings and ends of groups.

        Args:
            partitions: The groups, which are changed.
        """
        for partition in partitions:
            inside = set(partition.nodes)
            gone = self._edge(inside, lambda node: node.all_input_nodes, set())
            gone = self._edge(inside, lambda node: list(node.users), gone)
            for node in gone:
                partition.remove_node(node)

    def _edge(self, inside: set[Node], next_to: Any, gone: set[Node]) -> set[Node]:
        """Nodes that compute nothing, with none on one side of them that does."""
        gone = set(gone)
        found = True
        while found:
            found = False
            for node in inside - gone:
                if node.op == "call_function" and _among(_name(node), self.non_compute_ops) \
                        and not any(each in inside and each not in gone
                                    for each in next_to(node)):
                    gone.add(node)
                    found = True
        return gone

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        """Find groups, and put them into modules of their own.

        Args:
            prefix: How the names of the modules begin.
        """
        return self.fuse_partitions(self.propose_partitions(), prefix)


def _between(groups: list[_Group], a: _Group, b: _Group, reach: _Reach) -> bool:
    """Whether something outside two groups needs one of them and is needed by one."""
    own = a.bits | b.bits
    met = 0
    for node in (*a.nodes, *b.nodes):
        for user in node.users:
            if user not in a.nodes and user not in b.nodes:
                met |= reach.bit[user] | reach.below[user]
    waiting = [each for each in groups if each is not a and each is not b]
    grown = True
    while grown and not met & own:
        grown = False
        for each in waiting[:]:
            if each.bits & met:     # a group runs as a whole
                met |= each.bits | each.below
                waiting.remove(each)
                grown = True
    return bool(met & own)


def _is_item(node: Node) -> bool:
    return node.op == "call_function" and _name(node) == "_operator.getitem"


def _name(node: Node) -> str:
    target: Any = node.target
    if target.__module__ == "_operator":
        return f"_operator.{target.__name__}"
    return _names.qualified_name(target)


def _among(name: str, names: Iterable[str]) -> bool:
    """Whether a dotted name is among others; a form of an operator counts as the operator."""
    return name in names or name.rpartition(".")[0] in names
