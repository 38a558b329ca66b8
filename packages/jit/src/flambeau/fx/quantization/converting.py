"""From a graph with observers to one of integers."""

from __future__ import annotations

from typing import Any

from flambeau import nn
from flambeau.ao.quantization.fx.custom_config import ConvertCustomConfig
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.quantization.lowering import Lowering
from flambeau.fx.quantization.modules import QuantizedGraphModule
from flambeau.fx.quantization.nodes import assign, module_of
from flambeau.fx.quantization.referring import Referring
from flambeau.fx.quantization.tracing import preserved

__all__ = ["convert_fx", "convert_to_reference_fx"]


def convert_fx(graph_module: GraphModule, convert_custom_config: Any = None,
               _remove_qconfig: bool = True, qconfig_mapping: Any = None,
               backend_config: Any = None) -> GraphModule:
    """A network of integers, made from a prepared one that has seen data.

    Args:
        graph_module: What `prepare_fx` or `prepare_qat_fx` gave.
        convert_custom_config: A `ConvertCustomConfig`, or a dict.
        qconfig_mapping: Accepted for compatibility: that of preparation holds.
        backend_config: Accepted for compatibility: that of preparation holds.

    Returns:
        The graph module; what has no form in integers computes with floats.
    """
    return _converted(graph_module, convert_custom_config, _remove_qconfig, True)


def convert_to_reference_fx(graph_module: GraphModule, convert_custom_config: Any = None,
                            _remove_qconfig: bool = True, qconfig_mapping: Any = None,
                            backend_config: Any = None) -> GraphModule:
    """A network of floats between ``quantize`` and ``dequantize``, for other runtimes.

    Args:
        as in `convert_fx`.
    """
    return _converted(graph_module, convert_custom_config, _remove_qconfig, False)


def _converted(graph_module: GraphModule, custom: Any, remove: bool, lower: bool) -> GraphModule:
    facts = graph_module.meta.get("quantization")
    if facts is None:
        raise ValueError("convert_fx(): this graph was not prepared: write "
                         "prepare_fx(network, qconfig_mapping, example_inputs) first")
    config = ConvertCustomConfig.of(custom)
    for path in facts["standalone"]:
        part: Any = graph_module.get_submodule(path)
        inner = _converted(part, None, remove, lower)
        assign(graph_module, path, inner)
    Referring(graph_module, facts, config.classes).run()
    if lower:
        Lowering(graph_module, facts).run()
    made = QuantizedGraphModule(graph_module, graph_module.graph, "GraphModule")
    made.training = False
    preserved(graph_module, made, config.preserved_attributes)
    if remove:
        for module in made.modules():
            if "qconfig" in module.__dict__:
                del module.qconfig
    return made.eval() if not _is_trained(made) else made


def _is_trained(made: nn.Module) -> bool:
    return any(module_of(made, node) is not None and module_of(made, node).training
               for node in made.graph.nodes)
