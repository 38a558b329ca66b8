"""A graph as steps: each reads values by name and adds its outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flambeau.onnx.errors import ImportedError
from flambeau.onnx.importing.inference import Types
from flambeau.onnx.importing.operators import HOST, OPERATORS
from flambeau.onnx.importing.reading import NARROW, constant
from flambeau.onnx.importing.table import CONTRIBUTED, Call, Operator
from flambeau.onnx.importing.values import Host, as_tensor, device_of, numbers_of

#: What functions of operators raise where attributes or inputs are not those of the operator.
UNFIT = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)

#: Domains of ONNX's own operators; names of others are ``domain:name``.
_OWN = ("", "ai.onnx")


@dataclass
class Step:
    """A node.

    Args:
        call: what its operator is told.
        inputs: names of values; empty for those left out.
        outputs: names of its results; empty for those that nothing reads.
        operator: how it is computed.
        reads: names that it reads, those of its subgraphs included.
        dead: names that nothing reads after it.
    """

    call: Call
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    operator: Operator
    reads: frozenset[str]
    dead: tuple[str, ...] = ()

    def run(self, env: dict[str, Any]) -> None:
        """Compute it."""
        call = self.call
        try:
            values = [env[name] if name else None for name in self.inputs]
            found = self._compute(call, values, env)
        except UNFIT as error:
            raise call.refuse(f"{type(error).__name__}: {error}") from error
        for name, value in zip(self.outputs, found if isinstance(found, tuple) else (found,),
                               strict=False):
            if name:
                env[name] = value
        for name in self.dead:
            env.pop(name, None)

    def _compute(self, call: Call, values: list[Any], env: dict[str, Any]) -> Any:
        operator = self.operator
        is_known = Host in map(type, values)
        if is_known and call.op in HOST and all(type(each) is Host for each in values):
            found = HOST[call.op](call, *values)
            if found is not None:
                return found
        if operator.placed:
            # One for each run: several threads may run a plan, and nothing is held after it.
            call = Call(call.op, call.name, call.opset, call.attributes, call.outputs, env,
                        device_of(values, env[""]))
        if not operator.raw and (is_known or operator.host):
            host, device = operator.host, device_of(values, env[""])
            values = [value if value is None else numbers_of(value) if k in host
                      else as_tensor(value, device) for k, value in enumerate(values)]
        return operator.compute(call, *values)


@dataclass
class Plan:
    """A graph.

    Args:
        inputs: names of what it is given.
        outputs: names of its results.
        steps: its nodes, in order.
        constants: values that are always the same.
        free: names that it reads from around it.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    steps: list[Step]
    constants: dict[str, Any] = field(default_factory=dict)
    free: frozenset[str] = frozenset()

    def run(self, env: dict[str, Any]) -> list[Any]:
        """Compute the outputs; ``env`` has the inputs and what ``free`` names."""
        for step in self.steps:
            step.run(env)
        if missing := [name for name in self.outputs if name not in env]:
            raise ImportedError(f"onnx.load(): nothing in the graph gives {missing[0]!r}")
        return [env[name] for name in self.outputs]

    def call(self, outer: Mapping[str, Any], *inputs: Any) -> list[Any]:
        """Compute the outputs of a subgraph, inside of the values around it."""
        env = {name: outer[name] for name in self.free}
        env[""] = outer[""]
        env.update(self.constants)
        env.update(zip(self.inputs, inputs, strict=False))
        return self.run(env)


