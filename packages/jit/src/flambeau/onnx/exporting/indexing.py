"""Reading and writing by index."""

from __future__ import annotations

from typing import Any

from flambeau.jit.ir import Node, Value
from flambeau.onnx.exporting.builder import Builder, Name
from flambeau.onnx.exporting.table import emits, refuse


@emits("embedding_lookup")
def write_embedding(b: Builder, node: Node, weight: Value, indices: Value, *_: Any) -> Name:
    return b.add("Gather", b.of(weight), b.of(indices), axis=0)


@emits("index_select")
def write_index_select(b: Builder, node: Node, x: Value, dim: int, index: Value) -> Name:
    return b.add("Gather", b.of(x), b.of(index), axis=dim)


@emits("gather")
def write_gather(b: Builder, node: Node, x: Value, dim: int, index: Value) -> Name:
    if x.shape[:dim] + x.shape[dim % len(x.shape) + 1:] != \
            index.shape[:dim] + index.shape[dim % len(x.shape) + 1:]:
        name = b.of(x)
        for axis, size in enumerate(index.shape):       # ONNX wants the other sizes to be equal
            if axis != dim % len(x.shape):
                name = b.add("Slice", name, b.whole(0), b.size(size), b.whole(axis))
        return b.add("GatherElements", name, b.of(index), axis=dim)
    return b.add("GatherElements", b.of(x), b.of(index), axis=dim)


@emits("scatter.src")
def write_scatter(b: Builder, node: Node, x: Value, dim: int, index: Value, source: Value) -> Name:
    if source.shape != index.shape:
        refuse(node, "index and src must have one shape")
    return b.add("ScatterElements", b.of(x), b.of(index), b.of(source), axis=dim)


@emits("index")
def write_index(b: Builder, node: Node, x: Value, indices: tuple[Value | None, ...]) -> Name:
    given = [(i, index) for i, index in enumerate(indices) if index is not None]
    if any(index.dtype in ("bool", "uint8") for _, index in given):
        refuse(node, "masks give results of a size that depends on values; use where()")
    if len(given) == 1:
        dim, index = given[0]
        return b.add("Gather", b.of(x), b.of(index), axis=dim)
    if [i for i, _ in given] != list(range(len(given))):
        refuse(node, "indices of several dimensions that are not the first ones are not written; "
                     "permute them to the front")
    shape = node.outputs[0].shape[:len(node.outputs[0].shape) - (len(x.shape) - len(given))]
    columns = [b.add("Unsqueeze", b.add("Expand", b.operand(index, "int64"), b.shape(shape)),
                     b.whole(-1)) for _, index in given]
    return b.add("GatherND", b.of(x), b.add("Concat", *columns, axis=-1))
