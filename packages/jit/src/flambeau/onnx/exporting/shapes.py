"""Views, joins and padding."""

from __future__ import annotations

from typing import Any

from flambeau.jit.dims import Dim, Size
from flambeau.jit.ir import Node, Value
from flambeau.onnx.exporting.builder import DTYPES, Builder, Name
from flambeau.onnx.exporting.table import emits, refuse

_END = 2**63 - 1


def reshaped(b: Builder, name: Name, shape: tuple[Size, ...]) -> Name:
    """A tensor with other sizes; one that varies is left for ONNX to find."""
    varying = [i for i, size in enumerate(shape) if isinstance(size, Dim)]
    if len(varying) == 1 and 0 not in shape:
        return b.add("Reshape", name, b.whole(*(-1 if isinstance(s, Dim) else s for s in shape)))
    if sum(not b.knows(size) for size in shape) == 1:
        given = tuple(size if b.knows(size) else -1 for size in shape)
        return b.add("Reshape", name, b.shape(given))
    return b.add("Reshape", name, b.shape(shape), allowzero=1)


@emits("view")
def write_view(b: Builder, node: Node, x: Value, size: Any) -> Name:
    return reshaped(b, b.of(x), node.outputs[0].shape)


@emits("unsqueeze")
def write_unsqueeze(b: Builder, node: Node, x: Value, dim: int) -> Name:
    return b.add("Unsqueeze", b.of(x), b.whole(dim))


@emits("squeeze")
def write_squeeze(b: Builder, node: Node, x: Value, dim: Any = None) -> Name:
    return reshaped(b, b.of(x), node.outputs[0].shape)


@emits("expand")
def write_expand(b: Builder, node: Node, x: Value, size: Any) -> Name:
    return b.add("Expand", b.of(x), b.shape(node.outputs[0].shape))


@emits("alias", "detach")
def write_alias(b: Builder, node: Node, x: Value, *_: Any) -> Name:
    return b.of(x)


@emits("t")
def write_t(b: Builder, node: Node, x: Value) -> Name:
    return b.add("Transpose", b.of(x)) if len(x.shape) == 2 else b.of(x)


@emits("copy")
def write_copy_into(b: Builder, node: Node, x: Value, source: Any, *_: Any) -> Name:
    return b.add("Expand", b.operand(source, x.dtype), b.shape(x.shape))


@emits("permute")
def write_permute(b: Builder, node: Node, x: Value, dims: tuple[int, ...]) -> Name:
    return b.add("Transpose", b.of(x), perm=[d % len(x.shape) for d in dims])


@emits("transpose")
def write_transpose(b: Builder, node: Node, x: Value, dim0: int, dim1: int) -> Name:
    order = list(range(len(x.shape)))
    if order:
        order[dim0], order[dim1] = order[dim1], order[dim0]
    return b.add("Transpose", b.of(x), perm=order)


def sliced(b: Builder, name: Name, dim: int, start: Size, end: Size, step: int = 1) -> Name:
    """A range of a dimension."""
    return b.add("Slice", name, b.size(start), b.size(end), b.whole(dim), b.whole(step))


@emits("narrow")
def write_narrow(b: Builder, node: Node, x: Value, dim: int, start: Any, length: Any) -> Name:
    if not isinstance(start, Dim) and start < 0:
        start = _sum(x.shape[dim], start)
    end = _sum(start, length)
    return sliced(b, b.of(x), dim, start, end)


def _sum(a: Size, other: Size) -> Size:
    if not isinstance(a, Dim) and not isinstance(other, Dim):
        return a + other
    terms: dict[str, int] = {}
    offset = 0
    for size in (a, other):
        offset += size.offset if isinstance(size, Dim) else size
        for name, factor in size.terms if isinstance(size, Dim) else ():
            terms[name] = terms.get(name, 0) + factor
    return Dim(tuple(sorted((n, f) for n, f in terms.items() if f)), offset)


@emits("slice")
def write_slice(b: Builder, node: Node, x: Value, dim: int, start: Any, end: Any,
           step: Any = 1) -> Name:
    return sliced(b, b.of(x), dim, 0 if start is None else start, _END if end is None else end,
                  step)


@emits("select")
def write_select(b: Builder, node: Node, x: Value, dim: int, index: Any) -> Name:
    number = b.operand(index, "int64")
    return b.add("Gather", b.of(x), number, axis=dim)


@emits("cat")
def write_cat(b: Builder, node: Node, tensors: tuple[Value, ...], dim: int) -> Name:
    dtype = node.outputs[0].dtype
    return b.add("Concat", *(b.operand(t, dtype) for t in tensors if t.shape != (0,)), axis=dim)


@emits("contiguous_copy", "clone")
def write_copy(b: Builder, node: Node, x: Value, *_: Any) -> Name:
    return b.add("Identity", b.of(x))


@emits("flip")
def write_flip(b: Builder, node: Node, x: Value, dims: tuple[int, ...]) -> Name:
    n = len(dims)
    return b.add("Slice", b.of(x), b.whole(*[-1] * n), b.whole(*[-_END] * n), b.whole(*dims),
                 b.whole(*[-1] * n))


def pads_of(pad: tuple[Size, ...], rank: int) -> list[Size]:
    """Padding as ONNX has it, begins then ends; here the last dimension comes first."""
    begins: list[Size] = [0] * rank
    ends: list[Size] = [0] * rank
    for i in range(len(pad) // 2):
        begins[rank - 1 - i], ends[rank - 1 - i] = pad[2 * i], pad[2 * i + 1]
    return begins + ends


@emits("constant_pad_nd")
def write_constant_pad(b: Builder, node: Node, x: Value, pad: Any, value: Any = 0) -> Name:
    pads = b.shape(tuple(pads_of(pad, len(x.shape))))
    return b.add("Pad", b.of(x), pads, b.constant(value, x.dtype))


#: The numbers that `pad_by` has for what stands outside.
_OUTSIDE = {0: "reflect", 1: "edge", 2: "wrap",
            "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@emits("pad_by")
def write_pad_by(b: Builder, node: Node, x: Value, pad: Any, mode: Any) -> Name:
    if mode not in _OUTSIDE:
        refuse(node, f"padding of mode {mode!r} is not written")
    if _OUTSIDE[mode] == "wrap" and any(isinstance(n, int) and n < 0 for n in pad):
        refuse(node, "circular padding that takes away is not written")
    return b.add("Pad", b.of(x), b.shape(tuple(pads_of(pad, len(x.shape)))), mode=_OUTSIDE[mode])


@emits("fill", "filled_like", "full_of", "empty")
def write_full(b: Builder, node: Node, *args: Any) -> Name:
    value = 0 if node.op == "empty" or args[1] is None else args[1]
    result = node.outputs[0]
    return b.add("Expand", b.operand(value, result.dtype), b.shape(result.shape))


@emits("arange_of")
def write_arange(b: Builder, node: Node, start: Any, end: Any, step: Any, *_: Any) -> Name:
    dtype = node.outputs[0].dtype
    return b.add("Range", *(b.operand(v, dtype) for v in (start, end, step)))


@emits("tril", "triu")
def write_triangle(b: Builder, node: Node, x: Value, diagonal: int = 0) -> Name:
    whole = b.cast(b.of(x), x.dtype, "int32") if x.dtype == "bool" else b.of(x)
    result = b.add("Trilu", whole, b.constant(diagonal, "int64"), upper=int(node.op == "triu"))
    return b.add("Cast", result, to=DTYPES["bool"]) if x.dtype == "bool" else result
