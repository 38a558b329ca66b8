"""Questions about nodes of a graph, and names for new attributes."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import nn
from flambeau.ao.quantization import FakeQuantizeBase, ObserverBase
from flambeau.fx.node import Node

#: Methods and attributes that give sizes, dtypes and the like, and not tensors.
QUESTIONS = frozenset(("size", "dim", "numel", "nelement", "stride", "element_size", "item",
                       "is_contiguous", "type", "get_device"))
ATTRIBUTES = frozenset(("shape", "ndim", "dtype", "device", "layout", "requires_grad"))


def module_of(root: nn.Module, node: Any) -> Any:
    """The module that a node calls; None for other nodes."""
    if isinstance(node, Node) and node.op == "call_module":
        return root.get_submodule(str(node.target))
    return None


def is_observer(root: nn.Module, node: Any) -> bool:
    """Whether a node calls an observer or a fake quantization."""
    return isinstance(module_of(root, node), ObserverBase | FakeQuantizeBase)


def is_dequantize(node: Any) -> bool:
    """Whether a node gives the floats that integers stand for."""
    return isinstance(node, Node) and node.op == "call_method" and node.target == "dequantize"


def is_call(node: Any, *functions: Any) -> bool:
    """Whether a node calls one of some functions."""
    return isinstance(node, Node) and node.op == "call_function" and any(
        node.target is function for function in functions)


def is_quantize(node: Any) -> bool:
    """Whether a node quantizes with one scale that is known."""
    return is_call(node, flambeau.quantize_per_tensor)


def is_attribute_call(node: Node) -> bool:
    """Whether a node reads an attribute such as ``x.shape``."""
    return is_call(node, getattr) and node.args[1] in ATTRIBUTES


def gives_no_tensor(node: Any, known: set[Node]) -> bool:
    """Whether a node gives a number, a size or the like.

    Args:
        node: A node, or a constant.
        known: Nodes before it that do.
    """
    if not isinstance(node, Node):
        return not isinstance(node, flambeau.Tensor)
    if node.op == "call_method" and node.target in QUESTIONS or is_attribute_call(node):
        return True
    inputs = node.all_input_nodes
    return node.op in ("call_function", "call_method") and bool(inputs) and all(
        each in known for each in inputs)


def only_user(node: Node) -> Node | None:
    """The node that uses another's result, where it is the only one."""
    return next(iter(node.users)) if len(node.users) == 1 else None


def attribute(root: nn.Module, path: str) -> Any:
    """The value at a dotted path."""
    value: Any = root
    for part in path.split("."):
        value = getattr(value, part)
    return value


def assign(root: nn.Module, path: str, value: Any) -> None:
    """Put a module at a dotted path."""
    parent, _, name = path.rpartition(".")
    setattr(root.get_submodule(parent), name, value)


def fresh(root: nn.Module, prefix: str) -> str:
    """The first name ``prefix0``, ``prefix1`` ... that a module has not."""
    at = 0
    while hasattr(root, f"{prefix}{at}"):
        at += 1
    return f"{prefix}{at}"
