"""Operators that are made of matrix products."""

from __future__ import annotations

import math
import struct
from dataclasses import replace

from flambeau.jit.ahead import product
from flambeau.jit.ahead.attention import FEW_QUERIES, MOST_KEYS, soften
from flambeau.jit.ahead.product import Shape, product_text
from flambeau.jit.ahead.rows import RowOperand
from flambeau.jit.ahead.scope import NotThisError, Scope
from flambeau.jit.ahead.unit import Place
from flambeau.jit.ir import Node


def linear(scope: Scope, node: Node) -> None:
    """``x @ weight.T + bias``; constant weights are laid out for the product now."""
    x, weight, bias = (*node.args, None)[:3]
    _check_types(node)
    if len(weight.shape) != 2:
        raise NotThisError("the weight has not two dimensions")
    source, w = scope.dense(x), scope.dense(weight)
    n, k = weight.shape
    m = math.prod(x.shape) // k
    shape = Shape(m, n, k, (k, 1), (1, k), n, bias=bias is not None)
    extra = [] if bias is None else [scope.dense(bias)]
    add_product(scope, shape, source, w, scope.new(node.outputs[0]), extra)


def matmul(scope: Scope, node: Node) -> None:
    """Products of matrices and of batches of them."""
    a, b = node.args[:2]
    _check_types(node)
    if len(a.shape) < 2 or len(b.shape) < 2:
        raise NotThisError("it takes vectors; unsqueeze them to matrices")
    x, y, result = scope.place(a), scope.place(b), scope.new(node.outputs[0])
    shape = _matmul_shape(x, y, result)
    if shape.is_dot(scope.unit.machine):    # both operands lie along their terms
        x = x if x.strides[-1] == 1 else scope.copy(x)
        y = y if y.strides[-2] == 1 else _turned(scope.copy(_turned(y)))
        shape = replace(_matmul_shape(x, y, result), form="dot")
    add_product(scope, shape, x, y, result, [])


def _matmul_shape(x: Place, y: Place, result: Place) -> Shape:
    lead = result.shape[:-2]
    batch = tuple(zip(lead, _lead(x, lead), _lead(y, lead), result.strides[:-2], strict=True))
    m, n, k = x.shape[-2], y.shape[-1], x.shape[-1]
    return Shape(m, n, k, (x.strides[-2], x.strides[-1]), (y.strides[-2], y.strides[-1]), n, batch)


def _turned(place: Place) -> Place:
    """The last two dimensions swapped."""
    return place.view((*place.shape[:-2], place.shape[-1], place.shape[-2]),
                      (*place.strides[:-2], place.strides[-1], place.strides[-2]))


def _lead(place: Place, lead: tuple[int, ...]) -> list[int]:
    """Strides of the leading dimensions, 0 where they are broadcast."""
    own = list(zip(place.shape[:-2], place.strides[:-2], strict=True))
    return [0] * (len(lead) - len(own)) + [0 if n == 1 else s for n, s in own]


