"""Observers behind the inputs and results of what will be integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
import flambeau.ao.quantization.backend_config.kinds as kinds
from flambeau import nn
from flambeau.ao.nn import quantizable
from flambeau.ao.quantization import ReuseInputObserver, utils
from flambeau.ao.quantization.fx.custom_config import PrepareCustomConfig
from flambeau.ao.quantization.qconfig_mapping import is_fixed
from flambeau.ao.quantization.utils import activation_dtype
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node
from flambeau.fx.quantization.kinds import is_in, kind_of
from flambeau.fx.quantization.masks import no_floats
from flambeau.fx.quantization.nodes import (
    attribute,
    fresh,
    gives_no_tensor,
    is_observer,
    module_of,
    only_user,
)

_INTEGERS = (flambeau.quint8, flambeau.qint8, flambeau.qint32)
#: What gives several tensors at once, which no observer takes.
_SEVERAL: set[Any] = {
    quantizable.LSTM, quantizable.MultiheadAttention, nn.MultiheadAttention, flambeau.chunk,
    flambeau.split, flambeau.unbind, flambeau.topk, flambeau.sort, "chunk", "split", "unbind",
    "topk", "sort"}


class Observing:
    """Puts observers into a graph.

    Args:
        model: The graph, which changes.
        qconfigs: The configuration of each node.
        config: Which inputs and outputs of the graph are integers.
        backend: What is quantized in which dtypes, or None.
    """

    def __init__(self, model: GraphModule, qconfigs: dict[Node, Any], config: PrepareCustomConfig,
                 backend: Any) -> None:
        self.model, self.qconfigs, self.config = model, qconfigs, config
        self.backend = backend
        self.standalone: dict[str, tuple[list[int], list[int]]] = {}
        self.custom = set(config.classes.values())
        self.no_tensor: set[Node] = set()
        self.quantized_inputs: set[Node] = set()
        #: Path of a layer -> ``"static"``, ``"dynamic"``, ``"weight"``, ``"custom"``.
        self.layers: dict[str, str] = {}
        self.with_relu: set[Node] = set()
        self.several: set[Node] = set()

    def facts(self) -> dict[str, Any]:
        """What conversion needs to know."""
        return {"layers": dict(self.layers), "standalone": dict(self.standalone),
                "inputs": list(self.config.input_quantized_indexes),
                "outputs": list(self.config.output_quantized_indexes)}

    def run(self) -> None:
        """Insert all observers."""
        self.no_tensor |= no_floats(self.model)
        placeholders = [n for n in self.model.graph.nodes if n.op == "placeholder"]
        self.quantized_inputs = {node for at, node in enumerate(placeholders)
                                 if at in self.config.input_quantized_indexes}
        for node in list(self.model.graph.nodes):
            if node not in self.qconfigs:
                continue
            if node in self.no_tensor or gives_no_tensor(node, self.no_tensor):
                self.no_tensor.add(node)
                continue
            self._visit(node)
        self._observe_outputs()
        self.model.recompile()

    # ---- one node --------------------------------------------------------------------------------
    def _visit(self, node: Node) -> None:
        kind, qconfig = kind_of(self.model, node), self.qconfigs[node]
        path = str(node.target)
        if path in self.standalone and node.op == "call_module":
            self._standalone(node, *self.standalone[path], qconfig)
        elif qconfig is None or node in self.with_relu:
            return
        elif is_in(self.custom, kind):
            self.layers[path] = "custom"
            self._inputs(node, qconfig)
            if not is_in(_SEVERAL, kind):
                self._watch(node, qconfig.activation)
        elif self._fits(kind, qconfig):
            self._quantize(node, kind, qconfig)
        if is_in(_SEVERAL, kind) or is_in(kinds.STEPS, kind):
            self.several.add(node)

    def _fits(self, kind: Any, qconfig: Any) -> bool:
        return self.backend is None or self.backend.takes(kind, qconfig)

    def _quantize(self, node: Node, kind: Any, qconfig: Any) -> None:
        node.meta["quantized"] = True
        if is_in(kinds.TABLES, kind):
            if utils.weight_dtype(qconfig) in (flambeau.quint8, flambeau.quint4x2):
                self.layers[str(node.target)] = "weight"
        elif utils.activation_is_dynamically_quantized(qconfig):
            if is_in(kinds.LINEAR, kind) or is_in(kinds.STEPS, kind):
                self._dynamic(node, kind, qconfig)
        elif utils.activation_dtype(qconfig) in _INTEGERS or is_in(kinds.SHARED, kind):
            if is_in(kinds.OWN, kind) or is_in(kinds.FIXED, kind) and is_fixed(
                    qconfig.activation()):
                self._static(node, kind, qconfig)
            elif is_in(kinds.SHARED, kind):
                self._shared(node, qconfig)

    def _static(self, node: Node, kind: Any, qconfig: Any) -> None:
        if is_in(kinds.WEIGHTED, kind) or is_in(kinds.WEIGHTED_FUNCTIONS, kind):
            if utils.weight_dtype(qconfig) is not flambeau.qint8:
                return
        if is_in(kinds.BINARY, kind):
            numbers = [a for a in node.args[:2] if self._is_tensor(a)]
            if not numbers:
                return
        if node.op == "call_module":
            self.layers[str(node.target)] = "static"
        self._inputs(node, qconfig)
        if is_in(kinds.WEIGHTED_FUNCTIONS, kind):
            self._weight(node, kind, qconfig)
        self._watch(self._last_of(node, kind), qconfig.activation, node)

    def _is_tensor(self, arg: Any) -> bool:
        return isinstance(arg, Node) and arg not in self.no_tensor

    def _last_of(self, node: Node, kind: Any) -> Node:
        """The ReLU behind a function that computes both as one, else the node."""
        after = only_user(node)
        joins = is_in(kinds.SUMS | kinds.PRODUCTS, kind) or is_in(kinds.WEIGHTED_FUNCTIONS, kind) \
            and "transpose" not in kind.__name__
        if joins and after is not None and after.args[:1] == (node,) \
                and is_in(kinds.RELUS, kind_of(self.model, after)) \
                and self.qconfigs.get(after) is not None:
            self.with_relu.add(after)
            return after
        return node

    def _dynamic(self, node: Node, kind: Any, qconfig: Any) -> None:
        if node.op == "call_module":
            self.layers[str(node.target)] = "dynamic"
        if not is_in(kinds.STEPS, kind):
            self._inputs(node, qconfig)
        if is_in(kinds.WEIGHTED_FUNCTIONS, kind):
            self._weight(node, kind, qconfig)

    def _shared(self, node: Node, qconfig: Any) -> None:
        if not issubclass(getattr(qconfig.activation, "func", qconfig.activation),
                          ReuseInputObserver):
            self._inputs(node, qconfig)
        given = [n for n in node.all_input_nodes if is_observer(self.model, n)]
        quantized = [n for n in node.all_input_nodes if n in self.quantized_inputs]
        if not given:
            if quantized and activation_dtype(qconfig) in _INTEGERS:
                self._watch(node, qconfig.activation)
            return
        self._as_one(given)
        self._insert(node, self._module(given[0]), node)

    def _as_one(self, observers: list[Node]) -> None:
        """Let several observers be the first of them, wherever they are called."""
        first = self._module(observers[0])
        others = {id(self._module(each)) for each in observers} - {id(first)}
        for each in self.model.graph.nodes:
            module = module_of(self.model, each)
            if module is not None and id(module) in others:
                setattr(self.model, str(each.target), first)

    def _module(self, node: Node) -> Any:
        return module_of(self.model, node)

    def _standalone(self, node: Node, inputs: list[int], outputs: list[int],
                    qconfig: Any) -> None:
        if inputs and qconfig is not None:
            self._inputs(node, qconfig)
        if outputs:
            self.quantized_inputs.add(node)

    # ---- observers -------------------------------------------------------------------------------
    def _inputs(self, node: Node, qconfig: Any) -> None:
        kind = kind_of(self.model, node)
        reach = 2 if is_in(kinds.BINARY, kind) else 1
        args = tuple(self._observed(arg, node, qconfig) if at < reach else arg
                     for at, arg in enumerate(node.args))
        kwargs = dict(node.kwargs)
        if not args and "input" in kwargs:
            kwargs["input"] = self._observed(kwargs["input"], node, qconfig)
        node.args, node.kwargs = args, kwargs

    def _observed(self, arg: Any, node: Node, qconfig: Any) -> Any:
        if isinstance(arg, list | tuple):
            return type(arg)(self._observed(each, node, qconfig) for each in arg)
        if not self._is_tensor(arg) or arg in self.quantized_inputs | self.several:
            return arg
        wanted = qconfig.activation()
        if wanted.dtype is flambeau.float32 or not hasattr(wanted, "dtype"):
            return arg
        if self._gives(arg, wanted):
            return arg
        for user in arg.users:
            if is_observer(self.model, user) and self._gives(user, wanted):
                return user
        return self._insert(arg, self._made(qconfig.activation), node, True)

    def _gives(self, node: Node, wanted: Any) -> bool:
        """Whether a node is an observer with the dtype, and the way, that another wants."""
        module = module_of(self.model, node)
        return is_observer(self.model, node) and module.dtype is wanted.dtype and bool(
            getattr(module, "is_dynamic", False)) == bool(getattr(wanted, "is_dynamic", False))

    def _made(self, make: Callable[[], Any]) -> Any:
        made = make()
        parameter = next(self.model.parameters(), None)
        return made if parameter is None else made.to(parameter.device)

    def _weight(self, node: Node, kind: Any, qconfig: Any) -> None:
        at, _ = kinds.WEIGHTED_FUNCTIONS[kind]
        in_args = len(node.args) > at
        weight = node.args[at] if in_args else node.kwargs.get("weight")
        if not isinstance(weight, Node):
            return
        made = self._made(qconfig.weight)
        if "transpose" in getattr(kind, "__name__", "") and getattr(made, "ch_axis", None) == 0:
            made.ch_axis = 1
        observed = self._insert(weight, made, node)
        if in_args:
            node.update_arg(at, observed)
        else:
            node.update_kwarg("weight", observed)

    def _watch(self, node: Node, make: Callable[[], Any], first: Node | None = None) -> None:
        """Observe a result, for all that use it."""
        self._insert(node, self._made(make), first or node)

    def _insert(self, node: Node, observer: nn.Module, scope: Node, is_input: bool = False) -> Node:
        """An observer behind a node; of an input, for nobody yet, else for all users."""
        name = fresh(self.model, "activation_post_process_")
        setattr(self.model, name, observer)
        with self.model.graph.inserting_after(node):
            made = self.model.graph.call_module(name, (node,))
        path = str(scope.target) if scope.op == "call_module" else scope.meta.get("scope", "")
        made.meta["scope"], made.meta["is_input"] = path, is_input
        weight = node.op == "get_attr"
        if not is_input and not weight:
            node.replace_all_uses_with(made, lambda user: user is not made
                                       and not is_observer(self.model, user))
        return made

    def _observe_outputs(self) -> None:
        wanted = self.config.output_quantized_indexes
        if not wanted:
            return
        output = next(n for n in self.model.graph.nodes if n.op == "output")
        result = output.args[0]
        results = list(result) if isinstance(result, list | tuple) else [result]
        for at in wanted:
            node = results[at]
            qconfig = self.qconfigs.get(node)
            if self._is_tensor(node) and not is_observer(self.model, node) \
                    and node not in self.quantized_inputs and qconfig is not None:
                results[at] = self._insert(node, self._made(qconfig.activation), node)
        output.args = (type(result)(results) if isinstance(result, list | tuple) else results[0],)


def run_on_weight(model: GraphModule, node: Node) -> None:
    """Show an observer of a weight that weight."""
    module = module_of(model, node)
    source = node.args[0]
    if isinstance(source, Node) and source.op == "get_attr":
        module(attribute(model, str(source.target)).detach())
