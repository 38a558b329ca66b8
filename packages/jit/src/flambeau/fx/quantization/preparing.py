"""From a network to a graph with observers behind what will be integers."""

from __future__ import annotations

from typing import Any

from flambeau import nn
from flambeau.ao.quantization import QConfigMapping, quantization_mappings
from flambeau.ao.quantization.fx.custom_config import FuseCustomConfig, PrepareCustomConfig
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.quantization.configuring import as_mapping, configurations
from flambeau.fx.quantization.fusing import fuse
from flambeau.fx.quantization.nodes import assign, module_of
from flambeau.fx.quantization.observing import Observing
from flambeau.fx.quantization.tracing import preserved, traced

__all__ = ["fuse_fx", "prepare_fx", "prepare_qat_fx"]


def fuse_fx(model: nn.Module, fuse_custom_config: Any = None,
            backend_config: Any = None) -> GraphModule:
    """Fuse layers that follow each other in a network in eval mode.

    Args:
        model: The network.
        fuse_custom_config: A `FuseCustomConfig`, or a dict with ``preserved_attributes``.
        backend_config: Which patterns are fused; None: convolutions and linear layers with batch
            norms and ReLUs.

    Returns:
        The graph module.
    """
    config = FuseCustomConfig.of(fuse_custom_config)
    made = traced(model, [], [])
    fuse(made, False, None if backend_config is None else backend_config.fusers())
    made = GraphModule(made, made.graph, type(model).__name__)
    preserved(model, made, config.preserved_attributes)
    return made


def prepare_fx(model: nn.Module, qconfig_mapping: Any, example_inputs: Any = None,
               prepare_custom_config: Any = None, _equalization_config: Any = None,
               backend_config: Any = None) -> GraphModule:
    """A graph of a network in eval mode with observers, to be run on data before `convert_fx`.

    Args:
        model: The network.
        qconfig_mapping: A `QConfigMapping`, or the dict that makes one.
        example_inputs: Accepted for compatibility.
        prepare_custom_config: A `PrepareCustomConfig`, or a dict.
        backend_config: What is quantized, and in which dtypes; None: what this library computes.

    Returns:
        The graph module.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> from flambeau.ao import quantization as q
        >>> from flambeau.ao.quantization import quantize_fx
        >>> network = nn.Sequential(nn.Linear(4, 3), nn.ReLU()).eval()
        >>> ready = quantize_fx.prepare_fx(network, q.get_default_qconfig_mapping("x86"), None)
        >>> _ = ready(flambeau.rand(100, 4))
        >>> type(getattr(quantize_fx.convert_fx(ready), "0")).__name__
        'LinearReLU'
    """
    return _prepared(model, qconfig_mapping, False, prepare_custom_config, _equalization_config,
                     backend_config)


def prepare_qat_fx(model: nn.Module, qconfig_mapping: Any, example_inputs: Any = None,
                   prepare_custom_config: Any = None, backend_config: Any = None) -> GraphModule:
    """A graph of a network in training mode that rounds weights and results, to be trained.

    Args:
        model: The network.
        qconfig_mapping: A `QConfigMapping`, or the dict that makes one.
        example_inputs: Accepted for compatibility.
        prepare_custom_config: A `PrepareCustomConfig`, or a dict.
        backend_config: What is quantized, and in which dtypes; None: what this library computes.

    Returns:
        The graph module.
    """
    return _prepared(model, qconfig_mapping, True, prepare_custom_config, None, backend_config)


def _prepared(model: nn.Module, given: Any, is_qat: bool, custom: Any, equalization: Any,
              backend: Any) -> GraphModule:
    if equalization is not None:
        raise NotImplementedError("prepare_fx(_equalization_config=...): weights and inputs are "
                                  "not equalized: leave it out")
    config, mapping = PrepareCustomConfig.of(custom), as_mapping(given)
    standalone = {**config.standalone_module_names, **config.standalone_module_classes}
    names = [*config.non_traceable_module_names,
             *(name for name in standalone if isinstance(name, str))]
    classes = [*config.non_traceable_module_classes, *config.classes,
               *(kind for kind in standalone if not isinstance(kind, str))]
    made = traced(model, names, classes)
    fuse(made, is_qat, None if backend is None else backend.fusers())
    qconfigs = configurations(made, mapping)
    if is_qat:
        _swap_for_training(made)
    _swap_custom(made, config.classes)
    observing = Observing(made, qconfigs, config, backend)
    _prepare_standalone(made, standalone, is_qat, mapping, observing)
    observing.run()
    result = GraphModule(made, made.graph, "GraphModule")
    result.training = model.training
    result.meta["quantization"] = observing.facts()
    result.meta["quantization"]["qconfig_mapping"] = mapping
    preserved(model, result, config.preserved_attributes)
    return result


def _swap_for_training(made: GraphModule) -> None:
    """Layers with rounded weights instead of float ones that have a configuration."""
    mapping = {**quantization_mappings.get_default_qat_module_mappings(),
               **quantization_mappings.get_embedding_qat_module_mappings()}
    swapped: set[str] = set()
    for node in made.graph.nodes:
        module, path = module_of(made, node), str(node.target)
        if path in swapped or module is None or getattr(module, "qconfig", None) is None:
            continue
        if type(module) in mapping and _rounds_weight(module):
            assign(made, path, mapping[type(module)].from_float(module))
            swapped.add(path)


def _rounds_weight(module: Any) -> bool:
    """Whether a configuration fits a layer that is trained with a rounded weight."""
    weight = module.qconfig.weight
    is_table = isinstance(module, nn.Embedding | nn.EmbeddingBag)
    scheme = getattr(weight(), "qscheme", None)
    by_row = str(scheme).endswith("float_qparams")
    return by_row if is_table else scheme is not None and not by_row


def _swap_custom(made: GraphModule, mapping: dict[Any, Any]) -> None:
    for node in made.graph.nodes:
        module = module_of(made, node)
        if type(module) in mapping and getattr(module, "qconfig", None) is not None:
            qconfig = module.qconfig
            for part in module.modules():
                part.qconfig = getattr(part, "qconfig", qconfig)
            observed = mapping[type(module)].from_float(module)
            observed.qconfig = qconfig
            assign(made, str(node.target), observed)


def _prepare_standalone(made: GraphModule, standalone: dict[Any, Any], is_qat: bool,
                        mapping: QConfigMapping, observing: Observing) -> None:
    """Graphs of modules that are prepared for themselves."""
    for node in made.graph.nodes:
        module = module_of(made, node)
        entry = standalone.get(str(node.target), standalone.get(type(module)))
        if module is None or entry is None:
            continue
        inner = entry.qconfig_mapping or QConfigMapping().set_global(
            getattr(module, "qconfig", None))
        prepare = prepare_qat_fx if is_qat else prepare_fx
        custom = PrepareCustomConfig.of(entry.prepare_custom_config)
        prepared = prepare(module, inner, entry.example_inputs, custom)
        assign(made, str(node.target), prepared)
        observing.standalone[str(node.target)] = (custom.input_quantized_indexes,
                                                  custom.output_quantized_indexes)
