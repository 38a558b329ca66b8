"""From observers to a graph of floats between ``quantize`` and ``dequantize``."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor, nn
from flambeau.ao.nn import intrinsic, qat, quantizable, quantized
from flambeau.ao.quantization import quantization_mappings, utils
from flambeau.ao.quantization.quantize import watched_weights
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node, map_arg
from flambeau.fx.quantization.nodes import assign, fresh, is_dequantize, is_observer, module_of
from flambeau.fx.quantization.observing import run_on_weight
from flambeau.nn.utils.parametrize import type_before_parametrizations

_reference = quantized.reference
_GIVES_SEVERAL = (quantizable.LSTM, quantizable.MultiheadAttention)


class Referring:
    """Rewrites a graph with observers, in place.

    Args:
        model: The graph.
        facts: What preparation left.
        custom: Watched layer -> its replacement.
    """

    def __init__(self, model: GraphModule, facts: dict[str, Any], custom: dict[Any, Any]) -> None:
        self.model, self.facts, self.custom = model, facts, custom
        self.scales: dict[int, tuple[str, str]] = {}

    def run(self) -> None:
        """Rewrite it."""
        self._custom_layers()
        for path, way in self.facts["layers"].items():
            if way != "custom":
                assign(self.model, path, self._layer(self.model.get_submodule(path), way))
        for node in list(self.model.graph.nodes):
            if is_observer(self.model, node):
                self._observer(node)
        self._ends()
        self.model.recompile()

    # ---- layers ----------------------------------------------------------------------------------
    def _layer(self, module: nn.Module, way: str) -> nn.Module:
        """The layer that knows the integers of its weight, of a float one."""
        facts = None
        if hasattr(module, "weight_fake_quant"):
            qconfig, watched = module.qconfig, module.weight_fake_quant
            module = self._float_of(module)
            module.qconfig, facts = qconfig, utils.get_qparam_dict(watched)
        inner: Any = module[0] if isinstance(module, intrinsic._FusedModule) else module
        kind = quantization_mappings.DEFAULT_REFERENCE_STATIC_QUANT_MODULE_MAPPINGS.get(
            type_before_parametrizations(inner))
        if kind is None or not getattr(kind, "_IS_REFERENCE", False):
            return module
        inner.qconfig = module.qconfig
        made = kind.from_float(inner, facts or watched_weights(inner))
        made.qconfig = module.qconfig
        if inner is module:
            return self._marked(made, way)
        module[0] = made
        return self._marked(module, way)

    @staticmethod
    def _marked(made: Any, way: str) -> Any:
        made._quantized_by = way
        return made

    @staticmethod
    def _float_of(module: Any) -> Any:
        """The float layer of one that was trained with rounding, with its final weight watched."""
        if isinstance(module, qat.Embedding | qat.EmbeddingBag):
            kind = module._FLOAT_MODULE
            made = kind.__new__(kind)
            made.__dict__ = dict(module.__dict__)
            made._modules = {key: each for key, each in module._modules.items()
                             if key != "weight_fake_quant"}
            return made
        made = module.to_float()
        inner = made[0] if isinstance(made, nn.Sequential) else made
        module.weight_fake_quant(inner.weight)
        return made

    def _custom_layers(self) -> None:
        """Watched layers that programs replace: they take integers and give them."""
        for node in list(self.model.graph.nodes):
            module = module_of(self.model, node)
            if type(module) not in self.custom:
                continue
            watcher = next((user for user in node.users if is_observer(self.model, user)), None)
            if watcher is not None:
                module.activation_post_process = module_of(self.model, watcher)
                watcher.replace_all_uses_with(node)
                self.model.graph.erase_node(watcher)
            assign(self.model, str(node.target), self.custom[type(module)].from_observed(module))
            node.meta["takes_integers"] = True

    # ---- observers -------------------------------------------------------------------------------
    def _observer(self, node: Node) -> None:
        module = module_of(self.model, node)
        source: Any = node.args[0]
        if isinstance(source, Node) and source.op == "get_attr":
            run_on_weight(self.model, node)
        dtype = module.dtype
        dynamic = getattr(module, "is_dynamic", False)
        is_weight = isinstance(source, Node) and source.op == "get_attr"
        if dtype is flambeau.float16 and not dynamic or dtype is flambeau.float16 and is_weight:
            made = self._half(node, source)
        elif dtype.name.startswith("q") and dynamic:
            made = self._integers(node, flambeau.quantize_per_tensor_dynamic,
                                  (source, dtype, bool(getattr(module, "reduce_range", False))))
        elif dtype.name.startswith("q"):
            made = self._static(node, source, module)
        else:
            made = source
        node.replace_all_uses_with(made, lambda user: user is not made)
        self.model.graph.erase_node(node)

    def _half(self, node: Node, source: Any) -> Node:
        with self.model.graph.inserting_before(node):
            half = self.model.graph.call_method("to", (source, flambeau.float16))
            return self.model.graph.call_method("dequantize", (half,))

    def _integers(self, node: Node, function: Any, args: tuple[Any, ...]) -> Node:
        graph = self.model.graph
        with graph.inserting_before(node):
            made = graph.call_function(function, args)
            made.meta["scope"] = node.meta.get("scope", "")
            return graph.call_method("dequantize", (made,))

    def _static(self, node: Node, source: Any, module: Any) -> Node:
        scale, zero = module.calculate_qparams()
        facts = utils.get_qparam_dict(module)
        by_channel = "axis" in facts
        names = self._names(node, scale if by_channel else scale.reshape(-1)[0],
                            zero if by_channel else zero.reshape(-1)[0])
        graph = self.model.graph
        with graph.inserting_before(node):
            known = [graph.get_attr(name) for name in names]
        if by_channel:
            return self._integers(node, flambeau.quantize_per_channel,
                                  (source, *known, facts["axis"], module.dtype))
        made = self._integers(node, flambeau.quantize_per_tensor, (source, *known, module.dtype))
        quantize: Any = made.args[0]
        quantize.meta["observer"] = id(module)
        return made

    def _names(self, node: Node, scale: Tensor, zero: Tensor) -> tuple[str, str]:
        path = node.meta.get("scope", "").replace(".", "_")
        prefix = f"{path}{'_input' if node.meta.get('is_input') else ''}"
        names = (fresh(self.model, f"{prefix}_scale_"), fresh(self.model, f"{prefix}_zero_point_"))
        for name, value in zip(names, (scale, zero), strict=True):
            self.model.register_buffer(name, value.detach().clone())
        return names

    # ---- ends of the graph -----------------------------------------------------------------------
    def _ends(self) -> None:
        """Inputs and outputs that are integers; layers that take and give them."""
        graph = self.model.graph
        placeholders = [n for n in graph.nodes if n.op == "placeholder"]
        given = [n for at, n in enumerate(placeholders) if at in self.facts["inputs"]]
        for node in graph.nodes:
            path = str(node.target)
            inputs, outputs = self.facts["standalone"].get(path, ([], [])) \
                if node.op == "call_module" else ([], [])
            takes = node.meta.get("takes_integers")
            if takes or inputs:
                node.args = map_arg(node.args, _integers_of)
            if takes or outputs:
                given.append(node)
        for node in given:
            users = [user for user in node.users if not user.meta.get("takes_integers")
                     and not is_dequantize(user)]
            several = isinstance(module_of(self.model, node), _GIVES_SEVERAL)
            with graph.inserting_after(node):
                made = graph.call_function(flambeau.dequantize, (node,)) if several else \
                    graph.call_method("dequantize", (node,))
            node.replace_all_uses_with(made, lambda user, users=users: user in users)
        output = next(n for n in graph.nodes if n.op == "output")
        result = output.args[0]
        if self.facts["outputs"]:
            results = list(result) if isinstance(result, list | tuple) else [result]
            for at in self.facts["outputs"]:
                results[at] = _integers_of(results[at])
            output.args = (type(result)(results) if isinstance(result, list | tuple)
                           else results[0],)


def _integers_of(node: Any) -> Any:
    return node.args[0] if is_dequantize(node) else node
