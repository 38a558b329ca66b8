"""Graphs of traced programs as graphs of `flambeau.fx`."""

from __future__ import annotations

import operator
from typing import Any

from flambeau.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from flambeau.fx.experimental import _operators
from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node
from flambeau.jit import bridge
from flambeau.jit.dims import Dim, factors
from flambeau.jit.errors import TraceError
from flambeau.jit.interpreter import run_operator
from flambeau.jit.ir import Capture, Value
from flambeau.jit.ir import Graph as TracedGraph
from flambeau.jit.opset import FUSED, LOOP, find_opdef

_PREFIX = {InputKind.PARAMETER: "p_", InputKind.BUFFER: "b_", InputKind.CONSTANT_TENSOR: "c_"}


class Run:
    """An operator of traced programs that no public function is.

    Args:
        op: Its name.
    """

    def __init__(self, op: str) -> None:
        self.op = op
        self.__name__ = op.replace(".", "_")
        self.__qualname__ = self.__name__
        self.__module__ = __name__

    def __call__(self, *args: Any) -> Any:
        results = run_operator(self.op, list(args))
        return results[0] if len(results) == 1 else list(results)


class _MayVary(Exception):
    """A call depends on a size that is not known."""


#: What stands for sizes that may vary while a call is written: no program has sizes like these.
_SIZES = range(7_368_787_001, 7_368_787_065)


def _standing(arg: Any, stands: dict[int, Value]) -> Any:
    """An argument with tensors without elements in place of values, which are noted by id."""
    import flambeau

    if isinstance(arg, Value):
        shape = [_SIZES[at] if isinstance(size, Dim) else size
                 for at, size in enumerate(arg.shape)]
        made = flambeau.empty((), dtype=bridge.dtype_named(arg.dtype),
                              device="meta").expand(shape)
        stands[id(made)] = arg
        return made
    if isinstance(arg, tuple):
        return tuple(_standing(each, stands) for each in arg)
    if isinstance(arg, Dim):
        raise _MayVary
    return bridge.from_literal(arg)


def _without_elements(value: Value) -> Any:
    """A tensor on the device ``meta`` like a value; the value itself where sizes may vary."""
    import flambeau

    sizes = [size for size in value.shape if isinstance(size, int)]
    if len(sizes) < len(value.shape):
        return value
    return flambeau.empty(sizes, dtype=bridge.dtype_named(value.dtype), device="meta")


def kind_of(capture: Capture, state: set[str]) -> InputKind:
    """What a captured tensor is."""
    if capture.constant or capture.name not in state:
        return InputKind.CONSTANT_TENSOR
    return InputKind.PARAMETER if capture.tensor.requires_grad else InputKind.BUFFER


