"""Graphs to JSON and back. Values are numbered in the order inputs, captures, results."""

from __future__ import annotations

import math
from typing import Any

from flambeau.jit.dims import FORMS, Dim
from flambeau.jit.errors import ProgramError
from flambeau.jit.ir import Capture, Grad, Graph, Limits, Node, Value
from flambeau.jit.literals import Device, DType, Opaque, Slot


def encode_graph(graph: Graph) -> dict[str, Any]:
    """A graph as JSON data; tensors of captures are left out, their names stay."""
    values = [*graph.inputs, *(c.value for c in graph.captures)]
    values += [value for node in graph.nodes for value in node.outputs]
    ids = {value: number for number, value in enumerate(values)}
    return {
        "symbols": {name: list(sizes) for name, sizes in graph.symbols.items()},
        "inputs": [_encode_type(value) for value in graph.inputs],
        "captures": [
            {"name": c.name, "constant": c.constant, **_encode_type(c.value)}
            for c in graph.captures
        ],
        "nodes": [_encode_node(node, ids) for node in graph.nodes],
        "outputs": [ids[value] for value in graph.outputs],
        "writes": [[ids[target], ids[value]] for target, value in graph.writes],
        "requires": graph.requires,
        "input_requires": graph.input_requires,
        "grads": [{"leaf": ids[g.leaf], "value": None if g.value is None else ids[g.value],
                   "needs": g.needs} for g in graph.grads],
        "no_history": graph.no_history,
        "limits": {name: vars(limits) for name, limits in graph.limits.items()},
        "fixed": graph.fixed,
        "defaults": graph.defaults,
    }


def _encode_type(value: Value) -> dict[str, Any]:
    shape = [encode_literal(size) for size in value.shape]
    return {"shape": shape, "dtype": value.dtype, "device": value.device}


def _encode_node(node: Node, ids: dict[Value, int]) -> dict[str, Any]:
    data: dict[str, Any] = {
        "op": node.op,
        "args": [_encode_arg(arg, ids) for arg in node.args],
        "outputs": [_encode_type(value) for value in node.outputs],
        "where": node.where,
    }
    if node.into:
        data["into"] = [ids[value] for value in node.into]
    if node.history:
        data["history"] = list(node.history)
    if node.body is not None:
        data["body"] = encode_graph(node.body)
    if node.regions:
        data["regions"] = [encode_graph(region) for region in node.regions]
    return data


def _encode_arg(arg: object, ids: dict[Value, int]) -> Any:
    if isinstance(arg, Value):
        return {"value": ids[arg]}
    if isinstance(arg, tuple):
        return [_encode_arg(item, ids) for item in arg]
    return encode_literal(arg)


def encode_literal(value: object) -> Any:
    """A literal as JSON data."""
    if isinstance(value, tuple):
        return [encode_literal(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, complex):
        return {"complex": [encode_literal(value.real), encode_literal(value.imag)]}
    if isinstance(value, Dim):
        return {"terms": dict(value.terms), "offset": value.offset, "form": value.form}
    if isinstance(value, DType):
        return {"dtype": value.name}
    if isinstance(value, Device):
        return {"device": value.name}
    if isinstance(value, Slot):
        return {"slot": value.index, "kind": value.kind}
    if isinstance(value, Opaque):
        raise ProgramError(
            f"{value} exists in this process only and cannot be saved; "
            "draw with the default generator (generator=None) inside what you trace"
        )
    return value


def decode_graph(data: Any) -> Graph:
    """A graph from JSON data.

    Raises:
        ProgramError: The data does not describe a graph; the message shows the part.
    """
    try:
        return _Decoder(data).graph()
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError) as error:
        if isinstance(error, ProgramError):
            raise
        if isinstance(error, KeyError):
            raise ProgramError(f"not a graph: a part has no {error}") from None
        raise ProgramError(f"not a graph: {type(error).__name__}: {error}") from None


