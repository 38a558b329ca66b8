"""A pass: what it is called with, what it gives."""

from __future__ import annotations

import abc
from typing import NamedTuple

from flambeau.fx.graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """What a pass gives.

    Args:
        graph_module: The module.
        modified: Whether it was changed.
    """

    graph_module: GraphModule
    modified: bool


class PassBase(abc.ABC):
    """A pass as a class: ``call`` changes a module, ``requires`` and ``ensures`` check it."""

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        """Run the pass, with its checks."""
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """Change the module.

        Args:
            graph_module: The module.
        """

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027 - may be left out
        """Check the module before the pass.

        Args:
            graph_module: The module.
        """

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027 - may be left out
        """Check the module behind the pass.

        Args:
            graph_module: The module.
        """