class Planner:
    """Makes plans of the graphs of a model.

    Args:
        opsets: version of the operators of each domain.
        functions: the model's own functions, by domain and name.
        folder: where external data lies.
        types: type and shape of values, by name, as far as they are known.
    """

    def __init__(self, opsets: Mapping[str, int], functions: Iterable[Any], folder: str,
                 types: Types | None = None) -> None:
        self.opsets = dict(opsets)
        self.functions = {(each.domain, each.name): each for each in functions}
        self.folder = folder
        self.types = types

    def graph(self, graph: Any, around: frozenset[str] = frozenset(),
              constants: Mapping[str, Any] | None = None) -> Plan:
        """The plan of a graph; ``constants`` stands for its initializers."""
        held = dict(constants) if constants is not None else {
            each.name: constant(each, self.folder) for each in graph.initializer}
        inputs = tuple(each.name for each in graph.input)
        return self._plan(graph.node, inputs, tuple(each.name for each in graph.output), held,
                          around)

    def _plan(self, nodes: Any, inputs: tuple[str, ...], outputs: tuple[str, ...],
              held: dict[str, Any], around: frozenset[str]) -> Plan:
        known = around | set(inputs) | set(held)
        steps: list[Step] = []
        for node in nodes:
            if node.op_type == "Constant" and node.domain in _OWN:
                held[node.output[0]] = self._constant(node)
            else:
                steps.append(self.step(node, known))
            known |= set(node.output)
        mine = set(inputs) | set(held) | {name for each in steps for name in each.outputs}
        free = {name for each in steps for name in each.reads} | set(outputs)
        _forget(steps, set(outputs), set(held) | set(inputs))
        return Plan(inputs, outputs, steps, held, frozenset(free - mine - {""}))

    def step(self, node: Any, known: frozenset[str]) -> Step:
        """A node other than a constant.

        Raises:
            ImportedError: nothing computes its operator, or it reads what does not exist.
        """
        attributes = {each.name: self._attribute(each, known) for each in node.attribute}
        opset = self.opsets.get("" if node.domain in _OWN else node.domain, 1)
        types = self.types if self.types is not None and self.types.may_be_narrow else {}
        for k, name in enumerate(node.input):
            if name in types and types[name].tensor_type.elem_type in NARROW:
                attributes[f"type_of_{k}"] = types[name].tensor_type.elem_type
        call = Call(_key(node), node.name, opset, attributes, tuple(map(bool, node.output)))
        if missing := [name for name in node.input if name and name not in known]:
            raise call.refuse(f"it reads {missing[0]!r}, which nothing before it gives")
        plans = [each for each in attributes.values() if isinstance(each, Plan)]
        reads = {name for name in node.input if name}.union(*(each.free for each in plans))
        operator = self._operator(node, call)
        return Step(call, tuple(node.input), tuple(node.output), operator, frozenset(reads))

    def _operator(self, node: Any, call: Call) -> Operator:
        own = self.functions.get((node.domain, node.op_type))
        if own is not None:
            return Operator(_Function(self, own, node), raw=True, placed=True)
        if call.op in OPERATORS:
            return OPERATORS[call.op]
        found = _definition(node, call.opset, {} if self.types is None else self.types)
        if found is None:
            raise call.refuse(_why_unknown(node))
        return Operator(_Function(self, found, node), raw=True, placed=True)

    def _constant(self, node: Any) -> Any:
        from onnx import helper

        (attribute,) = node.attribute
        if attribute.name == "value":
            return constant(attribute.t, self.folder)
        if attribute.name not in ("value_int", "value_ints", "value_float", "value_floats"):
            raise ImportedError(f"onnx.load(): a constant of {attribute.name} cannot be read")
        value = helper.get_attribute_value(attribute)
        shape = [] if isinstance(value, int | float) else [len(value)]
        number = 7 if "int" in attribute.name else 1
        return constant(helper.make_tensor("", number, shape, value if shape else [value]),
                        self.folder)

    def _attribute(self, attribute: Any, known: frozenset[str]) -> Any:
        from onnx import AttributeProto, helper

        if attribute.type == AttributeProto.GRAPH:
            return self.graph(attribute.g, known)
        if attribute.type == AttributeProto.TENSOR:
            return constant(attribute.t, self.folder)
        value = helper.get_attribute_value(attribute)
        if isinstance(value, bytes):
            return value.decode(errors="replace")
        if attribute.type == AttributeProto.STRINGS:
            return [each.decode(errors="replace") for each in value]
        return list(value) if attribute.type != AttributeProto.INT and hasattr(
            value, "__len__") else value

    def function(self, proto: Any, node: Any) -> Plan:
        """The plan of a function's body, with a node's attributes put in."""
        opsets = {each.domain if each.domain not in _OWN else "": each.version
                  for each in proto.opset_import}
        inner = Planner({**self.opsets, **opsets}, self.functions.values(), self.folder)
        given = {each.name: each for each in proto.attribute_proto}
        given |= {each.name: each for each in node.attribute}
        nodes = [_with_attributes(each, given) for each in proto.node]
        return inner._plan(nodes, tuple(proto.input), tuple(proto.output), {}, frozenset())


