"""Which nodes a backend can run."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Any

from flambeau.fx.node import Node

__all__ = ["OperatorSupport", "OperatorSupportBase", "any_chain", "chain", "create_op_support"]


class OperatorSupportBase(abc.ABC):
    """Says of a node whether a backend can run it."""

    @abc.abstractmethod
    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        """Whether the backend can run a node.

        Args:
            submodules: Path -> module.
            node: The node.
        """


class OperatorSupport(OperatorSupportBase):
    """A table of what a backend can run.

    Args:
        support_dict: Name of a function, method or module's class -> dtypes, or None for any.
    """

    _support_dict: Mapping[str, Any] = {}

    def __init__(self, support_dict: Mapping[str, Any] | None = None) -> None:
        self._support_dict = support_dict or self._support_dict

    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        """Whether the table has a node.

        Args:
            submodules: Path -> module.
            node: The node.
        """
        if node.op not in ("call_function", "call_module", "call_method"):
            return True
        return get_node_target(submodules, node) in self._support_dict


class _Asks(OperatorSupportBase):
    def __init__(self, ask: Callable[[Mapping[str, Any], Node], bool]) -> None:
        self.ask = ask

    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        return self.ask(submodules, node)


def create_op_support(is_node_supported: Callable[[Mapping[str, Any], Node], bool]
                      ) -> OperatorSupportBase:
    """An object that asks a function.

    Args:
        is_node_supported: The function, of path -> module and the node.
    """
    return _Asks(is_node_supported)


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """What all of several can run.

    Args:
        op_support: The several.
    """
    return _Asks(lambda submodules, node: all(
        each.is_node_supported(submodules, node) for each in op_support))


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """What any of several can run.

    Args:
        op_support: The several.
    """
    return _Asks(lambda submodules, node: any(
        each.is_node_supported(submodules, node) for each in op_support))


def get_node_target(submodules: Mapping[str, Any], node: Node) -> str:
    """The name of a node's function, method or module's class.

    Args:
        submodules: Path -> module.
        node: The node.
    """
    from flambeau.fx import _names

    if node.op == "call_module":
        kind = type(submodules[str(node.target)])
        return _names.type_name(kind)
    if node.op == "call_function":
        target: Any = node.target
        name = _names.qualified_name(target)
        return f"_operator.{target.__name__}" if target.__module__ == "_operator" else name
    return str(node.target)
