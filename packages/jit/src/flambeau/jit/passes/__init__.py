"""The passes, in the order they run. Each takes a graph and gives a valid one;
all but the first take pure ones.

``writes``            what is written into new memory becomes a new tensor
``constants``         what depends on nothing is computed now
``algebra``           what changes no bit is taken out
``common``            equal computations become one
``dead_code``         what no result needs goes
``fusion``            neighbouring pointwise nodes become one loop

Frozen programs, whose weights are constants, have two more before these:

``affine``            batch norms become a factor and a summand
``into_weights``      which go into the weights before them
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.jit.grammar import Infer, check
from flambeau.jit.ir import Graph
from flambeau.jit.passes.algebra import algebra
from flambeau.jit.passes.batch_norms import affine, into_weights
from flambeau.jit.passes.common import common
from flambeau.jit.passes.constants import constants
from flambeau.jit.passes.dead_code import dead_code
from flambeau.jit.passes.fusion import fusion
from flambeau.jit.passes.writes import writes

Pass = Callable[[Graph], Graph]

PASSES: tuple[Pass, ...] = (constants, algebra, common, dead_code, fusion)


def optimized(graph: Graph) -> Graph:
    """A recorded graph after all passes; one that writes to what others see stays as it is."""
    graph = writes(graph)
    if graph.is_pure():
        return run_passes(graph)
    check(graph)
    return graph


def frozen(graph: Graph, optimize_numerics: bool = True) -> Graph:
    """A pure graph with constant weights after all passes.

    Args:
        graph: the graph.
        optimize_numerics: whether batch norms go into weights, which changes roundings.
    """
    more = (into_weights,) if optimize_numerics else ()
    return run_passes(graph, (constants, algebra, common, affine, *more, dead_code, fusion))


def run_passes(
    graph: Graph, passes: Sequence[Pass] = PASSES, infer: Infer | None = None
) -> Graph:
    """Run passes in order and check the grammar before the first and after each.

    Args:
        graph: the graph; it is not changed.
        passes: which passes.
        infer: what ``grammar.check`` asks for types.

    Returns:
        The graph after the last pass.

    Raises:
        GraphError: the graph, or what a pass made of it, breaks a rule; the message names the pass.
    """
    check(graph, infer)
    for step in passes:
        graph = step(graph)
        try:
            check(graph, infer)
        except Exception as error:
            error.add_note(f"after the pass {step.__name__!r}")
            raise
    return graph


__all__ = [
    "PASSES", "Pass", "affine", "algebra", "common", "constants", "dead_code", "frozen", "fusion",
    "into_weights", "optimized", "run_passes", "writes",
]
