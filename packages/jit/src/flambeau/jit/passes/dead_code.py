"""Drop nodes that no result needs."""

from __future__ import annotations

from dataclasses import replace

from flambeau.jit.ir import Graph
from flambeau.jit.opset import is_needed


def dead_code(graph: Graph) -> Graph:
    """Keep what outputs and writes need, and every node that draws random numbers or may raise.

    A random node stays even when unused: it moves the generator on, so dropping it would change
    what the later ones draw.
    """
    needed = set(graph.results())
    kept = []
    for node in reversed(graph.nodes):
        if needed.isdisjoint(node.outputs) and not is_needed(node.op):
            continue
        needed.update(node.inputs)
        kept.append(node)
    needed.update(target for target, _ in graph.writes)
    captures = [capture for capture in graph.captures if capture.value in needed]
    return replace(graph, nodes=kept[::-1], captures=captures)
