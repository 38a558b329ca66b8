"""What nodes of a graph compute."""

from __future__ import annotations

from typing import Any

from flambeau import nn
from flambeau.ao.nn import intrinsic
from flambeau.fx.node import Node
from flambeau.fx.quantization.nodes import module_of
from flambeau.nn.utils.parametrize import type_before_parametrizations


def kind_of(root: nn.Module, node: Node) -> Any:
    """What a node computes: the class of its layer, a function, or a method's name."""
    if node.op == "call_module":
        return type_before_parametrizations(module_of(root, node))
    return node.target if node.op in ("call_function", "call_method") else None


def configured_kind(root: nn.Module, node: Node) -> Any:
    """The kind under which a configuration is looked up: of fused layers the first one's."""
    module = module_of(root, node)
    return type_before_parametrizations(module[0]) if isinstance(
        module, intrinsic._FusedModule) else kind_of(root, node)


def is_in(kinds: Any, kind: Any) -> bool:
    """Whether a kind, which may have no hash, is in a set."""
    try:
        return kind in kinds
    except TypeError:
        return False
