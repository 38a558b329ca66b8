"""What passes share."""

from flambeau.fx.passes.utils.common import compare_graphs, lift_subgraph_as_module

__all__ = ["compare_graphs", "lift_subgraph_as_module"]