class _Decoder:
    def __init__(self, data: Any) -> None:
        self.data = data
        self.values: list[Value] = []

    def graph(self) -> Graph:
        data = self.data
        inputs = [self.value(item) for item in _listed(data["inputs"])]
        captures = [self.capture(item) for item in _listed(data["captures"])]
        nodes = [self.node(item) for item in _listed(data["nodes"])]
        return Graph(
            inputs=inputs,
            captures=captures,
            nodes=nodes,
            outputs=[self.at(number) for number in _listed(data["outputs"])],
            writes=[(self.at(a), self.at(b)) for a, b in _listed(data["writes"])],
            symbols=self.symbols(data["symbols"]),
            requires=self.flags("requires"),
            input_requires=self.flags("input_requires"),
            grads=[self.grad(item) for item in _listed(data.get("grads", []))],
            no_history=_text(data.get("no_history", "")),
            limits={_text(n): self.limits(item) for n, item in data.get("limits", {}).items()},
            fixed=_text(data.get("fixed", "")),
            defaults=_text(data.get("defaults", "")),
        )

    def limits(self, item: Any) -> Limits:
        last = None if item["last"] is None else _number(item["last"])
        return Limits(_number(item["first"]), last, _text(item["below"]), _text(item["above"]))

    def flags(self, name: str) -> list[bool]:
        return [bool(flag) for flag in _listed(self.data.get(name, []))]

    def grad(self, item: Any) -> Grad:
        value = None if item["value"] is None else self.at(item["value"])
        if item["needs"] not in ("", "none", "same"):
            raise ProgramError(f"not a graph: a gradient needs {str(item['needs'])[:80]!r}")
        return Grad(self.at(item["leaf"]), value, item["needs"])

    def symbols(self, data: Any) -> dict[str, tuple[int, ...]]:
        return {
            _text(name): tuple(_number(size) for size in _listed(sizes))
            for name, sizes in data.items()
        }

    def at(self, number: Any) -> Value:
        if _number(number) < 0:
            raise ProgramError(f"not a graph: value number {number}")
        return self.values[number]

    def value(self, item: Any) -> Value:
        shape = tuple(decode_literal(size) for size in _listed(item["shape"]))
        for size in shape:
            if not isinstance(size, Dim):
                _number(size)
            elif size.form != "int":
                raise ProgramError(f"not a graph: {size} is not a size")
        value = Value(shape, _text(item["dtype"]), _text(item["device"]))
        self.values.append(value)
        return value

    def capture(self, item: Any) -> Capture:
        return Capture(self.value(item), _text(item["name"]), None, bool(item["constant"]))

    def node(self, item: Any) -> Node:
        args = tuple(self.arg(arg) for arg in _listed(item["args"]))
        body = _Decoder(item["body"]).graph() if "body" in item else None
        regions = tuple(_Decoder(each).graph() for each in _listed(item.get("regions", [])))
        into = tuple(self.at(number) for number in _listed(item.get("into", [])))
        history = tuple(_number(number) for number in _listed(item.get("history", [])))
        outputs = tuple(self.value(out) for out in _listed(item["outputs"]))
        where = _text(item.get("where", ""))
        return Node(_text(item["op"]), args, outputs, body, where, into, history, regions)

    def arg(self, item: Any) -> Any:
        if isinstance(item, list):
            return tuple(self.arg(part) for part in item)
        if isinstance(item, dict) and "value" in item:
            return self.at(item["value"])
        return decode_literal(item)


def decode_literal(item: Any) -> Any:
    """A literal from JSON data."""
    if isinstance(item, list):
        return tuple(decode_literal(part) for part in item)
    if not isinstance(item, dict):
        return item
    if "float" in item:
        return float(item["float"])
    if "complex" in item:
        return complex(*(decode_literal(part) for part in item["complex"]))
    if "terms" in item:
        return _decode_dim(item)
    if "dtype" in item:
        return DType(_text(item["dtype"]))
    if "device" in item:
        return Device(_text(item["device"]))
    if "slot" in item:
        return Slot(_number(item["slot"]), _text(item["kind"]))
    raise ProgramError(f"not a graph: unknown literal {str(item)[:80]}")


def _decode_dim(item: Any) -> Dim:
    terms = tuple(sorted((_text(n), _number(f)) for n, f in item["terms"].items()))
    if item["form"] not in FORMS:
        raise ProgramError(f"not a graph: unknown form of a size {str(item['form'])[:80]!r}")
    return Dim(terms, _number(item["offset"]), item["form"])


def _listed(item: Any) -> list[Any]:
    if not isinstance(item, list):
        raise ProgramError(f"not a graph: a list is expected, got {type(item).__name__}")
    return item


def _text(item: Any) -> str:
    if not isinstance(item, str):
        raise ProgramError(f"not a graph: text is expected, got {type(item).__name__}")
    return item


def _number(item: Any) -> int:
    if not isinstance(item, int) or isinstance(item, bool):
        raise ProgramError(f"not a graph: an integer is expected, got {str(item)[:80]!r}")
    return item
