"""Reductions, scans, order."""

from __future__ import annotations

import math
from typing import Any

from flambeau.jit.ir import Node, Value
from flambeau.onnx.exporting.builder import Builder, Name
from flambeau.onnx.exporting.table import emits, refuse

_WORDS = {"sum": "ReduceSum", "mean": "ReduceMean", "amax": "ReduceMax", "amin": "ReduceMin",
          "prod": "ReduceProd", "logsumexp": "ReduceLogSumExp"}


def axes_of(dim: Any, rank: int) -> list[int]:
    """The dimensions that are reduced."""
    if dim is None or dim == ():
        return list(range(rank))
    return [d % rank if rank else 0 for d in ([dim] if isinstance(dim, int) else dim)]


def reduced(b: Builder, word: str, name: Name, dim: Any, rank: int, keepdim: Any) -> Name:
    """One of ONNX's reductions over some dimensions."""
    if rank == 0:
        return name
    return b.add(word, name, b.whole(*axes_of(dim, rank)), keepdims=int(bool(keepdim)))


@emits(*_WORDS)
def write_reduce(b: Builder, node: Node, x: Value, dim: Any = None, keepdim: Any = False,
            dtype: Any = None) -> Name:
    name = b.operand(x, node.outputs[0].dtype)
    if node.op == "mean" and any(x.shape[axis] == 0 for axis in axes_of(dim, len(x.shape))):
        nan = b.constant(math.nan, node.outputs[0].dtype)
        return b.add("Expand", nan, b.shape(node.outputs[0].shape))
    return reduced(b, _WORDS[node.op], name, dim, len(x.shape), keepdim)


@emits("any", "all")
def write_truth(b: Builder, node: Node, x: Value, dim: Any = None, keepdim: Any = False) -> Name:
    word = "ReduceMax" if node.op == "any" else "ReduceMin"
    whole = b.cast(b.operand(x, "bool"), "bool", "int32")
    result = reduced(b, word, whole, dim, len(x.shape), keepdim)
    return b.cast(result, "int32", node.outputs[0].dtype)


@emits("argmax", "argmin")
def write_arg(b: Builder, node: Node, x: Value, dim: Any = None, keepdim: Any = False) -> Name:
    word = "ArgMax" if node.op == "argmax" else "ArgMin"
    if dim is None:
        flat = b.add("Reshape", b.of(x), b.whole(-1))
        first = b.add(word, flat, axis=0, keepdims=0)
        return b.add("Reshape", first, b.whole(*[1] * len(x.shape))) if keepdim else first
    return b.add(word, b.of(x), axis=dim, keepdims=int(bool(keepdim)))


@emits("max.dim", "min.dim")
def write_extreme(b: Builder, node: Node, x: Value, dim: int, keepdim: Any = False) -> list[Name]:
    words = ("ReduceMax", "ArgMax") if node.op == "max.dim" else ("ReduceMin", "ArgMin")
    value = reduced(b, words[0], b.of(x), dim, len(x.shape), keepdim)
    return [value, b.add(words[1], b.of(x), axis=dim, keepdims=int(bool(keepdim)))]


def count_of(b: Builder, x: Value, axes: list[int], dtype: str) -> Name:
    """How many elements a reduction takes together."""
    total = b.constant(math.prod(s for a in axes if isinstance(s := x.shape[a], int)), dtype)
    for axis in axes:
        if not isinstance(x.shape[axis], int):
            total = b.add("Mul", total, b.operand(x.shape[axis], dtype))
    return total


@emits("var", "std")
def write_variance(b: Builder, node: Node, x: Value, dim: Any = None, correction: Any = 1,
              keepdim: Any = False) -> Name:
    rank, axes = len(x.shape), axes_of(dim, len(x.shape))
    if any(x.shape[axis] == 0 for axis in axes):
        nan = b.constant(math.nan, x.dtype)
        return b.add("Expand", nan, b.shape(node.outputs[0].shape))
    mean = reduced(b, "ReduceMean", b.of(x), dim, rank, True)
    away = b.add("Sub", b.of(x), mean)
    total = reduced(b, "ReduceSum", b.add("Mul", away, away), dim, rank, keepdim)
    count = b.add("Sub", count_of(b, x, axes, x.dtype),
                  b.constant(1 if correction is None else correction, x.dtype))
    result = b.add("Div", total, count)
    return result if node.op == "var" else b.add("Sqrt", result)


@emits("norm_of")
def write_norm(b: Builder, node: Node, x: Value, p: Any, dim: Any = None, keepdim: Any = False,
          dtype: Any = None) -> Name:
    word = {1.0: "ReduceL1", 2.0: "ReduceL2", math.inf: "ReduceMax"}.get(float(p))
    if word is None:
        refuse(node, f"norms of order {p} are not written; 1, 2 and inf are")
    name = b.operand(x, node.outputs[0].dtype)
    return reduced(b, str(word), b.add("Abs", name), dim, len(x.shape), keepdim)


@emits("cumsum")
def write_cumsum(b: Builder, node: Node, x: Value, dim: int, dtype: Any = None) -> Name:
    return b.add("CumSum", b.operand(x, node.outputs[0].dtype), b.constant(dim, "int64"))


@emits("topk")
def write_topk(b: Builder, node: Node, x: Value, k: Any, dim: int = -1, largest: Any = True,
          is_sorted: Any = True) -> list[Name]:
    return b.add_several(2, "TopK", b.of(x), b.size(k), axis=dim, largest=int(bool(largest)),
                         sorted=int(bool(is_sorted)))


@emits("sort")
def write_sort(b: Builder, node: Node, x: Value, dim: int = -1, descending: Any = False,
          stable: Any = False) -> list[Name]:
    if not x.shape:
        return [b.of(x), b.constant(0, "int64")]
    return b.add_several(2, "TopK", b.of(x), b.size(x.shape[dim]), axis=dim,
                         largest=int(bool(descending)), sorted=1)
