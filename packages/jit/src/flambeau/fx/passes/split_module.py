"""A module cut into several, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from flambeau import nn
from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node, map_arg

__all__ = ["Partition", "split_module"]


@dataclass
class Partition:
    """One of the modules.

    Args:
        name: What the callback gave.
        submod_name: The name of its module.
        inputs: Names of the values that go in.
        outputs: Names of the values that others use.
        graph: Its graph.
        environment: Node of the whole graph -> node of this one.
    """

    name: str
    submod_name: str = ""
    inputs: dict[str, None] = field(default_factory=dict)
    outputs: dict[str, None] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    partitions_dependent_on: dict[str, None] = field(default_factory=dict)
    partition_dependents: dict[str, None] = field(default_factory=dict)
    graph: Graph = field(default_factory=Graph)
    environment: dict[Node, Node] = field(default_factory=dict)
    targets: dict[str, Any] = field(default_factory=dict)


def split_module(m: GraphModule, root_m: nn.Module | None, split_callback: Callable[[Node], Any],
                 qualname_map: dict[str, str] | None = None, keep_original_order: bool = False,
                 keep_original_node_name: bool = False,
                 keep_original_input_name: bool = True, *,
                 partition_affix: str | None = None) -> GraphModule:
    """Cut a module into modules ``submod_0``, ``submod_1``, … and one that calls them.

    Args:
        m: The module.
        root_m: Where its modules and attributes are; None means ``m``.
        split_callback: Gives for each node the name of its part, an int or a string.
        qualname_map: Receives path in the new module -> path in ``m``.
        keep_original_order: Call the parts in the order in which they begin, not of their needs.
        keep_original_node_name: Has no effect: nodes keep their names.
        keep_original_input_name: Parameters of parts have the names of their values.
        partition_affix: Goes into the names of the parts.

    Returns:
        The new module.

    Raises:
        RuntimeError: parts need one another.

    Example:
        >>> import flambeau
        >>> from flambeau import fx
        >>> from flambeau.fx.passes.split_module import split_module
        >>> module = fx.symbolic_trace(lambda x: (x + 1).relu() * 2)
        >>> split = split_module(module, module, lambda node: int(node.name == "mul"))
        >>> [name for name, _ in split.named_children()]
        ['submod_0', 'submod_1']
    """
    return _Split(m, root_m if root_m is not None else m, split_callback, qualname_map,
                  keep_original_order, partition_affix).run()


class _Split:
    """The work of one call.

    Args:
        m: The module.
        root: Where its modules and attributes are.
        callback: Gives for each node the name of its part.
        paths: Receives new path -> old path.
        keep_order: Call the parts in the order in which they begin.
        affix: Goes into the names of the parts.
    """

    def __init__(self, m: GraphModule, root: nn.Module, callback: Any,
                 paths: dict[str, str] | None, keep_order: bool, affix: str | None) -> None:
        self.m, self.root, self.callback = m, root, callback
        self.paths, self.keep_order = paths, keep_order
        self.affix = f"{affix}_" if affix else ""
        self.parts: dict[str, Partition] = {}
        self.part_of: dict[Node, Partition] = {}

    def run(self) -> GraphModule:
        """The new module."""
        for node in self.m.graph.nodes:
            if node.op in ("placeholder", "get_attr", "output"):
                continue
            self._put(node)
        for node in self.m.graph.nodes:
            for used in node._input_nodes:
                self._note_use(used, node)
        order = list(self.parts) if self.keep_order else self._sorted()
        for part in self.parts.values():
            self._fill(part)
        return self._assemble(order)

    def _put(self, node: Node) -> None:
        name = str(self.callback(node))
        part = self.parts.get(name)
        if part is None:
            part = self.parts[name] = Partition(name, f"submod_{self.affix}{name}")
        part.nodes.append(node)
        self.part_of[node] = part

    def _note_use(self, used: Node, user: Node) -> None:
        home, place = self.part_of.get(used), self.part_of.get(user)
        if home is place or used.op == "get_attr" and place is not None:
            return
        if home is not None:
            home.outputs.setdefault(used.name)
        if place is not None:
            place.inputs.setdefault(used.name)
        if home is not None and place is not None:
            home.partition_dependents.setdefault(place.name)
            place.partitions_dependent_on.setdefault(home.name)

    def _sorted(self) -> list[str]:
        waiting = {name: set(part.partitions_dependent_on) for name, part in self.parts.items()}
        order: list[str] = []
        while waiting:
            ready = next((name for name, needs in waiting.items() if not needs), None)
            if ready is None:
                raise RuntimeError("cycle exists between partitions! "
                                   f"{', '.join(waiting)} need values of one another: let "
                                   "split_callback keep them together")
            del waiting[ready]
            order.append(ready)
            for needs in waiting.values():
                needs.discard(ready)
        return order

    def _fill(self, part: Partition) -> None:
        """The part's graph: parameters, attributes, nodes, results."""
        nodes = {node.name: node for node in self.m.graph.nodes}
        for name in part.inputs:
            made = part.graph.placeholder(name, type_expr=nodes[name].type)
            made.meta = nodes[name].meta.copy()
            part.environment[nodes[name]] = made
        for node in part.nodes:
            for used in node._input_nodes:
                if used.op == "get_attr" and used not in part.environment:
                    part.environment[used] = self._copy(part, used)
            part.environment[node] = self._copy(part, node)
        out = tuple(part.environment[nodes[name]] for name in part.outputs)
        part.graph.output(out[0] if len(out) == 1 else out)

    def _copy(self, part: Partition, node: Node) -> Node:
        made = part.graph.node_copy(node, lambda n: part.environment[n])
        if node.op in ("call_module", "get_attr"):
            path = str(node.target)
            flat = path.replace(".", "_")
            made.target = flat
            part.targets[flat] = _find(self.root, path)
            if self.paths is not None and node.op == "call_module":
                self.paths[f"{part.submod_name}.{flat}"] = path
        return made

    def _assemble(self, order: list[str]) -> GraphModule:
        base, values = Graph(), {}
        root: dict[str, Any] = {}
        for node in self.m.graph.nodes:
            if node.op == "placeholder":
                values[node] = base.node_copy(node)
            elif node.op == "get_attr" and any(user.op == "output" for user in node.users):
                values[node] = base.node_copy(node)
                root[str(node.target)] = _find(self.root, str(node.target))
        nodes = {node.name: node for node in self.m.graph.nodes}
        for name in order:
            part = self.parts[name]
            root[part.submod_name] = GraphModule(part.targets, part.graph)
            given = tuple(values[nodes[each]] for each in part.inputs)
            result = base.call_module(part.submod_name, given)
            outputs = list(part.outputs)
            for at, each in enumerate(outputs):
                values[nodes[each]] = result if len(outputs) == 1 else base.call_function(
                    _getitem(), (result, at))
        for node in self.m.graph.nodes:
            if node.op == "output":
                base.output(map_arg(node.args[0], lambda n: values[n]), node.type)
        return GraphModule(root, base)


def _getitem() -> Any:
    import operator

    return operator.getitem


def _find(module: Any, path: str) -> Any:
    for part in path.split("."):
        module = getattr(module, part)
    return module