def add_product(
    scope: Scope, shape: Shape, a: Place, b: Place, c: Place, extra: list[Place]
) -> None:
    """A step that multiplies; ``b`` is packed now where it is constant, else in the arena."""
    unit = scope.unit
    operands = [a, b, c, *extra]
    if not shape.is_dot(unit.machine):
        wide = product.columns(unit.machine)
        size = -(-shape.n // wide) * wide * shape.k
        if b.buffer.kind == "weights" and not shape.batch:
            shape = replace(shape, packed=True)
            operands[1] = unit.constant(_packed(unit.bytes_of(b), shape, wide), "float32", (size,))
        else:
            operands.append(unit.temporary("float32", (size,)))
    unit.add(product_text(shape, unit.machine), *operands)


def _packed(data: bytes, shape: Shape, wide: int) -> bytes:
    """What ``product.pack`` makes of a constant whose rows lie along the terms or across."""
    values = memoryview(data).cast("f")
    zero = struct.pack("f", 0.0)
    out = bytearray()
    for first in range(0, shape.n, wide):
        width = min(wide, shape.n - first)
        start = first * shape.b[1]
        for k in range(shape.k):
            at = start + k * shape.b[0]
            out += values[at:at + width * shape.b[1]:shape.b[1]].tobytes()
            out += zero * (wide - width)
    return bytes(out)


def attention(scope: Scope, node: Node) -> None:
    """``softmax(scale * q @ k.T + mask) @ v`` head by head."""
    query, key, value, mask = node.args[:4]
    rest = dict(zip(("causal", "scale"), node.args[4:], strict=False))
    _check_types(node, mask)
    if rest.get("causal"):
        raise NotThisError("it is causal and has a mask; give one mask of bools for both")
    if scope.is_used(node.outputs[1]):
        raise NotThisError("its second result, the logarithm of sums, is used")
    if key.shape[-2] > MOST_KEYS:
        raise NotThisError(f"{key.shape[-2]} keys, and {MOST_KEYS} is the most")
    q, k, v = (scope.place(each) for each in (query, key, value))
    if q.shape[:-2] != k.shape[:-2] or k.shape[:-2] != v.shape[:-2]:
        raise NotThisError("queries and keys of different heads")
    m, keys, dim = q.shape[-2], k.shape[-2], q.shape[-1]
    heads = q.shape[:-2]
    scale = rest.get("scale")
    scale = 1 / math.sqrt(dim) if scale is None else float(scale)
    scores = scope.unit.temporary("float32", (*heads, m, keys))
    if m <= FEW_QUERIES and q.strides[-1] != 1:
        q = scope.dense(query)
    if m <= FEW_QUERIES and k.strides[-1] != 1:
        k = scope.dense(key)
    batch = tuple(zip(heads, q.strides[:-2], k.strides[:-2], scores.strides[:-2], strict=True))
    shape = Shape(m, keys, dim, (q.strides[-2], q.strides[-1]), (k.strides[-1], k.strides[-2]),
                  keys, batch, form="dot" if m <= FEW_QUERIES else "tile")
    add_product(scope, shape, q, k, scores, [])
    inverse = _softened(scope, scores, scope.places.get(mask) if mask is not None else None, scale)
    out = scope.new(node.outputs[0])
    batch = tuple(zip(heads, scores.strides[:-2], v.strides[:-2], out.strides[:-2], strict=True))
    shape = Shape(m, v.shape[-1], keys, (keys, 1), (v.strides[-2], v.strides[-1]), v.shape[-1],
                  batch, scale=True, form="tile")
    add_product(scope, shape, scores, v, out, [inverse])


def _softened(scope: Scope, scores: Place, mask: Place | None, scale: float) -> Place:
    """Turn scores into powers where they lie; one over the sum of each row."""
    unit, keys = scope.unit, scores.shape[-1]
    rows = scores.numel // keys
    inverse = unit.temporary("float32", (rows,))
    operand, places = None, [scores]
    if mask is not None:
        pad = len(scores.shape) - len(mask.shape)
        strides = [0] * pad + [0 if n == 1 else s
                               for n, s in zip(mask.shape, mask.strides, strict=True)]
        mask = mask.view(scores.shape, strides)
        is_shared = all(s == 0 or n == 1 for n, s in
                        zip(mask.shape[:-1], mask.strides[:-1], strict=True))
        if not is_shared or mask.strides[-1] != 1:
            mask = scope.copy(mask)
        operand = RowOperand(mask.dtype, 0 if is_shared and mask.strides[-2] == 0 else keys, True)
        places.append(mask)
    made = soften(rows, keys, scale, operand, unit.machine)
    places += [scores, inverse]
    if made.kept:
        places.append(unit.temporary("uint8", (made.kept,)))
    unit.add(made.text, *places)
    return inverse


def _check_types(node: Node, mask: object = None) -> None:
    for each in node.inputs:
        if each is not mask and each.dtype != "float32":
            raise NotThisError(f"operands are of {each.dtype}, and only float32 is multiplied")
    if any(0 in each.shape for each in (*node.inputs, *node.outputs)):
        raise NotThisError("a tensor without elements")
