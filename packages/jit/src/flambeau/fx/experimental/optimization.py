"""Networks made ready for inference."""

from __future__ import annotations

import copy
from typing import Any

from flambeau import nn
from flambeau.fx._symbolic_trace import symbolic_trace
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node
from flambeau.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

__all__ = ["extract_subgraph", "fuse", "matches_module_pattern", "remove_dropout",
           "replace_node_module"]

_PATTERNS: tuple[tuple[type, type, Any], ...] = (
    (nn.Conv1d, nn.BatchNorm1d, fuse_conv_bn_eval),
    (nn.Conv2d, nn.BatchNorm2d, fuse_conv_bn_eval),
    (nn.Conv3d, nn.BatchNorm3d, fuse_conv_bn_eval),
    (nn.Linear, nn.BatchNorm1d, fuse_linear_bn_eval),
)


def matches_module_pattern(pattern: Any, node: Node, modules: dict[str, Any]) -> bool:
    """Whether a node and its first argument call modules of two types.

    Args:
        pattern: The types, the argument's first.
        node: The node.
        modules: Path -> module.
    """
    if not node.args or not isinstance(node.args[0], Node):
        return False
    pair = zip(pattern, (node.args[0], node), strict=True)
    return all(each.op == "call_module" and type(modules.get(str(each.target))) is kind
               for kind, each in pair)


def replace_node_module(node: Node, modules: dict[str, Any], new_module: nn.Module) -> None:
    """Put another module where a node's is.

    Args:
        node: The node.
        modules: Path -> module, of the whole network.
        new_module: The other module.
    """
    parent, _, name = str(node.target).rpartition(".")
    modules[str(node.target)] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model: nn.Module, inplace: bool = False, no_trace: bool = False) -> nn.Module:
    """Fold batch normalizations in evaluation mode into the layers before them.

    Args:
        model: The network, in evaluation mode.
        inplace: Change it; otherwise a copy.
        no_trace: It is a `GraphModule` already.

    Returns:
        The network without those normalizations, as a `GraphModule`.

    Example:
        >>> from flambeau import nn
        >>> from flambeau.fx.experimental.optimization import fuse
        >>> small = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU()).eval()
        >>> [type(module).__name__ for module in fuse(small).children()]
        ['Conv2d', 'ReLU']
    """
    model = model if inplace else copy.deepcopy(model)
    if not no_trace or not isinstance(model, GraphModule):
        model = symbolic_trace(model)
    modules = dict(model.named_modules())
    for before, norm, fold in _PATTERNS:
        for node in model.graph.nodes:
            if not matches_module_pattern((before, norm), node, modules):
                continue
            layer, normalization = modules[node.args[0].target], modules[node.target]
            alone = len(node.args[0].users) == 1 and _calls(model, node.args[0].target) == 1
            if not alone or normalization.training or not normalization.track_running_stats:
                continue
            replace_node_module(node.args[0], modules, fold(layer, normalization))
            node.replace_all_uses_with(node.args[0])
            model.graph.erase_node(node)
    model.delete_all_unused_submodules()
    model.graph.lint()
    model.recompile()
    return model


def _calls(model: GraphModule, path: Any) -> int:
    return sum(node.target == path for node in model.graph.nodes if node.op == "call_module")


def remove_dropout(model: nn.Module) -> nn.Module:
    """The network without modules of dropout.

    Args:
        model: The network.
    """
    traced = symbolic_trace(model)
    kinds = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout,
             nn.FeatureAlphaDropout)
    modules = dict(traced.named_modules())
    for node in traced.graph.nodes:
        if node.op == "call_module" and isinstance(modules[node.target], kinds):
            node.replace_all_uses_with(node.args[0])
            traced.graph.erase_node(node)
    traced.delete_all_unused_submodules()
    traced.recompile()
    return traced


def extract_subgraph(orig_module: nn.Module, nodes: list[Node], inputs: list[Node],
                     outputs: list[Node]) -> GraphModule:
    """Some nodes of a graph as a module.

    Args:
        orig_module: Where their modules and attributes are.
        nodes: The nodes, in order.
        inputs: What becomes the parameters.
        outputs: What it returns.
    """
    from flambeau.fx.graph import Graph

    made = Graph()
    values: dict[Node, Node] = {each: made.placeholder(each.name) for each in inputs}
    for node in nodes:
        values[node] = made.node_copy(node, lambda n: values[n])
    made.output([values[each] for each in outputs])
    made.lint()
    return GraphModule(orig_module, made)
