"""The passes, in the order they run. Each takes a graph and gives a valid one;
all but the first take pure ones.

``writes``            what is written into new memory becomes a new tensor
``constants``         what depends on nothing is computed now
``algebra``           what changes no bit is taken out
``common``            equal computations become one
``dead_code``         what no result needs goes
``fusion``            neighbouring pointwise nodes become one loop

Frozen programs, whose weights are constants, have more before ``dead_code``, and one before all:

``unfusion``          nodes of such loops stand by themselves again
``affine``            batch norms become a factor and a summand
``into_weights``      which go into the weights before them, as other constants do
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from flambeau.jit.grammar import Infer, check
from flambeau.jit.ir import Graph, Node
from flambeau.jit.passes.algebra import algebra
from flambeau.jit.passes.batch_norms import affine, into_weights
from flambeau.jit.passes.common import common
from flambeau.jit.passes.constants import constants
from flambeau.jit.passes.dead_code import dead_code
from flambeau.jit.passes.fusion import fusion, unfusion
from flambeau.jit.passes.writes import writes

Pass = Callable[[Graph], Graph]

PASSES: tuple[Pass, ...] = (constants, algebra, common, dead_code, fusion)
#: A branch or loop holds no tensors of its own: constants in it are computed where they are.
IN_REGIONS = PASSES[1:]


def optimized(graph: Graph, is_region: bool = False) -> Graph:
    """A recorded graph after all passes; one that writes to what others see stays as it is."""
    graph = writes(graph)
    graph = replace(graph, nodes=[_with_regions(node) for node in graph.nodes])
    if graph.is_pure():
        return run_passes(graph, IN_REGIONS if is_region else PASSES, is_region=is_region)
    check(graph, is_region=is_region)
    return graph


def frozen(graph: Graph, optimize_numerics: bool = True) -> Graph:
    """A pure graph with constant weights after all passes.

    Args:
        graph: the graph.
        optimize_numerics: whether batch norms and constants go into weights, which changes
            roundings.
    """
    more = (into_weights,) if optimize_numerics else ()
    return run_passes(graph, (unfusion, constants, algebra, common, affine, *more, dead_code,
                              fusion))


def _with_regions(node: Node) -> Node:
    if not node.regions:
        return node
    return replace(node, regions=tuple(optimized(each, is_region=True) for each in node.regions))


def run_passes(
    graph: Graph, passes: Sequence[Pass] = PASSES, infer: Infer | None = None,
    is_region: bool = False,
) -> Graph:
    """Run passes in order and check the grammar before the first and after each.

    Args:
        graph: the graph; it is not changed.
        passes: which passes.
        infer: what ``grammar.check`` asks for types.
        is_region: whether it is the graph of a branch or loop.

    Returns:
        The graph after the last pass.

    Raises:
        GraphError: the graph, or what a pass made of it, breaks a rule; the message names the pass.
    """
    check(graph, infer, is_region)
    for step in passes:
        graph = step(graph)
        try:
            check(graph, infer, is_region)
        except Exception as error:
            error.add_note(f"after the pass {step.__name__!r}")
            raise
    return graph


__all__ = [
    "IN_REGIONS", "PASSES", "Pass", "affine", "algebra", "common", "constants", "dead_code",
    "frozen", "fusion", "into_weights", "optimized", "run_passes", "unfusion", "writes",
]
