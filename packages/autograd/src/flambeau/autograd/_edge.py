"""An edge of the graph: a node and one of its outputs."""
from __future__ import annotations

from typing import Any, NamedTuple


class GradientEdge(NamedTuple):
    """Where the gradient of a tensor arrives; ``autograd.grad`` and ``backward`` take it in place
    of the tensor, so that the tensor's memory need not be kept."""

    node: Any
    output_nr: int
    ownership_token: Any = None
