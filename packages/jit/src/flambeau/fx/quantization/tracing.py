"""Traces of networks that are quantized: layers stay whole, sums that are modules do not."""

from __future__ import annotations

from typing import Any

from flambeau import nn
from flambeau.ao.nn import intrinsic, quantized
from flambeau.core.homes import own_module
from flambeau.fx._symbolic_trace import Tracer
from flambeau.fx.graph_module import GraphModule
from flambeau.nn.utils.parametrize import type_before_parametrizations

_LAYERS = ("flambeau.nn", "flambeau.ao.nn")


class QuantizationTracer(Tracer):
    """Records layers as nodes; modules and classes that are named too.

    Args:
        skipped_module_names: Paths of modules that are not looked into.
        skipped_module_classes: Their classes.
    """

    def __init__(self, skipped_module_names: list[str],
                 skipped_module_classes: list[type]) -> None:
        super().__init__()
        self.skipped_module_names = list(skipped_module_names)
        self.skipped_module_classes = list(skipped_module_classes)

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Whether a module stays whole."""
        if isinstance(m, quantized.FXFloatFunctional):
            return False
        home = own_module(type_before_parametrizations(m))
        own = home.startswith(_LAYERS) and not isinstance(m, nn.Sequential)
        return (own or isinstance(m, intrinsic._FusedModule)
                or module_qualified_name in self.skipped_module_names
                or type(m) in self.skipped_module_classes)


def traced(model: nn.Module, names: list[str], classes: list[type]) -> GraphModule:
    """The graph of a network, whose nodes know the module that they were called in.

    Args:
        model: The network; its `FloatFunctional` become nodes of sums.
        names: Paths of modules that are not looked into.
        classes: Their classes.
    """
    if isinstance(model, GraphModule):
        for node in model.graph.nodes:
            node.meta.setdefault("scope", str(node.target) if node.op == "call_module" else "")
        return model
    _show_sums(model)
    tracer = QuantizationTracer(names, classes)
    graph = tracer.trace(model)
    for node in graph.nodes:
        path, _ = tracer.node_name_to_scope.get(node.name, ("", None))
        node.meta["scope"] = path
    made = GraphModule(model, graph, type(model).__name__)
    made.training = model.training
    return made


def _show_sums(model: nn.Module) -> None:
    for name, child in list(model.named_children()):
        if type(child) is quantized.FloatFunctional:
            setattr(model, name, quantized.FXFloatFunctional())
        else:
            _show_sums(child)


def preserved(source: Any, made: Any, names: list[str]) -> None:
    """Give a graph module attributes of the module that it was made from.

    Args:
        source: That module.
        made: The graph module.
        names: Of the attributes.
    """
    for name in names:
        if hasattr(source, name):
            setattr(made, name, getattr(source, name))
