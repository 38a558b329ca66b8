"""From a graph of floats between ``quantize`` and ``dequantize`` to one of integers.

A call is replaced where its inputs are dequantized and its result is quantized at once; the table
says by what. What is not in it stays: the graph computes the same.
"""

from __future__ import annotations

import operator
from typing import Any

import flambeau
import flambeau.ao.quantization.backend_config.kinds as kinds
from flambeau.core.quantized.calls import is_computed
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node
from flambeau.fx.quantization.functions import Functions
from flambeau.fx.quantization.kinds import is_in, kind_of
from flambeau.fx.quantization.layers import lowered_layer
from flambeau.fx.quantization.nodes import (
    ATTRIBUTES,
    QUESTIONS,
    assign,
    attribute,
    is_call,
    is_dequantize,
    is_quantize,
    module_of,
    only_user,
)


class Lowering:
    """Rewrites a reference graph, in place.

    Args:
        model: The graph.
        facts: What preparation left.
    """

    def __init__(self, model: GraphModule, facts: dict[str, Any]) -> None:
        self.model, self.facts = model, facts
        self.functions = Functions(model)
        self.originals: dict[str, Any] = {}
        self.removed: set[Node] = set()

    def run(self) -> None:
        """Rewrite it."""
        self._ask_integers()
        for node in list(self.model.graph.nodes):
            if node not in self.removed and node.meta.get("quantized"):
                self._lower(node)
        self._clean()
        self.model.recompile()

    def _ask_integers(self) -> None:
        """Sizes and the like are those of integers, too."""
        for node in self.model.graph.nodes:
            asks = node.op == "call_method" and node.target in QUESTIONS or (
                is_call(node, getattr) and node.args[1] in ATTRIBUTES)
            if asks and is_dequantize(node.args[0]) and node.target not in ("item", "type"):
                node.update_arg(0, node.args[0].args[0])

    def _lower(self, node: Node) -> None:
        kind = kind_of(self.model, node)
        if node.op == "call_module" and self._layer(node):
            return
        last = self._with_relu(node, kind)
        quantize = only_user(last)
        if is_quantize(quantize) and quantize is not None and quantize.args[0] is last:
            self._static(node, kind, last, quantize)
        else:
            made = self.functions.dynamic(node, kind, last)
            if made is not None:
                self._replace(last, made, [node, last])

    def _with_relu(self, node: Node, kind: Any) -> Node:
        """The ReLU behind a call that is computed with it, else the call."""
        after = only_user(node)
        joins = is_in(kinds.SUMS | kinds.PRODUCTS, kind) or is_in(kinds.WEIGHTED_FUNCTIONS, kind) \
            and "transpose" not in kind.__name__
        if joins and after is not None and after.args[:1] == (node,) \
                and is_in(kinds.RELUS, kind_of(self.model, after)):
            return after
        return node

    def _static(self, node: Node, kind: Any, last: Node, quantize: Node) -> None:
        scale, zero = quantize.args[1], quantize.args[2]
        if is_in(kinds.SHARED, kind) or self._is_with_number(node, kind):
            self._shared(node, kind, last, quantize)
        elif is_in(kinds.FIXED, kind):
            self._fixed(node, kind, quantize)
        else:
            made = self.functions.static(node, kind, last is not node, scale, zero, quantize)
            if made is not None:
                self._replace(quantize, made, [node, last, quantize])

    # ---- calls -----------------------------------------------------------------------------------
    def _is_with_number(self, node: Node, kind: Any) -> bool:
        return is_in(kinds.SUMS | kinds.PRODUCTS, kind) and len(node.args) > 1 \
            and sum(map(is_dequantize, node.args[:2])) == 1 and self._number(node) is not None

    def _number(self, node: Node) -> Any:
        other = node.args[1] if is_dequantize(node.args[0]) else node.args[0]
        if isinstance(other, int | float):
            return other
        is_size = isinstance(other, Node) and (
            other.op == "call_method" and other.target in QUESTIONS
            or is_call(other, getattr) or self._is_part_of_size(other))
        return other if is_size else None

    def _is_part_of_size(self, node: Node) -> bool:
        source = node.args[0] if is_call(node, operator.getitem) else None
        return isinstance(source, Node) and (
            source.op == "call_method" and source.target in QUESTIONS
            or is_call(source, getattr) or self._is_part_of_size(source))

    def _shared(self, node: Node, kind: Any, last: Node, quantize: Node) -> None:
        """A call whose result has the scale of its input: on the integers themselves."""
        if is_in(kinds.SUMS | kinds.PRODUCTS, kind):
            number, ops = self._number(node), flambeau.ops.quantized
            x = next(a for a in node.args[:2] if is_dequantize(a))
            name = ("add" if is_in(kinds.SUMS, kind) else "mul") + ("_relu" if last is not node
                                                                    else "")
            made = self.functions.call(quantize, getattr(ops, name), (x.args[0], number))
            self._replace(quantize, made, [node, last, quantize])
            return
        given = [n for n in node.all_input_nodes if is_dequantize(n)]
        if not given or not self._takes_integers(node, kind) \
                or not all(self._same_scale(n.args[0], quantize) for n in given[:1]):
            return
        for each in given:
            node.replace_input_with(each, each.args[0])
        self._replace(quantize, node, [quantize])

    def _takes_integers(self, node: Node, kind: Any) -> bool:
        module = module_of(self.model, node)
        return module is not None or is_computed(getattr(kind, "__name__", str(kind)))

    def _same_scale(self, source: Any, quantize: Node) -> bool:
        """Whether integers have the scale that a result would be quantized with."""
        mine = quantize.meta.get("observer")
        return source.meta.get("observer") == mine or source.meta.get("observer") is None

    def _fixed(self, node: Node, kind: Any, quantize: Node) -> None:
        """A call whose result lies between known ends: operators of integers know its scale."""
        source: Any = node.args[0] if node.args else None
        if not is_dequantize(source) or kind_name(kind) not in _BOUNDED:
            return
        scale, zero = (float(attribute(self.model, str(a.target))) for a in quantize.args[1:3])
        if (scale, zero) != _BOUNDED[kind_name(kind)] or quantize.args[3] is not flambeau.quint8:
            return
        node.update_arg(0, source.args[0])
        self._replace(quantize, node, [quantize])

    # ---- layers ----------------------------------------------------------------------------------
    def _layer(self, node: Node) -> bool:
        """Replace a layer; whether there is one of integers for it."""
        path = str(node.target)
        module = self.originals.get(path, module_of(self.model, node))
        if not isinstance(module, flambeau.nn.Module):
            return False
        quantize = only_user(node)
        source: Any = node.args[0] if node.args else None
        scale = None
        if is_quantize(quantize) and quantize is not None:
            scale = tuple(attribute(self.model, str(a.target)) for a in quantize.args[1:3])
        rounded = is_dequantize(source) and is_call(source.args[0],
                                                    flambeau.quantize_per_tensor_dynamic)
        way = "dynamic" if rounded else "static" if is_dequantize(source) else "floats"
        made = lowered_layer(module, way, scale)
        if made is None:
            return False
        self.originals.setdefault(path, module)
        if path in self.originals and module_of(self.model, node) is not module:
            path = self._another(path)     # the layer is called with other scales, too
            node.target = path
        assign(self.model, path, made)
        if way == "static":
            node.update_arg(0, source.args[0])
            self._replace(quantize, node, [quantize])
        elif way == "dynamic":
            node.update_arg(0, source.args[0].args[0])
        return True

    def _another(self, path: str) -> str:
        at = 1
        while hasattr(self.model, f"{path.replace('.', '_')}_{at}"):
            at += 1
        return f"{path.replace('.', '_')}_{at}"

    # ---- nodes -----------------------------------------------------------------------------------
    def _replace(self, old: Any, made: Node, gone: list[Any]) -> None:
        """Let users of a result use another node, and erase what nobody uses any more."""
        old.replace_all_uses_with(made, lambda user: user is not made)
        made.meta["observer"] = old.meta.get("observer")
        for node in reversed(list(dict.fromkeys(gone))):
            if node is not made and not node.users:
                self.model.graph.erase_node(node)
                self.removed.add(node)

    def _clean(self) -> None:
        """Erase what is not needed: dequantized integers, scales, quantized floats of integers."""
        graph = self.model.graph
        for node in reversed(list(graph.nodes)):
            unused = is_dequantize(node) or node.op == "get_attr" or is_quantize(node) or is_call(
                node, flambeau.quantize_per_tensor_dynamic, flambeau.quantize_per_channel)
            half = node.op == "call_method" and node.target == "to"
            if (unused or half) and not node.users:
                graph.erase_node(node)


def kind_name(kind: Any) -> str:
    """The name of a kind, the same for layers, functions and methods."""
    return getattr(kind, "__name__", str(kind)).lower().rstrip("_")


_BOUNDED: dict[str, tuple[float, float]] = {
    "sigmoid": (1 / 256, 0), "hardsigmoid": (1 / 256, 0), "tanh": (2 / 256, 128)}
