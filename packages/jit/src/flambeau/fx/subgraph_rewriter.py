"""Patterns in graphs, replaced."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from flambeau import nn
from flambeau.fx._symbolic_trace import symbolic_trace
from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node
from flambeau.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]

Filter = Callable[[InternalMatch, Graph, Graph], bool]


class Match(NamedTuple):
    """Where a pattern was found.

    Args:
        anchor: The node of the graph that the pattern's result was.
        nodes_map: Node of the pattern -> node of the graph.
    """

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """Where a pattern was found, and what is there now.

    Args:
        anchor: The node of the graph that the pattern's result was.
        nodes_map: Node of the pattern -> node of the graph.
        replacements: The nodes that were added.
    """

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def replace_pattern(gm: GraphModule, pattern: Callable[..., Any] | GraphModule,
                    replacement: Callable[..., Any] | GraphModule) -> list[Match]:
    """Replace every occurrence of a pattern in a module's graph.

    Args:
        gm: The module; changed in place.
        pattern: A function or module of any values, which is recorded.
        replacement: A function or module of the same parameters, in the same order.

    Returns:
        Where the pattern was.

    Example:
        >>> import flambeau
        >>> from flambeau import fx
        >>> module = fx.symbolic_trace(lambda x: flambeau.relu(x + x))
        >>> found = fx.replace_pattern(module, lambda a: a + a, lambda a: 2 * a)
        >>> print(module.code.strip())
        def forward(self, x):
            mul = 2 * x;  x = None
            relu = flambeau.relu(mul);  mul = None
            return relu
    """
    return [Match(each.anchor, each.nodes_map)
            for each in _replace_pattern(gm, pattern, replacement)]


def replace_pattern_with_filters(
        gm: GraphModule, pattern: Any, replacement: Any = None,
        match_filters: list[Filter] | None = None, ignore_literals: bool = False,
        replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
        node_name_match: str = "") -> list[ReplacedPatterns]:
    """Replace occurrences of a pattern that filters let pass.

    Args:
        gm: The module; changed in place.
        pattern: A function, module or graph.
        replacement: A function, module or graph of the same parameters.
        match_filters: Functions of a match, the graph and the pattern's graph; all must be true.
        ignore_literals: Numbers in the pattern stand for any.
        replacement_callback: Makes a replacement for a match, in place of ``replacement``.
        node_name_match: Part of the names of nodes that match whatever they are.

    Returns:
        Where the pattern was, and what is there now.
    """
    return _replace_pattern(gm, pattern, replacement, match_filters, ignore_literals,
                            replacement_callback, node_name_match)


def _graph_of(thing: Any) -> Graph:
    if isinstance(thing, GraphModule):
        return thing.graph
    return thing if isinstance(thing, Graph) else symbolic_trace(thing).graph


def _replace_pattern(
        gm: GraphModule, pattern: Any, replacement: Any = None,
        match_filters: list[Filter] | None = None, ignore_literals: bool = False,
        replacement_callback: Any = None, node_name_match: str = "") -> list[ReplacedPatterns]:
    wanted = _graph_of(pattern)
    graph = gm.graph
    matcher = SubgraphMatcher(wanted, ignore_literals=ignore_literals)
    matches = [match for match in matcher.match(graph, node_name_match)
               if all(passes(match, graph, wanted) for passes in match_filters or ())]
    if replacement_callback is None:
        if replacement is None:
            raise AssertionError("replace_pattern_with_filters() needs a replacement or a "
                                 "replacement_callback")
        common = _graph_of(replacement)
    changed: dict[Node, Node] = {}
    done = []
    for match in matches:
        if replacement_callback is not None:
            common = _graph_of(replacement_callback(match, graph, wanted))
        done.append(_replace_one(gm, wanted, common, match, changed))
    gm.recompile()
    if isinstance(replacement, nn.Module):
        _take_attributes(gm, replacement)
    return done


def _parameters(replacement: Graph) -> list[Node]:
    return [node for node in replacement.nodes if node.op == "placeholder"]


def _replace_one(gm: GraphModule, pattern: Graph, replacement: Graph, match: InternalMatch,
                 changed: dict[Node, Node]) -> ReplacedPatterns:
    graph = gm.graph
    parameters = _parameters(replacement)
    if len(parameters) != len(match.placeholder_nodes):
        raise AssertionError(f"the replacement has {len(parameters)} parameters, the pattern "
                             f"{len(match.placeholder_nodes)} that are used: they correspond in "
                             "order")
    values: dict[Node, Any] = {}
    for wanted, node in match.nodes_map.items():
        if wanted.op == "placeholder" and isinstance(node, Node):
            match.nodes_map[wanted] = changed.get(node, node)
    for parameter, node in zip(parameters, match.placeholder_nodes, strict=True):
        values[parameter] = changed.get(node, node) if isinstance(node, Node) else node
    before = set(graph.nodes)
    with _where(graph, match, values):
        copied = graph.graph_copy(replacement, values)
    returned = list(copied) if isinstance(copied, list | tuple) else [copied]
    if len(returned) != len(match.returning_nodes):
        raise AssertionError(f"the replacement returns {len(returned)} values, the pattern "
                             f"{len(match.returning_nodes)}")
    for old, new in zip(match.returning_nodes, returned, strict=True):
        old.replace_all_uses_with(new)
        changed[old] = new
    for node in reversed(pattern.nodes):
        if node.op not in ("placeholder", "output"):
            graph.erase_node(match.nodes_map[node])
    added = [node for node in graph.nodes if node not in before]
    return ReplacedPatterns(match.anchors[0], match.nodes_map, added)


def _where(graph: Graph, match: InternalMatch, values: dict[Node, Any]) -> Any:
    """Before the first use of a result, else behind all that was matched."""
    inside = set(match.nodes_map.values())
    users = [user for node in match.returning_nodes for user in node.users if user not in inside]
    inputs = [each for each in values.values() if isinstance(each, Node)]
    if users:
        first = min(users)
        late = [each for each in inputs if each > first]
        return graph.inserting_after(max(late)) if late else graph.inserting_before(first)
    matched = [node for node in inside if isinstance(node, Node)]
    return graph.inserting_after(max([*matched, *inputs]))


def _take_attributes(gm: GraphModule, replacement: nn.Module) -> None:
    """Give the module what nodes of the replacement name, and drop what nothing names now."""
    gm.delete_all_unused_submodules()
    if isinstance(replacement, GraphModule):
        replacement.graph.lint()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        path = str(node.target)
        if _find(gm, path) is not None:
            continue
        found = _find(replacement, path)
        if found is None:
            raise RuntimeError(f"Attempted to create a {node.op} node during subgraph rewriting "
                               f"with target {path}, but the referenced attribute does not exist "
                               "in the replacement GraphModule")
        *way, field = path.split(".")
        if isinstance(found, nn.Module):
            gm.add_submodule(path, copy.deepcopy(found))
        else:
            at: Any = gm
            for part in way:
                if getattr(at, part, None) is None:
                    at.add_module(part, nn.Module())
                at = getattr(at, part)
            setattr(at, field, found)
    gm.graph.lint()


def _find(module: Any, path: str) -> Any:
    for part in path.split("."):
        module = getattr(module, part, None)
    return module
