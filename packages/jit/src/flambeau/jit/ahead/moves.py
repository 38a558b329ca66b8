"""Operators that move elements: joined tensors, and elements chosen by index."""

from __future__ import annotations

import math
from collections.abc import Sequence

from flambeau.jit.ahead.fixed import shape_of
from flambeau.jit.ahead.loops import Loops
from flambeau.jit.ahead.scope import NotThisError, Scope
from flambeau.jit.ahead.unit import Place
from flambeau.jit.ir import Node
from flambeau.jit.itemsizes import SIZE
from flambeau.jit.llvm.grid import contiguous_strides
from flambeau.jit.llvm.machine import Machine


def cat(scope: Scope, node: Node) -> None:
    """Each tensor is copied to its part of the result."""
    tensors, dim = node.args
    result = scope.new(node.outputs[0])
    dim %= max(len(result.shape), 1)
    start = 0
    for value in tensors:
        if len(value.shape) != len(result.shape):
            continue            # an empty tensor of another rank, which PyTorch leaves out
        if value.dtype != result.dtype:
            raise NotThisError("it joins tensors of several dtypes")
        part = scope.place(value)
        if part.numel:
            shape = list(result.shape)
            shape[dim] = part.shape[dim]
            to = result.view(shape, result.strides, start * result.strides[dim])
            scope.copy_to(part, to)
        start += part.shape[dim]


def index_select(scope: Scope, node: Node) -> None:
    """Slices of one dimension."""
    x, dim, index = node.args
    dim %= max(len(x.shape), 1)
    shape = list(x.shape)
    shape[dim:dim + 1] = [math.prod(index.shape)]
    _take(scope, node, dim, shape, wraps=False)


def index(scope: Scope, node: Node) -> None:
    """Slices of one dimension, which one tensor of indices chooses; negative ones from the end."""
    x, indices = node.args
    given = [k for k, each in enumerate(indices) if each is not None]
    if len(given) != 1 or indices[given[0]].dtype not in ("int64", "int32"):
        raise NotThisError("only one dimension is indexed, by integers")
    _take(scope, _as_select(node, given[0], indices[given[0]]), given[0],
          shape_of(node.outputs[0]), wraps=True)


def _as_select(node: Node, dim: int, which: object) -> Node:
    """The same as ``index_select``."""
    return Node("index_select", (node.args[0], dim, which), node.outputs, where=node.where)


def _take(scope: Scope, node: Node, dim: int, shape: Sequence[int], wraps: bool) -> None:
    x, _, which = node.args
    outer, inner = math.prod(x.shape[:dim]), math.prod(x.shape[dim + 1:])
    sizes = (outer, x.shape[dim], math.prod(which.shape), inner)
    if 0 in sizes:
        raise NotThisError("a tensor without elements")
    text = take_text(sizes, SIZE[x.dtype], SIZE[which.dtype], wraps, scope.unit.machine)
    scope.unit.add(text, scope.dense(x), scope.dense(which), scope.new(node.outputs[0]),
                   scope.unit.status)


def gather(scope: Scope, node: Node) -> None:
    """Elements whose index in one dimension a tensor says."""
    x, dim, which = node.args
    if 0 in (*x.shape, *which.shape) or not x.shape:
        raise NotThisError("a tensor without elements, or without dimensions")
    dim %= len(x.shape)
    text = gather_text(scope.dense(x), shape_of(which), dim, SIZE[which.dtype], scope.unit.machine)
    scope.unit.add(text, scope.dense(x), scope.dense(which), scope.new(node.outputs[0]),
                   scope.unit.status)


def take_text(sizes: tuple[int, int, int, int], bytes_: int, index_bytes: int, wraps: bool,
              machine: Machine) -> str:
    """The function: an operand ``[outer, rows, inner]``, indices, the result, the status."""
    (outer, rows, count, inner), kind = sizes, f"i{8 * bytes_}"
    out = Loops(machine, 4)
    with out.loop(count) as k:
        row = checked_index(out, out.at("%a1", k, f"i{8 * index_bytes}"), index_bytes, rows, wraps)
        with out.loop(outer) as i, out.loop(inner) as j:
            source = out.at("%a0", out.offset((i, rows * inner), (row, inner), (j, 1)), kind)
            to = out.at("%a2", out.offset((i, count * inner), (k, inner), (j, 1)), kind)
            out.store(out.load(source, kind, bytes_), to, kind, bytes_)
    return out.text()


def gather_text(x: Place, shape: tuple[int, ...], dim: int, index_bytes: int, machine: Machine
                ) -> str:
    """The function: an operand, indices, the result, the status."""
    bytes_ = SIZE[x.dtype]
    kind, steps = f"i{8 * bytes_}", contiguous_strides(shape)
    strides = contiguous_strides(x.shape)
    out = Loops(machine, 4)
    with out.loops(shape) as at:
        here = out.offset(*zip(at, steps, strict=True))
        row = checked_index(out, out.at("%a1", here, f"i{8 * index_bytes}"), index_bytes,
                            x.shape[dim], False)
        terms = [(row if d == dim else index, strides[d]) for d, index in enumerate(at)]
        value = out.load(out.at("%a0", out.offset(*terms), kind), kind, bytes_)
        out.store(value, out.at("%a2", here, kind), kind, bytes_)
    return out.text()


def checked_index(out: Loops, pointer: str, bytes_: int, rows: int, wraps: bool,
                  status: str = "%a3") -> str:
    """An index as 64 bits; outside of the rows it makes the status 1, and is 0."""
    index = out.load(pointer, f"i{8 * bytes_}", bytes_)
    if bytes_ < 8:
        index = out.add(f"sext i{8 * bytes_} {index} to i64")
    if wraps:
        is_negative = out.add(f"icmp slt i64 {index}, 0")
        behind = out.add(f"add i64 {index}, {rows}")
        index = out.add(f"select i1 {is_negative}, i64 {behind}, i64 {index}")
    outside = out.add(f"icmp uge i64 {index}, {rows}")
    before = out.load(status, "i32")
    flag = out.add(f"zext i1 {outside} to i32")
    out.store(out.add(f"or i32 {before}, {flag}"), status, "i32")
    return out.add(f"select i1 {outside}, i64 0, i64 {index}")
