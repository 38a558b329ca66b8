"""Reductions that look at elements one by one: where the greatest is, all, any, counts."""

from __future__ import annotations

import math

from flambeau.jit.ahead.fixed import shape_of
from flambeau.jit.ahead.loops import Loops
from flambeau.jit.ahead.scope import NotThisError, Scope
from flambeau.jit.ir import Node
from flambeau.jit.llvm.machine import Machine

#: Bits of the elements that are counted.
COUNTED = {"bool": 8, "uint8": 8, "int8": 8, "int32": 32, "int64": 64}


def search(scope: Scope, node: Node) -> None:
    """``argmax``, ``argmin``, ``max`` and ``min`` over a dimension."""
    x, dim = node.args[:2]
    if x.dtype != "float32" or 0 in x.shape:
        raise NotThisError("only float32 is searched")
    if dim is None:
        sizes = (1, math.prod(x.shape), 1)
    else:
        dim %= max(len(x.shape), 1)
        sizes = (math.prod(x.shape[:dim]), x.shape[dim] if x.shape else 1,
                 math.prod(x.shape[dim + 1:]))
    text = search_text("ogt" if "max" in node.op else "olt", sizes, len(node.outputs) == 2,
                       scope.unit.machine)
    scope.unit.add(text, scope.dense(x), *map(scope.new, node.outputs))


def search_text(compare: str, sizes: tuple[int, int, int], has_value: bool, machine: Machine
                ) -> str:
    """The function: an operand of three dimensions, values where wanted, indices.

    The first of equal elements is found; NaN is before all.
    """
    out, (outer, count, inner) = Loops(machine, 2 + has_value), sizes
    best, where = out.variable("float"), out.variable("i64")
    with out.loop(outer) as i, out.loop(inner) as j:
        source = out.at("%a0", out.offset((i, count * inner), (j, 1)))
        out.store(out.load(source), best)
        out.store("0", where, "i64", 8)
        with out.loop(count) as k:
            value, before = out.load(out.at(source, out.offset((k, inner)))), out.load(best)
            better = out.add(f"fcmp {compare} float {value}, {before}")
            is_nan = out.add(f"fcmp uno float {value}, {value}")
            was_number = out.add(f"fcmp ord float {before}, {before}")
            first_nan = out.add(f"and i1 {is_nan}, {was_number}")
            takes = out.add(f"or i1 {better}, {first_nan}")
            out.store(out.add(f"select i1 {takes}, float {value}, float {before}"), best)
            old = out.load(where, "i64", 8)
            out.store(out.add(f"select i1 {takes}, i64 {k}, i64 {old}"), where, "i64", 8)
        at = out.offset((i, inner), (j, 1))
        if has_value:
            out.store(out.load(best), out.at("%a1", at))
        out.store(out.load(where, "i64", 8), out.at(f"%a{1 + has_value}", at, "i64"), "i64", 8)
    return out.text()


def count(scope: Scope, node: Node) -> None:
    """``all``, ``any``, and sums of bools and integers."""
    x, result = node.args[0], node.outputs[0]
    wide = COUNTED.get(x.dtype)
    if wide is None or result.dtype not in ("bool", "int64") or 0 in x.shape:
        raise NotThisError(f"it reduces {x.dtype} to {result.dtype}")
    if node.op != "sum" and x.dtype != "bool":
        raise NotThisError("only bools are tested")
    dims = node.args[1]
    ndim = len(x.shape)
    chosen = range(ndim) if dims in (None, ()) else sorted(
        d % ndim for d in (dims if isinstance(dims, tuple) else (dims,)))
    kept = [d for d in range(ndim) if d not in chosen]
    source = scope.place(x)
    order = [*kept, *chosen]
    turned = source.view([source.shape[d] for d in order], [source.strides[d] for d in order])
    if not turned.is_dense():
        turned = scope.copy(turned)
    number = math.prod(x.shape[d] for d in chosen)
    text = count_text(node.op, (math.prod(shape_of(result)), number), wide,
                      x.dtype in ("bool", "uint8"), scope.unit.machine)
    scope.unit.add(text, turned, scope.new(result))


def count_text(op: str, sizes: tuple[int, int], wide: int, is_unsigned: bool, machine: Machine
               ) -> str:
    """The function: rows, and a number or a bool for each."""
    out, (rows, elements) = Loops(machine, 2), sizes
    total = out.variable("i64")
    act, first = {"sum": ("add", 0), "any": ("or", 0), "all": ("and", 1)}[op]
    with out.loop(rows) as i:
        out.store(str(first), total, "i64", 8)
        with out.loop(elements) as k:
            at = out.at("%a0", out.offset((i, elements), (k, 1)), f"i{wide}")
            value = out.load(at, f"i{wide}", wide // 8)
            if wide < 64:
                value = out.add(f"{'zext' if is_unsigned else 'sext'} i{wide} {value} to i64")
            before = out.load(total, "i64", 8)
            out.store(out.add(f"{act} i64 {before}, {value}"), total, "i64", 8)
        value = out.load(total, "i64", 8)
        if op != "sum":
            value = out.add(f"trunc i64 {value} to i8")
        kind, bytes_ = ("i64", 8) if op == "sum" else ("i8", 1)
        out.store(value, out.at("%a1", i, kind), kind, bytes_)
    return out.text()
