"""Operators of integers for functions of floats."""

from __future__ import annotations

from typing import Any

import flambeau
import flambeau.ao.quantization.backend_config.kinds as kinds
from flambeau.ao.operators.quantized import OPERATORS
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node
from flambeau.fx.quantization.kinds import is_in
from flambeau.fx.quantization.nodes import (
    attribute,
    fresh,
    is_call,
    is_dequantize,
)
from flambeau.nn import functional as F

#: Arguments of convolutions behind weight and bias, and their defaults.
_WINDOW = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}
_TRANSPOSED = {"stride": 1, "padding": 0, "output_padding": 0, "groups": 1, "dilation": 1}


class Functions:
    """Makes nodes of operators of integers in a graph.

    Args:
        model: The graph.
    """

    def __init__(self, model: GraphModule) -> None:
        self.model = model

    def call(self, before: Node, function: Any, args: tuple[Any, ...],
             kwargs: dict[str, Any] | None = None) -> Node:
        """A call in front of a node."""
        with self.model.graph.inserting_before(before):
            return self.model.graph.call_function(function, args, kwargs or {})

    def static(self, node: Node, kind: Any, relu: bool, scale: Any, zero: Any,
               before: Node) -> Node | None:
        """The operator whose result has a scale; None where there is none.

        Args:
            node: The call of floats.
            kind: What it calls.
            relu: Whether a ReLU follows.
            scale: The node of the scale.
            zero: The node of the zero point.
            before: In front of it the call is made.
        """
        ops, end = flambeau.ops.quantized, "_relu" if relu else ""
        if is_in(kinds.WEIGHTED_FUNCTIONS, kind):
            x, packed = self._packed(node, kind)
            if packed is None or not is_dequantize(x) or not _is_static(x):
                return None
            name = kind.__name__ + end
            if name not in OPERATORS:
                return None
            return self.call(before, getattr(ops, name), (x.args[0], packed, scale, zero))
        if is_in(kinds.BINARY, kind):
            if len(node.args) != 2 or node.kwargs or not all(
                    is_dequantize(a) and _is_static(a) for a in node.args):
                return None
            name = ("add" if kind in kinds.SUMS else "mul" if kind in kinds.PRODUCTS
                    else "matmul") + end
            return self.call(before, getattr(ops, name),
                             (*(a.args[0] for a in node.args), scale, zero))
        return self._activation(node, kind, scale, zero, before)

    def _activation(self, node: Node, kind: Any, scale: Any, zero: Any,
                    before: Node) -> Node | None:
        form = next((form for function, form in _FORMS.items() if function is kind), None)
        x: Any = node.args[0] if node.args else None
        if form is None or not is_dequantize(x) or not _is_static(x):
            return None
        names, template, name = form
        given = dict(zip(names, node.args[1:], strict=False)) | dict(node.kwargs)
        args = tuple(scale if each == "scale" else zero if each == "zero"
                     else given.get(each[0], each[1]) for each in template)
        return self.call(before, getattr(flambeau.ops.quantized, name), (x.args[0], *args))

    def dynamic(self, node: Node, kind: Any, last: Node) -> Node | None:
        """The operator on floats that are rounded as they come; None where there is none."""
        if kind is not F.linear:
            return None
        ops, end = flambeau.ops.quantized, "_relu" if last is not node else ""
        weight = self._weight(node)
        if weight is None:
            return None
        x = node.args[0] if node.args else node.kwargs["input"]
        is_half = _is_half(weight)
        if is_half and is_dequantize(x):
            return None
        rounded = is_dequantize(x) and is_call(x.args[0], flambeau.quantize_per_tensor_dynamic)
        if not is_half and not rounded:
            return None
        x, packed = self._packed(node, kind)
        if packed is None:
            return None
        if is_half:
            return self.call(last, getattr(ops, f"linear{end}_dynamic_fp16"), (x, packed))
        call: Any = x.args[0]
        return self.call(last, getattr(ops, f"linear{end}_dynamic"), (call.args[0], packed,
                                                                      call.args[2]))

    # ---- packed weights --------------------------------------------------------------------------
    @staticmethod
    def _weight(node: Node) -> Any:
        return node.args[1] if len(node.args) > 1 else node.kwargs.get("weight")

    def _packed(self, node: Node, kind: Any) -> tuple[Any, Node | None]:
        """The input, and a node that reads the packed weight; None where it is not constant."""
        names = ["input", "weight", "bias"]
        convolution = kind is not F.linear
        defaults = (_TRANSPOSED if "transpose" in kind.__name__ else _WINDOW) if convolution else {}
        given = dict(zip([*names, *defaults], node.args, strict=False)) | dict(node.kwargs)
        weight = self._value(given["weight"])
        bias = self._value(given.get("bias"))
        if weight is None or not (weight.is_quantized or weight.dtype is flambeau.float16) or (
                bias is None and given.get("bias") is not None):
            return given["input"], None
        window = {name: given.get(name, default) for name, default in defaults.items()}
        if any(isinstance(value, Node) for value in window.values()):
            return given["input"], None
        packed = self._pack(kind, weight, bias, window)
        path = node.meta.get("scope", "").replace(".", "_")
        name = fresh(self.model, f"{path}_packed_weight_")
        setattr(self.model, name, packed)
        with self.model.graph.inserting_before(node):
            return given["input"], self.model.graph.get_attr(name)

    @staticmethod
    def _pack(kind: Any, weight: Any, bias: Any, window: dict[str, Any]) -> Any:
        ops = flambeau.ops.quantized
        bias = None if bias is None else bias.detach()
        if not window:
            half = weight.dtype is flambeau.float16
            return (ops.linear_prepack_fp16 if half else ops.linear_prepack)(weight, bias)
        prepack = getattr(ops, f"{kind.__name__}_prepack")
        return prepack(weight, bias, **window)

    def _value(self, node: Any) -> Any:
        """What a constant is: a parameter, or the integers that it is rounded to."""
        if not isinstance(node, Node):
            return None
        if node.op == "get_attr":
            return attribute(self.model, str(node.target))
        if not is_dequantize(node):
            return None
        made: Any = node.args[0]
        source = self._value(made.args[0]) if isinstance(made, Node) and made.args else None
        if source is None:
            return None
        if made.op == "call_method" and made.target == "to":
            return source.detach().half()
        if is_call(made, flambeau.quantize_per_tensor, flambeau.quantize_per_channel):
            rest = [attribute(self.model, str(a.target)) if isinstance(a, Node) else a
                    for a in made.args[1:]]
            return made.target(source.detach(), *rest)
        return None


