"""Parts of graphs as modules of their own, and graphs compared."""

from __future__ import annotations

from typing import Any

from flambeau import nn
from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.passes.utils.matcher_utils import SubgraphMatcher

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]


class HolderModule(nn.Module):
    """A module that only holds others.

    Args:
        d: Name -> module.
    """

    def __init__(self, d: dict[str, Any]) -> None:
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


def lift_subgraph_as_module(gm: GraphModule, subgraph: Graph, comp_name: str = "",
                            class_name: str = "GraphModule") -> tuple[GraphModule, dict[str, str]]:
    """A graph made of nodes of another one, as a module.

    Args:
        gm: The module of the other graph.
        subgraph: The graph; its targets become the module's own.
        comp_name: The name that the part has in ``gm``, for the map.
        class_name: The name of the module's class.

    Returns:
        The module, and a map from its paths to those in ``gm``.
    """
    root: dict[str, Any] = {}
    paths: dict[str, str] = {}
    for node in subgraph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        at: Any = gm
        for part in str(node.target).split("."):
            at = getattr(at, part)
        root[str(node.target)] = at
        paths[f"{comp_name}.{node.target}".lstrip(".")] = str(node.target)
    return GraphModule(root, subgraph, class_name), paths


def compare_graphs(left: Graph, right: Graph) -> bool:
    """Whether two graphs compute the same, node by node.

    Args:
        left: One of them.
        right: The other one.
    """
    matches = SubgraphMatcher(left, match_output=True, match_placeholder=True).match(right)
    return len(matches) > 0
