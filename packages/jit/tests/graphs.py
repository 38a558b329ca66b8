"""Handmade graphs for tests."""

from __future__ import annotations

from flambeau.core.opdefs import by_name
from flambeau.jit.ir import Graph, Node, Value


def value(*shape, dtype="float32"):
    return Value(tuple(shape), dtype)


def node(op, *args, out=None, **named):
    """A node with defaults filled in; ``out`` gives the results' types."""
    opdef = by_name(op)
    filled = list(args)
    for param in opdef.params[len(args):]:
        filled.append(named.get(param.name, param.default if param.has_default else None))
    outs = (out,) if isinstance(out, Value) else tuple(out)
    return Node(op, tuple(filled), outs)


def chain(*ops, shape=(4, 3), dtype="float32"):
    """A graph that applies unary operators one after another."""
    x = value(*shape, dtype=dtype)
    graph = Graph(inputs=[x])
    for op in ops:
        y = x.like()
        graph.nodes.append(node(op, x, out=y))
        x = y
    graph.outputs = [x]
    return graph


def ops_of(graph):
    return [n.op for n in graph.nodes]