class Translation:
    """One graph, and its signature.

    Args:
        traced: The graph of the program.
        names: Names for its inputs.
        kinds: What each captured tensor is.
    """

    def __init__(self, traced: TracedGraph, names: list[str], kinds: list[InputKind]) -> None:
        self._begin(traced)
        self.signature = ExportGraphSignature()
        for capture, kind in zip(traced.captures, kinds, strict=True):
            name = _PREFIX[kind] + capture.name.replace(".", "_")
            self._parameter(capture.value, name, kind, capture.name)
        for value, name in zip(traced.inputs, names, strict=True):
            self._parameter(value, name, InputKind.USER_INPUT, None)
        self.signature.output_specs = [
            OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(node.name)) for node in self._fill()]

    def _begin(self, traced: TracedGraph) -> None:
        self.traced = traced
        self.graph = Graph()
        self.nodes: dict[Value, Node] = {}
        self.sizes: dict[str, Node] = {}
        self.taken: set[str] = set()
        self.parts: dict[str, GraphModule] = {}     # branches, by the names of their attributes

    def _fill(self) -> list[Node]:
        """The nodes behind the inputs; those of the results."""
        self._name_sizes()
        self._add(self.traced)
        for target, value in self.traced.writes:
            self._call("copy_", (self.nodes[target], self.nodes[value]))
        results = [self.nodes[value] for value in self.traced.outputs]
        self.graph.output(tuple(results))
        return results

    def _parameter(self, value: Value, name: str, kind: InputKind, target: str | None) -> None:
        node = self.nodes[value] = self.graph.placeholder(name)
        node.name = name if name.isidentifier() and name not in self.taken else node.name
        self.taken.add(node.name)
        node.meta["val"] = _without_elements(value)
        self.signature.input_specs.append(
            InputSpec(kind, TensorArgument(node.name), target,
                      True if kind is InputKind.BUFFER else None))

    def _name_sizes(self) -> None:
        """A node for each size that may vary, from the first input that has it."""
        for value in self.traced.inputs:
            for dim, size in enumerate(value.shape):
                if isinstance(size, Dim) and len(size.terms) == 1 and not size.offset:
                    name = size.names[0]
                    if name not in self.sizes and size.terms[0][1] == 1:
                        self.sizes[name] = self.graph.call_method("size", (self.nodes[value], dim))

    def _call(self, name: str, args: tuple[Any, ...]) -> Node:
        import flambeau

        return self.graph.call_function(getattr(flambeau.Tensor, name), args)

    # ---- nodes ---------------------------------------------------------------------------------

    def _add(self, traced: TracedGraph) -> None:
        for node in traced.nodes:
            if node.op == FUSED and node.body is not None:
                for inner, outer in zip(node.body.inputs, node.inputs, strict=True):
                    self.nodes[inner] = self.nodes[outer]
                self._add(node.body)
                for outer, inner in zip(node.outputs, node.body.outputs, strict=True):
                    self.nodes[outer] = self.nodes[inner]
                continue
            if node.op == LOOP:
                raise TraceError(f"{node.where}: a loop on values cannot be exported as a graph "
                                 "of fx; save the program instead: jit.script(f).save()")
            if node.regions:
                self._branch(node)
            else:
                self._node(node)

    def _branch(self, node: Any) -> None:
        """A call of `cond` with two modules, as PyTorch's graphs have it."""
        import flambeau

        condition, inputs = node.args
        number = len(self.parts) // 2
        graphs = []
        for word, region in zip(("true", "false"), node.regions, strict=True):
            name = f"{word}_graph_{number}"
            self.parts[name] = part(region)
            graphs.append(self.graph.get_attr(name))
        made = self.graph.call_function(flambeau.cond, (
            self.nodes[condition], *graphs, [self.nodes[value] for value in inputs]))
        made.meta["where"] = node.where
        for at, value in enumerate(node.outputs):
            self.nodes[value] = self.graph.call_function(operator.getitem, (made, at))

    def _node(self, node: Any) -> None:
        args = [self._argument(arg) for arg in node.args]
        into = [self.nodes[value] for value in node.into] or None
        if find_opdef(node.op) is None:
            made = self.graph.call_function(Run(node.op), tuple(args))
        else:
            found = self._aten(node) if into is None else None
            if found is None:
                target, given, named = _operators.call_of_public(node.op, args, into)
                found = self.graph.call_function(target, given, named)
            made = found
        made.meta["where"] = node.where
        results = list(node.outputs)
        for value in results:
            made.meta.setdefault("val", _without_elements(value))
        if into is not None:
            for value, target_node in zip(results, into, strict=True):
                self.nodes[value] = target_node
            return
        count = len(results) - len(self._written(node))
        if count == 1 and not _operators.gives_list(node.op):
            self.nodes[results[0]] = made
        else:
            for at, value in enumerate(results[:count]):
                self.nodes[value] = self.graph.call_function(operator.getitem, (made, at))
        for value, arg in zip(results[count:], self._written(node), strict=True):
            self.nodes[value] = self.nodes[arg]

    def _aten(self, node: Any) -> Node | None:
        """The call as one of PyTorch's operators; None where it names a size that may vary."""
        stands: dict[int, Value] = {}
        try:
            args = [_standing(arg, stands) for arg in node.args]
        except _MayVary:
            return None
        found = _operators.aten_of(node.op, args, None)
        if found is None:
            return None

        def back(arg: Any) -> Any:
            if isinstance(arg, list | tuple):
                return type(arg)([back(each) for each in arg])
            if isinstance(arg, int) and not isinstance(arg, bool) and arg in _SIZES:
                raise _MayVary
            return self.nodes[stands[id(arg)]] if id(arg) in stands else arg

        target, given, named = found
        try:
            given, named = back(given), {key: back(each) for key, each in named.items()}
        except _MayVary:
            return None
        name = self.graph._target_to_str(target.overloadpacket)
        return self.graph.create_node("call_function", target, given, named, name)

    @staticmethod
    def _written(node: Any) -> list[Value]:
        from flambeau.jit.opset import written_params

        if find_opdef(node.op) is None:
            return []
        found = [node.args[i] for i in written_params(node.op) if node.args[i] is not None]
        opdef = find_opdef(node.op)
        return found if opdef and len(node.outputs) > len(opdef.outputs) else []

    def _argument(self, arg: Any) -> Any:
        if isinstance(arg, Value):
            return self.nodes[arg]
        if isinstance(arg, tuple):
            return tuple(self._argument(each) for each in arg)
        return self._size(arg) if isinstance(arg, Dim) else bridge.from_literal(arg)

    def _size(self, size: Dim) -> Any:
        """The nodes that compute a size."""
        total: Any = size.offset
        for name, factor in size.terms:
            term, *others = (self.sizes[each] for each in factors(name))
            for other in others:
                term = self.graph.call_function(operator.mul, (term, other))
            if factor != 1:
                term = self.graph.call_function(operator.mul, (term, factor))
            total = term if isinstance(total, int) and total == 0 else \
                self.graph.call_function(operator.add, (term, total))
        if size.form == "float":
            return self.graph.call_function(float, (total,))
        if size.form == "reciprocal":
            return self.graph.call_function(operator.truediv, (1.0, total))
        return total


class _Part(Translation):
    """The graph of a branch, over what it is given; what it captures are its attributes."""

    def __init__(self, traced: TracedGraph) -> None:
        self._begin(traced)
        self.attributes: dict[str, Any] = {}
        for at, capture in enumerate(traced.captures):
            self.attributes[f"constant_{at}"] = capture.tensor
            self.nodes[capture.value] = self.graph.get_attr(f"constant_{at}")
        for at, value in enumerate(traced.inputs):
            self.nodes[value] = self.graph.placeholder(f"arg{at}_1")
        self._fill()


def part(traced: TracedGraph) -> GraphModule:
    """A branch of a program as a module."""
    made = _Part(traced)
    return GraphModule({**made.attributes, **made.parts}, made.graph)
