"""Where a small graph occurs in a large one."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from flambeau.fx.graph import Graph
from flambeau.fx.node import Node
from flambeau.fx.passes.tools_common import validate_partition

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """One occurrence.

    Args:
        anchors: The nodes of the graph where the search began: what the pattern returns.
        nodes_map: Node of the pattern -> node of the graph.
        placeholder_nodes: What stands for the pattern's parameters, in their order.
        returning_nodes: What stands for what the pattern returns.
        name_node_map: Name in the pattern -> node of the graph, where the pattern gives names.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Node] = field(default_factory=dict)
    placeholder_nodes: list[Node] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(list(self.anchors), dict(self.nodes_map),
                             list(self.placeholder_nodes), list(self.returning_nodes),
                             dict(self.name_node_map))


class SubgraphMatcher:
    """Finds a pattern in graphs.

    Args:
        pattern: The graph that is looked for.
        match_output: The pattern's output is the graph's.
        match_placeholder: The pattern's parameters are the graph's; otherwise any values.
        remove_overlapping_matches: Of occurrences that share nodes keep the first.
        ignore_literals: Numbers and strings in the pattern stand for any.
    """

    def __init__(self, pattern: Graph, match_output: bool = False, match_placeholder: bool = False,
                 remove_overlapping_matches: bool = True, ignore_literals: bool = False) -> None:
        self.pattern = pattern
        self.match_output = match_output
        self.match_placeholder = match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op != "output" and not node.is_impure() and not node.users:
                raise AssertionError("SubgraphMatcher cannot be initialized with an pattern with "
                                     f"dead code: {node}")
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        output = next(iter(reversed(pattern.nodes)))
        self.pattern_returning_nodes: list[Node] = output.all_input_nodes
        if match_output:
            self.pattern_anchors = [output]
        else:
            self.pattern_anchors = [n for n in output.all_input_nodes if len(n.users) == 1]

    # ---- two nodes -------------------------------------------------------------------------------

    def _nodes_are_equal(self, pn: Node, gn: Node, node_name_match: str = "") -> bool:
        if node_name_match and node_name_match in gn.name:
            return True
        if not self.match_placeholder and pn.op == "placeholder":
            return True
        if pn.op != gn.op:
            return False
        if pn.op in ("placeholder", "output"):
            return True
        if pn.op == "get_attr":
            return self._match_attributes(pn, gn)
        if pn.op == "call_module":
            return self._match_modules(pn, gn)
        return bool(pn.target == gn.target)

    @staticmethod
    def _attribute(node: Node) -> Any:
        at: Any = node.graph.owning_module
        for part in str(node.target).split("."):
            at = getattr(at, part, None)
        return at

    def _match_attributes(self, pn: Node, gn: Node) -> bool:
        left, right = self._attribute(pn), self._attribute(gn)
        if pn.graph.owning_module is None or gn.graph.owning_module is None:
            return bool(pn.target == gn.target)
        return type(left) is type(right) and (hasattr(left, "dtype") or left is right
                                              or isinstance(left, int | float))

    def _match_modules(self, pn: Node, gn: Node) -> bool:
        if pn.graph.owning_module is None or gn.graph.owning_module is None:
            return bool(pn.target == gn.target)
        return type(self._attribute(pn)) is type(self._attribute(gn))

    def _match_literals(self, pn: Any, gn: Any, match: InternalMatch) -> bool:
        if isinstance(pn, Node) and isinstance(gn, Node):
            raise AssertionError("pn and gn cannot both be Node")
        if isinstance(pn, Node):
            if pn.op != "placeholder":
                return False
            if pn in match.nodes_map:
                return bool(match.nodes_map[pn] == gn)
            match.nodes_map[pn] = gn
            return True
        if isinstance(gn, Node):
            return False
        return type(pn) is type(gn) and bool(pn == gn)

    def _match_nodes(self, pn: Node, gn: Node, match: InternalMatch) -> bool:
        if pn in match.nodes_map:
            return match.nodes_map[pn] is gn
        if any(each is gn for each in match.nodes_map.values()):
            return False
        if not self._nodes_are_equal(pn, gn):
            return False
        saved = copy.copy(match)
        match.nodes_map[pn] = gn
        if pn.op == "placeholder":
            return True
        if self._match_all_arguments(pn, gn, match):
            return True
        match.nodes_map, match.placeholder_nodes = saved.nodes_map, saved.placeholder_nodes
        return False

    def _match_all_arguments(self, pn: Node, gn: Node, match: InternalMatch) -> bool:
        left, right = _by_name(pn, gn)
        return self._match_args(left, right, match)

    def _match_args(self, left: Any, right: Any, match: InternalMatch) -> bool:
        if isinstance(left, dict):
            return isinstance(right, dict) and left.keys() == right.keys() and all(
                self._match_args(left[key], right[key], match) for key in left)
        if isinstance(left, list | tuple):
            return isinstance(right, list | tuple) and len(left) == len(right) and all(
                self._match_args(a, b, match) for a, b in zip(left, right, strict=True))
        if isinstance(left, slice):
            return isinstance(right, slice) and self._match_args(
                (left.start, left.stop, left.step), (right.start, right.stop, right.step), match)
        if isinstance(left, Node) and isinstance(right, Node):
            return self._match_nodes(left, right, match)
        return self.ignore_literals and not isinstance(left, Node) \
            and not isinstance(right, Node) or self._match_literals(left, right, match)

    # ---- the search ------------------------------------------------------------------------------

    def _is_contained(self, nodes_map: dict[Node, Node]) -> bool:
        """Whether nothing outside uses what only the pattern sees."""
        inside = {gn: pn for pn, gn in nodes_map.items()
                  if pn.op != "placeholder" and isinstance(gn, Node)}
        for gn, pn in inside.items():
            if pn in self.pattern_returning_nodes or pn.op == "output":
                continue
            if any(user not in inside for user in gn.users):
                return False
        return True

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The occurrences in a graph, in the order of its nodes.

        Args:
            graph: The graph.
            node_name_match: Part of the names of nodes that match whatever they are.
        """
        candidates = [(anchor, [node for node in graph.nodes
                                if self._nodes_are_equal(anchor, node, node_name_match)])
                      for anchor in self.pattern_anchors]
        found: list[InternalMatch] = []

        def search(at: int, match: InternalMatch) -> None:
            if at == len(candidates):
                match.placeholder_nodes = [match.nodes_map[pn] for pn
                                           in self.pattern_placeholder_nodes
                                           if pn in match.nodes_map]
                match.returning_nodes = [match.nodes_map[pn] for pn
                                         in self.pattern_returning_nodes]
                found.append(match)
                return
            anchor, nodes = candidates[at]
            for node in nodes:
                tried = copy.copy(match)
                if self._match_nodes(anchor, node, tried):
                    search(at + 1, tried)

        search(0, InternalMatch(anchors=self.pattern_anchors))
        kept = [each for each in found if self._is_contained(each.nodes_map)
                and validate_partition(_inner(each))]
        return _apart(kept) if self.remove_overlapping_matches else kept


def _inner(match: InternalMatch) -> set[Node]:
    """The nodes of a match that compute something."""
    return {gn for pn, gn in match.nodes_map.items()
            if pn.op not in ("placeholder", "output") and isinstance(gn, Node)}


def _apart(matches: Iterable[InternalMatch]) -> list[InternalMatch]:
    """Matches that share no nodes with earlier ones."""
    taken: set[Node] = set()
    kept = []
    for match in matches:
        inner = _inner(match)
        if inner & taken:
            continue
        taken |= inner
        kept.append(match)
    return kept


def _by_name(pn: Node, gn: Node) -> tuple[Any, Any]:
    """The arguments of two nodes; by name where they are written differently."""
    same = len(pn.args) == len(gn.args) and pn.kwargs.keys() == gn.kwargs.keys()
    if same or pn.op != "call_function" or not callable(pn.target):
        return (pn.args, pn.kwargs), (gn.args, gn.kwargs)
    from flambeau.fx._forms import signature_of

    try:
        signature = signature_of(pn.target)
        left = signature.bind(*pn.args, **pn.kwargs)
        right = signature.bind(*gn.args, **gn.kwargs)
    except (TypeError, ValueError):
        return (pn.args, pn.kwargs), (gn.args, gn.kwargs)
    left.apply_defaults()
    right.apply_defaults()
    return dict(left.arguments), dict(right.arguments)
