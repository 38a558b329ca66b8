"""Sums and products of elements one after the other, and elements in order."""

from __future__ import annotations

import math

from flambeau.jit.ahead.loops import Loops
from flambeau.jit.ahead.scope import NotThisError, Scope
from flambeau.jit.ir import Node
from flambeau.jit.llvm.emitter import constant_float
from flambeau.jit.llvm.machine import Machine

#: Elements of a row that is sorted, at most: each is compared with all others.
MOST_SORTED = 2048

#: Outer rows, elements along the dimension, inner rows.
Sizes = tuple[int, int, int]


def _sizes(shape: tuple[int, ...], dim: int) -> Sizes:
    dim %= max(len(shape), 1)
    return (math.prod(shape[:dim]), shape[dim] if shape else 1, math.prod(shape[dim + 1:]))


def cumsum(scope: Scope, node: Node) -> None:
    """Running sums; of float32 in double precision, as the core's."""
    x, result = node.args[0], node.outputs[0]
    if (x.dtype, result.dtype) not in (("float32",) * 2, ("int64",) * 2) or 0 in x.shape:
        raise NotThisError("running sums are of float32 and int64")
    text = cumsum_text(_sizes(x.shape, node.args[1]), x.dtype == "float32", scope.unit.machine)
    scope.unit.add(text, scope.dense(x), scope.new(result))


def cumsum_text(sizes: Sizes, is_float: bool, machine: Machine) -> str:
    """The function: an operand of three dimensions, and its running sums."""
    out, (outer, count, inner) = Loops(machine, 2), sizes
    kind, align, wide = ("float", 4, "double") if is_float else ("i64", 8, "i64")
    total = out.variable(wide)
    with out.loop(outer) as i, out.loop(inner) as j:
        out.store(constant_float(0.0) if is_float else "0", total, wide, 8)
        with out.loop(count) as k:
            at = out.offset((i, count * inner), (k, inner), (j, 1))
            value, before = out.load(out.at("%a0", at, kind), kind, align), out.load(total, wide, 8)
            if is_float:
                value = out.add(f"fpext float {value} to double")
            after = out.add(f"{'fadd' if is_float else 'add'} {wide} {before}, {value}")
            out.store(after, total, wide, 8)
            rounded = out.add(f"fptrunc double {after} to float") if is_float else after
            out.store(rounded, out.at("%a1", at, kind), kind, align)
    return out.text()


def prod(scope: Scope, node: Node) -> None:
    """Products over one dimension, or all."""
    x, dims, result = node.args[0], node.args[1], node.outputs[0]
    if x.dtype != "float32" or result.dtype != "float32" or 0 in x.shape:
        raise NotThisError("products are of float32")
    whole = dims is None or len(dims) == 0
    if not whole and len(dims) > 1:
        raise NotThisError("it multiplies over several dimensions")
    sizes = (1, math.prod(x.shape), 1) if whole else _sizes(x.shape, dims[0])
    scope.unit.add(prod_text(sizes, scope.unit.machine), scope.dense(x), scope.new(result))


def prod_text(sizes: Sizes, machine: Machine) -> str:
    """The function: an operand of three dimensions, and the products over the second."""
    out, (outer, count, inner) = Loops(machine, 2), sizes
    total = out.variable("float")
    with out.loop(outer) as i, out.loop(inner) as j:
        out.store(constant_float(1.0), total)
        with out.loop(count) as k:
            at = out.at("%a0", out.offset((i, count * inner), (k, inner), (j, 1)))
            out.store(out.add(f"fmul float {out.load(total)}, {out.load(at)}"), total)
        out.store(out.load(total), out.at("%a1", out.offset((i, inner), (j, 1))))
    return out.text()


def sort(scope: Scope, node: Node) -> None:
    """Elements in order, and where they stood; those that are equal keep theirs."""
    x, dim, descending = node.args[:3]
    sizes = _sizes(x.shape, dim)
    if x.dtype != "float32" or 0 in x.shape or sizes[1] > MOST_SORTED:
        raise NotThisError(f"rows of up to {MOST_SORTED} elements of float32 are sorted")
    text = sort_text(sizes, bool(descending), scope.unit.machine)
    scope.unit.add(text, scope.dense(x), *map(scope.new, node.outputs))


def sort_text(sizes: Sizes, descending: bool, machine: Machine) -> str:
    """The function: an operand of three dimensions, values and indices.

    An element goes where as many stand before it; NaN is greater than all numbers.
    """
    out, (outer, count, inner) = Loops(machine, 3), sizes
    rank, compare = out.variable("i64"), "ogt" if descending else "olt"
    with out.loop(outer) as i, out.loop(inner) as j:
        start = out.offset((i, count * inner), (j, 1))
        with out.loop(count) as k:
            value = out.load(out.at("%a0", out.offset((start, 1), (k, inner))))
            is_nan = out.add(f"fcmp uno float {value}, {value}")
            out.store("0", rank, "i64", 8)
            with out.loop(count) as m:
                other = out.load(out.at("%a0", out.offset((start, 1), (m, inner))))
                comes_first = _comes_first(out, compare, (other, value, is_nan), (m, k))
                before = out.load(rank, "i64", 8)
                one = out.add(f"zext i1 {comes_first} to i64")
                out.store(out.add(f"add i64 {before}, {one}"), rank, "i64", 8)
            to = out.offset((start, 1), (out.load(rank, "i64", 8), inner))
            out.store(value, out.at("%a1", to))
            out.store(k, out.at("%a2", to, "i64"), "i64", 8)
    return out.text()


def _comes_first(out: Loops, compare: str, values: tuple[str, str, str], at: tuple[str, str]
                 ) -> str:
    """Whether an element stands before another: by value, by NaN, or by position."""
    other, value, is_nan = values
    by_value = out.add(f"fcmp {compare} float {other}, {value}")
    other_nan = out.add(f"fcmp uno float {other}, {other}")
    first, last = (other_nan, is_nan) if compare == "ogt" else (is_nan, other_nan)
    differ = out.add(f"xor i1 {last}, true")
    by_nan = out.add(f"and i1 {first}, {differ}")
    both = out.add(f"and i1 {is_nan}, {other_nan}")
    same = out.add(f"or i1 {out.add(f'fcmp oeq float {other}, {value}')}, {both}")
    earlier = out.add(f"icmp slt i64 {at[0]}, {at[1]}")
    by_position = out.add(f"and i1 {same}, {earlier}")
    return out.add(f"or i1 {out.add(f'or i1 {by_value}, {by_nan}')}, {by_position}")
