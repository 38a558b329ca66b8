"""Shapes and dtypes of a graph's values, found without computing them."""

from __future__ import annotations

import copy
from typing import Any

import flambeau
from flambeau.core.pytree import tree_map
from flambeau.fx.interpreter import Interpreter
from flambeau.fx.node import Node
from flambeau.fx.passes.shape_prop import _extract_tensor_metadata

__all__ = ["FakeTensorProp"]


class FakeTensorProp(Interpreter):
    """Notes ``val`` in the ``meta`` of nodes: tensors on the device ``meta``.

    Args:
        module: The module; a copy of it without elements is run.
        mode: Has no effect.

    Example:
        >>> import flambeau
        >>> from flambeau import fx
        >>> from flambeau.fx.passes.fake_tensor_prop import FakeTensorProp
        >>> module = fx.symbolic_trace(lambda x: x.sum(0))
        >>> _ = FakeTensorProp(module).propagate(flambeau.ones(2, 3))
        >>> [tuple(node.meta["val"].shape) for node in module.graph.nodes]
        [(2, 3), (3,), (3,)]
    """

    def __init__(self, module: Any, mode: Any = None) -> None:
        super().__init__(copy.deepcopy(module).to("meta"))
        self._mode = mode
        self._own = dict(zip(self.module.graph.nodes, module.graph.nodes, strict=True))

    def run_node(self, n: Node) -> Any:
        """The value of a node, which is noted.

        Args:
            n: The node.
        """
        result = super().run_node(n)
        node = self._own[n]
        node.meta["val"] = result
        if isinstance(result, flambeau.Tensor):
            node.meta["tensor_meta"] = _extract_tensor_metadata(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph for tensors like these.

        Args:
            args: Its arguments.

        Returns:
            What its result is like.
        """
        return super().run(*tree_map(_without_elements, args))

    propagate_dont_convert_inputs = propagate


def _without_elements(x: Any) -> Any:
    return x.to("meta") if isinstance(x, flambeau.Tensor) else x