class _Function:
    """An operator that a function of ONNX's operators defines."""

    def __init__(self, planner: Planner, proto: Any, node: Any) -> None:
        self.plan = planner.function(proto, node)

    def __call__(self, call: Call, *values: Any) -> Any:
        given = list(values) + [None] * (len(self.plan.inputs) - len(values))
        return tuple(self.plan.call({"": call.env[""]}, *given))


def _with_attributes(node: Any, given: Mapping[str, Any]) -> Any:
    """A node of a function's body with what its attributes refer to."""
    from onnx import NodeProto

    copy = NodeProto()
    copy.CopyFrom(node)
    del copy.attribute[:]
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            kept = copy.attribute.add()
            kept.CopyFrom(attribute)
            if attribute.HasField("g"):
                inner = [_with_attributes(each, given) for each in attribute.g.node]
                del kept.g.node[:]
                kept.g.node.extend(inner)
        elif attribute.ref_attr_name in given:
            kept = copy.attribute.add()
            kept.CopyFrom(given[attribute.ref_attr_name])
            kept.name = attribute.name
    return copy


def _key(node: Any) -> str:
    """What the table calls a node's operator."""
    return node.op_type if node.domain in _OWN else f"{node.domain}:{node.op_type}"


def _why_unknown(node: Any) -> str:
    """Why nothing computes a node, and what its user can do."""
    if node.domain == "com.microsoft.nchwc":
        return ("onnxruntime wrote this model for one processor; load the model it was made of, or "
                "save it with graph_optimization_level ORT_ENABLE_EXTENDED")
    if node.domain == CONTRIBUTED:
        return ("this operator of onnxruntime is not read; load the model before onnxruntime's "
                "optimizer or quantizer wrote it")
    if node.domain.startswith("ai.onnx"):
        return f"operators of {node.domain} are not read; those of ONNX's own domain are"
    if node.domain not in _OWN:
        return "there is no such operator here, and the model has no function that defines it"
    return "there is no such operator here, and ONNX defines it by no formula"


def fixed_names(graph: Any) -> set[str]:
    """Tensors of a graph that are no parameters."""
    found = {each.name for each in graph.initializer if not each.dims}
    for node in graph.node:
        known = OPERATORS.get(_key(node))
        places = set(known.host) if known else set()
        if node.op_type == "BatchNormalization":
            places |= {3, 4}
        found |= {name for k, name in enumerate(node.input) if k in places}
    return found


def _definition(node: Any, opset: int, types: Mapping[str, Any]) -> Any:
    """ONNX's own definition of an operator by others, if it has one."""
    from onnx import FunctionProto, TypeProto, defs

    try:
        schema = defs.get_schema(node.op_type, opset, node.domain)
    except defs.SchemaError:
        return None
    if schema.has_function:
        return schema.function_body
    if not schema.has_context_dependent_function:
        return None
    given = [types[name].SerializeToString() if name in types
             else TypeProto().SerializeToString() for name in node.input]
    body = FunctionProto()
    try:
        body.ParseFromString(schema.get_context_dependent_function(node.SerializeToString(),
                                                                   given))
    except RuntimeError:
        return None
    return body if body.node else None


def _forget(steps: list[Step], last: set[str], kept: set[str]) -> None:
    """Let each step end the values that no later one reads."""
    used = set(last)
    for step in reversed(steps):
        mine = {name for name in (*step.reads, *step.outputs) if name}
        step.dead = tuple(mine - used - kept)
        used |= step.reads
