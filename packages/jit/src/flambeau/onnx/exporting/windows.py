"""Windows of images: columns, views by steps, pooling to a size, places of the greatest."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from flambeau.jit.dims import Dim
from flambeau.jit.ir import Node, Value
from flambeau.onnx.exporting.builder import Builder, Name
from flambeau.onnx.exporting.shapes import reshaped
from flambeau.onnx.exporting.table import each, emits, refuse


def fixed(node: Node, *sizes: Any) -> list[int]:
    """Sizes that do not vary, as some operators need them."""
    if any(not isinstance(size, int) for size in sizes):
        refuse(node, f"the sizes {list(sizes)} must not vary here; trace it with dynamic=False")
    return [int(size) for size in sizes]


@emits("im2col")
def write_im2col(b: Builder, node: Node, x: Value, kernel: Any, dilation: Any = 1,
                 padding: Any = 0, stride: Any = 1) -> Name:
    """Windows as columns: elements read by their number in the padded image."""
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = (each(v, 2) for v in (
        kernel, dilation, padding, stride))
    h, w = fixed(node, *x.shape[-2:])
    h, w = h + 2 * ph, w + 2 * pw
    rows = np.arange(kh)[:, None] * dh + np.arange((h - dh * (kh - 1) - 1) // sh + 1) * sh
    columns = np.arange(kw)[:, None] * dw + np.arange((w - dw * (kw - 1) - 1) // sw + 1) * sw
    places = rows[:, None, :, None] * w + columns[None, :, None, :]
    lead = [0] * (len(x.shape) - 2)
    name = b.add("Pad", b.of(x), b.whole(*lead, ph, pw, *lead, ph, pw)) if ph or pw else b.of(x)
    flat = b.add("Reshape", name, b.shape((*x.shape[:-2], h * w)), allowzero=1)
    taken = b.add("Gather", flat, b.constant(places.reshape(kh * kw, -1), "int64"), axis=-1)
    return reshaped(b, taken, node.outputs[0].shape)


@emits("col2im")
def write_col2im(b: Builder, node: Node, x: Value, image: Any, kernel: Any, dilation: Any = 1,
                 padding: Any = 0, stride: Any = 1) -> Name:
    name = b.of(x) if len(x.shape) == 3 else b.add("Unsqueeze", b.of(x), b.whole(0))
    made = b.add("Col2Im", name, b.whole(*each(image, 2)), b.whole(*each(kernel, 2)),
                 dilations=each(dilation, 2), pads=each(padding, 2) * 2, strides=each(stride, 2))
    return made if len(x.shape) == 3 else b.add("Squeeze", made, b.whole(0))


@emits("unfold")
def write_unfold(b: Builder, node: Node, x: Value, dim: int, size: int, step: int) -> Name:
    if not x.shape:
        return b.add("Unsqueeze", b.of(x), b.whole(0))
    dim = dim % len(x.shape)
    count = node.outputs[0].shape[dim]
    if isinstance(count, Dim):
        first = b.add("Range", *(b.operand(n, "int64") for n in (0, count, 1)))
        first = b.add("Mul", b.add("Unsqueeze", first, b.whole(1)), b.whole(step))
        places = b.add("Add", first, b.whole(*range(size)))
    else:
        places = b.constant(np.arange(count)[:, None] * step + np.arange(size), "int64")
    taken = b.add("Gather", b.of(x), places, axis=dim)
    order = [d for d in range(len(x.shape) + 1) if d != dim + 1]
    return b.add("Transpose", taken, perm=[*order, dim + 1])


def _edges(n: int, count: int) -> list[tuple[int, int]]:
    """Where the parts of a dimension begin and end; they overlap where they do not divide it."""
    return [(i * n // count, -(-(i + 1) * n // count)) for i in range(count)]


@emits("adaptive_mean")
def write_adaptive_mean(b: Builder, node: Node, x: Value, dim: int, count: int) -> Name:
    """A product with the matrix of means."""
    n, count = fixed(node, x.shape[dim], count)
    matrix = np.zeros((n, count))
    for i, (first, last) in enumerate(_edges(n, count)):
        matrix[first:last, i] = 1 / (last - first)
    order = list(range(len(x.shape)))
    order[dim], order[-1] = order[-1], order[dim]
    product = b.add("MatMul", b.add("Transpose", b.of(x), perm=order),
                    b.constant(matrix, x.dtype))
    return b.add("Transpose", product, perm=order)


@emits("adaptive_max")
def write_adaptive_max(b: Builder, node: Node, x: Value, dim: int, count: int) -> Name:
    n, count = fixed(node, x.shape[dim], count)
    parts = [b.add("ReduceMax", b.add("Slice", b.of(x), b.whole(first), b.whole(last),
                                      b.whole(dim)), b.whole(dim), keepdims=1)
             for first, last in _edges(n, count)]
    return b.add("Concat", *parts, axis=dim)


@emits("diagonal")
def write_diagonal(b: Builder, node: Node, x: Value, offset: int = 0, dim1: int = 0,
                   dim2: int = 1) -> Name:
    rank = len(x.shape)
    first, second = dim1 % rank, dim2 % rank
    n, m = fixed(node, x.shape[first], x.shape[second])
    rest = [d for d in range(rank) if d not in (first, second)]
    flat = b.add("Reshape", b.add("Transpose", b.of(x), perm=[*rest, first, second]),
                 b.shape((*(x.shape[d] for d in rest), n * m)), allowzero=1)
    places = np.arange(n * m).reshape(n, m).diagonal(offset)
    return b.add("Gather", flat, b.constant(places, "int64"), axis=-1)


@emits("as_strided")
def write_as_strided(b: Builder, node: Node, x: Value, size: Any, stride: Any,
                     offset: Any = None) -> Name:
    count = math.prod(fixed(node, *x.shape))
    fixed(node, *size)
    places = np.full((), offset or 0)
    for n, s in zip(size, stride, strict=True):
        places = places[..., None] + np.arange(n) * s
    if places.size and int(places.max()) >= count:
        refuse(node, "it reads memory beyond its tensor")
    flat = b.add("Reshape", b.of(x), b.whole(-1))
    return b.add("Gather", flat, b.constant(places, "int64"), axis=0)


def places_in_planes(b: Builder, name: Name, x: Value, n: int) -> Name:
    """Numbers of elements in their own plane; ONNX counts through all planes."""
    plane = b.whole(1)
    for size in x.shape[-n:]:
        plane = b.add("Mul", plane, b.size(size))
    return b.add("Mod", name, plane)
