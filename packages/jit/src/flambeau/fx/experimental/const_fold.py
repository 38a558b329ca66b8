"""What depends on parameters alone, computed once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import nn
from flambeau.fx._symbolic_trace import symbolic_trace
from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node, map_arg

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]


class FoldedGraphModule(GraphModule):
    """A graph module, and a second one that computes attributes of it before the first call.

    Args:
        root: Where modules and attributes of both graphs are.
        graph: The graph that is run in each call.
        const_subgraph: The graph that is run once; None where there is nothing to compute.
        fx_const_folded_attrs_name: The attribute that gets its results.
        device_for_folded_attrs: Where numbers among the results go.
    """

    def __init__(self, root: Any, graph: Graph, const_subgraph: Graph | None = None,
                 fx_const_folded_attrs_name: str | None = None,
                 device_for_folded_attrs: str = "cuda") -> None:
        super().__init__(root, graph)
        self.const_subgraph_module = None if const_subgraph is None else \
            GraphModule(root, const_subgraph)
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self) -> None:
        """Compute the attributes now.

        Raises:
            AssertionError: they were computed before.
        """
        name = self.fx_const_folded_attrs_name
        if self.const_subgraph_module is None or name is None:
            return
        if self.has_folding_been_run:
            raise AssertionError("run_folding() was called before: the attributes are computed")
        self.has_folding_been_run = True
        results = self.const_subgraph_module()
        setattr(self, name, nn.ParameterList([self._parameter(each) for each in results])
                if isinstance(results, tuple) else self._parameter(results))

    def _parameter(self, value: Any) -> nn.Parameter:
        if not isinstance(value, flambeau.Tensor):
            value = flambeau.tensor([float(value)], device=self.device_for_folded_attrs)
        return nn.Parameter(value.detach().clone(), requires_grad=value.requires_grad)


def get_unique_attr_name_in_module(mod_traced: GraphModule, name: str) -> str:
    """A name that no attribute of a module has.

    Args:
        mod_traced: The module.
        name: How it is to be called; a number is added where that is taken.
    """
    name = re.sub("[^0-9a-zA-Z_]+", "_", name)
    if name[0].isdigit():
        name = f"_{name}"
    base, at = name, 0
    if found := re.match(r"(.*)_(\d+)$", name):
        base, at = found[1], int(found[2])
    while hasattr(mod_traced, name):
        at += 1
        name = f"{base}_{at}"
    return name


def split_const_subgraphs(module: nn.Module,
                          skip_folding_node_fn: Callable[[Node], bool] | None = None,
                          device_for_folded_attrs: str = "cpu") -> FoldedGraphModule:
    """Let what depends on parameters and buffers alone be computed once, at the first call.

    Args:
        module: The module.
        skip_folding_node_fn: Says of a node whether it stays where it is.
        device_for_folded_attrs: Where numbers among the results go.

    Returns:
        The module; its ``const_subgraph_module`` is None where everything depends on arguments.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> from flambeau.fx.experimental.const_fold import split_const_subgraphs
        >>> class Scaled(nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.weight = nn.Parameter(flambeau.tensor([1., 2.]))
        ...
        ...     def forward(self, x):
        ...         return x * (self.weight + 1)
        >>> folded = split_const_subgraphs(Scaled())
        >>> [node.op for node in folded.graph.nodes]
        ['placeholder', 'get_attr', 'call_function', 'output']
        >>> folded(flambeau.ones(2)).detach()
        tensor([2., 3.])
    """
    traced = module if isinstance(module, GraphModule) else symbolic_trace(module)
    known = _known(traced, skip_folding_node_fn)
    wanted = [node for node in traced.graph.nodes if node in known and node.op != "get_attr"
              and any(user not in known for user in node.users)]
    if not any(node.op != "get_attr" for node in known):
        return FoldedGraphModule(traced, traced.graph)
    name = get_unique_attr_name_in_module(traced, "_FX_CONST_FOLDED_ATTRS")
    once, always = _once(traced.graph, known, wanted), _always(traced.graph, known, wanted, name)
    root = {str(node.target): _attribute(traced, str(node.target))
            for node in (*once.nodes, *always.nodes)
            if node.op in ("get_attr", "call_module") and node.target != name}
    root[name] = nn.Parameter(flambeau.empty(0)) if len(wanted) == 1 else nn.ParameterList()
    return FoldedGraphModule(root, always, once, name, device_for_folded_attrs)


def _known(traced: GraphModule, skip: Callable[[Node], bool] | None) -> dict[Node, None]:
    """The nodes that depend on attributes alone."""
    known: dict[Node, None] = {}
    for node in traced.graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        if node.op != "get_attr" and not all(each in known for each in node.all_input_nodes):
            continue
        if (skip is not None and skip(node)) or node.is_impure() or _has_effects(traced, node):
            continue
        known[node] = None
    return known


def _has_effects(traced: GraphModule, node: Node) -> bool:
    """Whether a node calls a graph with a node that has effects."""
    below = traced.get_submodule(str(node.target)) if node.op == "call_module" else None
    return isinstance(below, GraphModule) and any(
        (each.op == "call_function" and each.is_impure()) or _has_effects(below, each)
        for each in below.graph.nodes)


def _once(graph: Graph, known: dict[Node, None], wanted: list[Node]) -> Graph:
    made = Graph()
    values: dict[Node, Node] = {}
    for node in known:
        values[node] = made.node_copy(node, lambda n: values[n])
    results = tuple(values[node] for node in wanted)
    made.output(results[0] if len(results) == 1 else results)
    made.eliminate_dead_code()
    return made


def _always(graph: Graph, known: dict[Node, None], wanted: list[Node], name: str) -> Graph:
    import operator

    made = Graph()
    values: dict[Node, Node] = {}
    for node in graph.nodes:
        if node.op == "placeholder":
            values[node] = made.node_copy(node)
    results = made.get_attr(name)
    for at, node in enumerate(wanted):
        one = len(wanted) == 1
        values[node] = results if one else made.call_function(operator.getitem, (results, at))
        values[node].meta = node.meta.copy()
    for node in graph.nodes:
        if node in values or (node in known and node.op != "get_attr"):
            continue
        if node.op == "output":
            made.output(map_arg(node.args[0], lambda n: values[n]), node.type).meta = node.meta
        else:
            values[node] = made.node_copy(node, lambda n: values[n])
    made.eliminate_dead_code()
    return made


def _attribute(module: Any, path: str) -> Any:
    for part in path.split("."):
        module = getattr(module, part)
    return module
