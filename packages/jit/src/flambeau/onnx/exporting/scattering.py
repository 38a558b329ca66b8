"""Writing by index, one-hot rows, bags of embeddings."""

from __future__ import annotations

from typing import Any

from flambeau.jit.ir import Node, Value
from flambeau.onnx.exporting.builder import DTYPES, Builder, Name
from flambeau.onnx.exporting.table import emits, refuse
from flambeau.onnx.exporting.windows import fixed

_REDUCTIONS = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min", "add": "add",
               "multiply": "mul"}


def _scattered(b: Builder, x: Value, dim: int, index: Value, name: Name, reduction: str) -> Name:
    return b.add("ScatterElements", b.of(x), b.cast(b.of(index), index.dtype, "int64"), name,
                 axis=dim, reduction=None if reduction == "none" else reduction)


@emits("scatter.value")
def write_scatter_value(b: Builder, node: Node, x: Value, dim: int, index: Value, value: Any
                        ) -> Name:
    filled = b.add("Expand", b.operand(value, x.dtype), b.shape(index.shape))
    return _scattered(b, x, dim, index, filled, "none")


@emits("scatter_add")
def write_scatter_add(b: Builder, node: Node, x: Value, dim: int, index: Value, source: Value
                      ) -> Name:
    return _scattered(b, x, dim, index, _part(b, source, index), "add")


@emits("scatter_reduce")
def write_scatter_reduce(b: Builder, node: Node, x: Value, dim: int, index: Value, source: Value,
                         reduce: str, include_self: Any = True) -> Name:
    if reduce not in _REDUCTIONS or not include_self:
        refuse(node, f"reduce={reduce!r}, include_self={include_self} has no form in ONNX; sum, "
                     "prod, amax and amin with include_self=True have")
    return _scattered(b, x, dim, index, _part(b, source, index), _REDUCTIONS[reduce])


def _part(b: Builder, source: Value, index: Value) -> Name:
    """The elements of a source that an index, which may be smaller, has places for."""
    name = b.of(source)
    for axis, (n, m) in enumerate(zip(source.shape, index.shape, strict=True)):
        if n != m:
            name = b.add("Slice", name, b.whole(0), b.size(m), b.whole(axis))
    return name


@emits("index_put")
def write_index_put(b: Builder, node: Node, x: Value, indices: tuple[Value | None, ...],
                    values: Value, accumulate: Any = False) -> Name:
    given = [index for index in indices if index is not None]
    if list(indices[:len(given)]) != given:
        refuse(node, "indices of dimensions that are not the first ones are not written; permute "
                     "them to the front")
    mask = given[0]
    if mask.dtype in ("bool", "uint8"):
        if len(given) > 1 or values.shape or bool(accumulate):
            refuse(node, "a mask with several values is not written; use where()")
        name = b.cast(b.of(mask), mask.dtype, "bool")
        for axis in range(len(mask.shape), len(x.shape)):
            name = b.add("Unsqueeze", name, b.whole(axis))
        return b.add("Where", name, b.operand(values, x.dtype), b.of(x))
    shape = _broadcast(node, [index.shape for index in given])
    columns = [b.add("Unsqueeze", b.add("Expand", b.operand(index, "int64"), b.shape(shape)),
                     b.whole(-1)) for index in given]
    whole = b.add("Expand", b.operand(values, x.dtype), b.shape((*shape, *x.shape[len(given):])))
    return b.add("ScatterND", b.of(x), b.add("Concat", *columns, axis=-1), whole,
                 reduction="add" if accumulate else None)


def _broadcast(node: Node, shapes: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    rank = max(map(len, shapes))
    wide = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return tuple(next((n for n in sizes if n != 1), 1) for sizes in zip(*wide, strict=True))


@emits("index_add")
def write_index_add(b: Builder, node: Node, x: Value, dim: int, index: Value, source: Value,
                    alpha: Any = 1) -> Name:
    dim = dim % len(x.shape)
    places = b.cast(b.of(index), index.dtype, "int64")
    for axis in range(len(x.shape)):
        if axis != dim:
            places = b.add("Unsqueeze", places, b.whole(axis))
    places = b.add("Expand", places, b.shape(source.shape))
    name = b.of(source) if alpha == 1 else b.add("Mul", b.of(source), b.operand(alpha, x.dtype))
    return b.add("ScatterElements", b.of(x), places, name, axis=dim, reduction="add")


@emits("one_hot_rows")
def write_one_hot(b: Builder, node: Node, x: Value, classes: Any) -> Name:
    return b.add("OneHot", b.of(x), b.size(classes), b.constant([0, 1], "int64"), axis=-1)


@emits("bucketize")
def write_bucketize(b: Builder, node: Node, x: Value, bounds: Value, out_int32: Any = False,
                    right: Any = False) -> Name:
    """How many bounds lie below."""
    name = b.add("Unsqueeze", b.of(x), b.whole(-1))
    below = b.add("GreaterOrEqual" if right else "Greater", name, b.operand(bounds, x.dtype))
    count = b.add("ReduceSum", b.cast(below, "bool", "int64"), b.whole(-1), keepdims=0)
    return b.cast(count, "int64", node.outputs[0].dtype)


@emits("embedding_bag_rows")
def write_embedding_bag(b: Builder, node: Node, weight: Value, indices: Value, offsets: Value,
                        scales: Value | None = None, mode: int = 0, last: Any = False,
                        padding: int = -1, by_frequency: Any = False) -> Name:
    """Rows added, or the greatest taken, at the number of their bag."""
    dtype, bags = weight.dtype, node.outputs[0].shape[0]
    (count_of_rows,) = fixed(node, weight.shape[0])
    numbers = b.cast(b.of(indices), indices.dtype, "int64")
    place = b.add("Unsqueeze", b.add("Range", b.constant(0, "int64"), b.add("Size", numbers),
                                     b.constant(1, "int64")), b.whole(-1))
    starts = b.cast(b.of(offsets), offsets.dtype, "int64")
    begun = b.cast(b.add("LessOrEqual", starts, place), "bool", "int64")
    bag = b.add("Sub", b.add("ReduceSum", begun, b.whole(-1), keepdims=1), b.whole(1))
    rows = b.add("Gather", b.of(weight), numbers, axis=0)
    kept = b.add("Unsqueeze", b.add("Not", b.add("Equal", numbers, b.constant(
        padding % count_of_rows if padding >= 0 else -1, "int64"))), b.whole(-1))
    if scales is not None:
        rows = b.add("Mul", rows, b.add("Unsqueeze", b.of(scales), b.whole(-1)))
    start = "-inf" if mode == 2 else 0
    rows = b.add("Where", kept, rows, b.constant(float(start), dtype))
    empty = b.add("Expand", b.constant(float(start), dtype), b.shape((bags, weight.shape[1])))
    places = b.add("Expand", bag, b.add("Shape", rows))
    summed = b.add("ScatterElements", empty, places, rows, axis=0,
                   reduction="max" if mode == 2 else "add")
    ones = b.cast(kept, "bool", dtype)
    none = b.add("Expand", b.constant(0, dtype), b.shape((bags, 1)))
    count = b.add("ScatterElements", none, bag, ones, axis=0, reduction="add")
    if mode == 1:
        return b.add("Div", summed, b.add("Max", count, b.constant(1, dtype)))
    if mode == 2:
        return b.add("Where", b.add("Cast", count, to=DTYPES["bool"]), summed,
                     b.constant(0, dtype))
    return summed
