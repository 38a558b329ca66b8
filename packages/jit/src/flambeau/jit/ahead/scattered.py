"""Operators that write or add elements where indices say."""

from __future__ import annotations

import math

from flambeau.jit.ahead.fixed import shape_of
from flambeau.jit.ahead.loops import Loops
from flambeau.jit.ahead.moves import checked_index
from flambeau.jit.ahead.scope import NotThisError, Scope
from flambeau.jit.ahead.unit import Place
from flambeau.jit.ahead.views import expanded_to
from flambeau.jit.ir import Node, Value
from flambeau.jit.itemsizes import SIZE
from flambeau.jit.llvm.emitter import constant_float
from flambeau.jit.llvm.grid import contiguous_strides
from flambeau.jit.llvm.machine import Machine

_KINDS = {"float32": "float", "int64": "i64"}


def _begun(scope: Scope, node: Node, indices: Value) -> Place:
    """The result, with what it begins as."""
    x, result = node.args[0], node.outputs[0]
    if x.dtype not in _KINDS or 0 in (*x.shape, *indices.shape) or not x.shape:
        raise NotThisError("tensors of float32 and int64 are written to, with elements")
    if indices.dtype not in ("int64", "int32"):
        raise NotThisError("indices are integers")
    to = scope.new(result)
    if scope.place(x) != to:
        scope.copy_to(scope.place(x), to)
    return to


def scatter(scope: Scope, node: Node) -> None:
    """``scatter`` and ``scatter_add``: an index for each element."""
    x, dim, index, source = node.args[:4]
    to = _begun(scope, node, index)
    is_tensor = isinstance(source, Value)
    if is_tensor and source.dtype != x.dtype:
        raise NotThisError("what is written has another dtype")
    dim %= len(x.shape)
    constant = "" if is_tensor else _constant(source, x.dtype)
    text = scatter_text(shape_of(index), (x.shape, source.shape if is_tensor else None), dim,
                        (x.dtype, constant, node.op == "scatter_add"), SIZE[index.dtype],
                        scope.unit.machine)
    given = scope.dense(source) if is_tensor else to
    scope.unit.add(text, *([given] if is_tensor else []), scope.dense(index), to,
                   scope.unit.status)


def _constant(value: float, dtype: str) -> str:
    if dtype == "int64":
        return str(int(value))
    import numpy as np

    return constant_float(float(np.float32(value)))


def scatter_text(shape: tuple[int, ...], shapes: tuple[tuple[int, ...], tuple[int, ...] | None],
                 dim: int, what: tuple[str, str, bool], index_bytes: int, machine: Machine) -> str:
    """The function: a source unless it is a number, indices, the result, the status."""
    (dtype, constant, adds), kind = what, _KINDS[what[0]]
    target, source = contiguous_strides(shapes[0]), contiguous_strides(shapes[1] or shape)
    steps, size = contiguous_strides(shape), SIZE[dtype]
    out = Loops(machine, 3 if constant else 4)
    names = ("", "%a0", "%a1", "%a2") if constant else ("%a0", "%a1", "%a2", "%a3")
    with out.loops(shape) as at:
        pointer = out.at(names[1], out.offset(*zip(at, steps, strict=True)), f"i{8 * index_bytes}")
        row = checked_index(out, pointer, index_bytes, shapes[0][dim], False, names[3])
        value = constant or out.load(out.at(names[0], out.offset(
            *zip(at, source, strict=True)), kind), kind, size)
        terms = [(row if d == dim else index, target[d]) for d, index in enumerate(at)]
        _put(out, out.at(names[2], out.offset(*terms), kind), value, (kind, size, adds))
    return out.text()


def _put(out: Loops, to: str, value: str, how: tuple[str, int, bool]) -> None:
    """Write an element, or add to it."""
    kind, size, adds = how
    if adds:
        act = "fadd" if kind == "float" else "add"
        value = out.add(f"{act} {kind} {out.load(to, kind, size)}, {value}")
    out.store(value, to, kind, size)


def index_put(scope: Scope, node: Node) -> None:
    """Slices of one dimension become others, or are added to; negative indices from the end."""
    x, indices, values = node.args[:3]
    given = [k for k, each in enumerate(indices) if each is not None]
    if len(given) != 1:
        raise NotThisError("only one dimension is indexed")
    dim, index = given[0], indices[given[0]]
    to = _begun(scope, node, index)
    if values.dtype != x.dtype:
        raise NotThisError("what is written has another dtype")
    shape = (*x.shape[:dim], *index.shape, *x.shape[dim + 1:])
    _slices(scope, (dim, True, bool(node.args[3])), index,
            expanded_to(scope.place(values), shape), to)


def index_add(scope: Scope, node: Node) -> None:
    """Slices are added to those that indices choose."""
    x, dim, index, source = node.args[:4]
    if len(node.args) > 4 and node.args[4] != 1:
        raise NotThisError("alpha is another number than 1")
    to = _begun(scope, node, index)
    if source.dtype != x.dtype:
        raise NotThisError("what is added has another dtype")
    _slices(scope, (dim % len(x.shape), False, True), index, scope.place(source), to)


def _slices(scope: Scope, how: tuple[int, bool, bool], index: Value, source: Place, to: Place
            ) -> None:
    dim, wraps, adds = how
    sizes = (math.prod(to.shape[:dim]), to.shape[dim], math.prod(shape_of(index)),
             math.prod(to.shape[dim + 1:]))
    text = slices_text(sizes, to.dtype, (wraps, adds), SIZE[index.dtype], scope.unit.machine)
    dense = source if source.is_dense() else scope.copy(source)
    scope.unit.add(text, dense, scope.dense(index), to, scope.unit.status)


def slices_text(sizes: tuple[int, int, int, int], dtype: str, how: tuple[bool, bool],
                index_bytes: int, machine: Machine) -> str:
    """The function: slices ``[outer, count, inner]``, indices, the result, the status."""
    (outer, rows, count, inner), (wraps, adds) = sizes, how
    out, kind, size = Loops(machine, 4), _KINDS[dtype], SIZE[dtype]
    with out.loop(count) as k:
        pointer = out.at("%a1", k, f"i{8 * index_bytes}")
        row = checked_index(out, pointer, index_bytes, rows, wraps)
        with out.loop(outer) as i, out.loop(inner) as j:
            source = out.at("%a0", out.offset((i, count * inner), (k, inner), (j, 1)), kind)
            to = out.at("%a2", out.offset((i, rows * inner), (row, inner), (j, 1)), kind)
            _put(out, to, out.load(source, kind, size), (kind, size, adds))
    return out.text()