def _is_static(node: Node) -> bool:
    return not is_call(node.args[0], flambeau.quantize_per_tensor_dynamic) and not _is_half(node)


def _is_half(node: Any) -> bool:
    made = node.args[0] if is_dequantize(node) else None
    return isinstance(made, Node) and made.op == "call_method" and made.target == "to"


#: Function of floats -> its parameters behind the input, the arguments of the operator behind the
#: input with their defaults, and the operator's name.
_FORMS: dict[Any, tuple[tuple[str, ...], tuple[Any, ...], str]] = {
    F.hardswish: (("inplace",), ("scale", "zero"), "hardswish"),
    F.elu: (("alpha", "inplace"), ("scale", "zero", ("alpha", 1.0)), "elu"),
    F.leaky_relu: (("negative_slope", "inplace"),
                   (("negative_slope", 0.01), ("inplace", False), "scale", "zero"), "leaky_relu"),
    F.layer_norm: (("normalized_shape", "weight", "bias", "eps"),
                   (("normalized_shape", None), ("weight", None), ("bias", None), ("eps", 1e-5),
                    "scale", "zero"), "layer_norm"),
    F.group_norm: (("num_groups", "weight", "bias", "eps"),
                   (("num_groups", None), ("weight", None), ("bias", None), ("eps", 1e-5),
                    "scale", "zero"), "group_norm"),
    F.instance_norm: (("running_mean", "running_var", "weight", "bias", "use_input_stats",
                       "momentum", "eps"),
                      (("weight", None), ("bias", None), ("eps", 1e-5), "scale", "zero"),
                      "instance_norm")}
