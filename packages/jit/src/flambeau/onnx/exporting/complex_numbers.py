"""Complex numbers, which ONNX's operators do not take: as pairs in a last dimension."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import flambeau
from flambeau.jit import bridge
from flambeau.jit.dims import Dim
from flambeau.jit.ir import Node, Value, map_args
from flambeau.onnx.exporting.builder import Builder, Name
from flambeau.onnx.exporting.table import EMITTERS, emits, refuse

#: The dtypes of real and imaginary parts.
REAL = {"complex64": "float32", "complex128": "float64"}

#: Powers up to this one are products.
_LARGEST_PRODUCT = 4


def is_complex(node: Node) -> bool:
    """Whether a node takes or gives complex numbers."""
    return any(value.dtype in REAL for value in (*node.inputs, *node.outputs[:1]))


def stand_in(b: Builder, node: Node) -> Node:
    """The same node over tensors of pairs."""
    if node.into or any("complex" in value.dtype and value.dtype not in REAL for value in (
            *node.inputs, *node.outputs)):
        refuse(node, "complex numbers are not written to, nor of half precision")

    made: dict[Value, Value] = {}

    def pair(value: Any) -> Any:
        if not isinstance(value, Value) or value.dtype not in REAL:
            return value
        if value not in made:
            made[value] = Value((*value.shape, 2), REAL[value.dtype])
            if value in b.names:
                b.names[made[value]] = b.names[value]
        return made[value]

    return replace(node, args=map_args(node.args, pair), outputs=tuple(map(pair, node.outputs)))


def own_name(b: Builder, node: Node) -> Any:
    """What moves pairs as it moves numbers, and transforms: the name of the result, or None."""
    if node.op in _TRANSFORMS:
        return _TRANSFORMS[node.op](b, stand_in(b, node), *node.args[1:])
    if node.op in ("full_of", "filled_like", "empty"):
        value = complex(0 if node.op == "empty" else node.args[1] or 0)
        parts = b.constant([value.real, value.imag], REAL[node.outputs[0].dtype])
        return b.add("Expand", parts, b.shape((*node.outputs[0].shape, 2)))
    if node.op not in _MOVES or any(each.dtype not in REAL for each in node.inputs):
        return None
    rank = len(next(iter(node.inputs)).shape)
    made = stand_in(b, node)
    args = [_counted(arg, rank + (node.op == "unsqueeze")) if k in _MOVES[node.op] else arg
            for k, arg in enumerate(made.args)]
    if node.op == "permute":
        args[1] = (*args[1], rank)
    return EMITTERS[node.op](b, replace(made, args=tuple(args)), *args)


def _counted(dims: Any, rank: int) -> Any:
    """Dimensions counted from the first one: the pairs have one more."""
    return tuple(d % rank for d in dims) if isinstance(dims, tuple) else dims % rank


#: Operators over dimensions, and the arguments that name these.
_MOVES: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("view", "squeeze", "expand", "alias", "detach", "clone", "contiguous_copy"),
                    ()),
    **dict.fromkeys(("unsqueeze", "narrow", "slice", "select", "cat", "flip", "permute"), (1,)),
    "transpose": (1, 2)}


# ---- transforms --------------------------------------------------------------------------------

def _along(b: Builder, node: Node, name: Name, axis: int, **how: int) -> Name:
    """DFT of pairs over one dimension."""
    if b.opset < 20:
        return b.add("DFT", name, axis=axis, **how)
    return b.add("DFT", name, "", b.constant(axis, "int64"), **how)


def _scaled(b: Builder, name: Name, scale: Any, dtype: str) -> Name:
    if not isinstance(scale, Dim) and scale == 1:
        return name
    return b.add("Mul", name, b.operand(scale, dtype))


def _complex_transform(b: Builder, node: Node, dims: Sequence[int], scale: Any = 1.0,
                       forward: Any = True) -> Name:
    x = node.args[0]
    name, rank = b.of(x), len(x.shape) - 1
    for dim in dims:
        name = _along(b, node, name, dim % rank, inverse=int(not forward))
        if not forward:         # ONNX divides by the size
            name = _scaled(b, name, x.shape[dim % rank], x.dtype)
    return _scaled(b, name, scale, x.dtype)


@emits("fft_r2c")
def write_rfft(b: Builder, node: Node, x: Value, dims: Any, scale: Any = 1.0, onesided: Any = True,
               forward: Any = True) -> Name:
    """Of real numbers: the last of the dimensions first, then the others."""
    rank, dtype = len(x.shape), x.dtype
    name = b.add("Unsqueeze", b.of(x), b.whole(rank))
    name = _along(b, node, name, dims[-1] % rank, onesided=int(bool(onesided)))
    for dim in dims[:-1]:
        name = _along(b, node, name, dim % rank, inverse=0)
    if not forward:             # the conjugate, for real numbers
        name = b.add("Mul", name, b.constant([1.0, -1.0], dtype))
    return _scaled(b, name, scale, dtype)


def _real_result(b: Builder, node: Node, dims: Sequence[int], size: int, scale: Any = 1.0,
                 forward: Any = False) -> Name:
    """To real numbers: the half that is left out is the conjugate of the other, turned around."""
    x = node.args[0]
    rank = len(x.shape) - 1
    last = dims[-1] % rank
    if isinstance(size, Dim) or isinstance(x.shape[last], Dim):
        refuse(node, "the size of the dimension that becomes real may not vary")
    name = b.of(x)
    for dim in dims[:-1]:
        name = _along(b, node, name, dim % rank, inverse=int(not forward))
        if not forward:
            name = _scaled(b, name, x.shape[dim % rank], x.dtype)
    half = size // 2 + 1
    name = _sliced(b, name, last, 0, half, 1)
    if size > half:
        rest = _sliced(b, name, last, size - half, 0, -1)
        rest = b.add("Mul", rest, b.constant([1.0, -1.0], x.dtype))
        name = b.add("Concat", name, rest, axis=last)
    name = _along(b, node, name, last, inverse=int(not forward))
    if not forward:
        name = _scaled(b, name, size, x.dtype)
    real = b.add("Gather", name, b.constant(0, "int64"), axis=rank)
    return _scaled(b, real, scale, x.dtype)


def _sliced(b: Builder, name: Name, axis: int, start: int, end: int, step: int) -> Name:
    return b.add("Slice", name, b.whole(start), b.whole(end), b.whole(axis), b.whole(step))


@emits("view_as_real", "view_as_complex")
def write_pairs(b: Builder, node: Node, x: Value) -> Name:
    """The same pairs."""
    return b.of(x)


_TRANSFORMS: dict[str, Callable[..., Any]] = {
    "fft_c2c": _complex_transform, "fft_c2r": _real_result,
    "fft_r2c": lambda b, node, *rest: write_rfft(b, node, node.args[0], *rest),
    "view_as_real": lambda b, node: b.of(node.args[0]),
    "view_as_complex": lambda b, node: b.of(node.args[0]),
}


# ---- arithmetic --------------------------------------------------------------------------------

@dataclass(frozen=True)
class Pair:
    """Real and imaginary part; None where there is none."""

    re: Any
    im: Any


def function_of(node: Node) -> Callable[..., Any] | None:
    """What computes a node's results over tensors of pairs."""
    formula = _FORMULAS.get(node.op)
    if formula is None and node.op in _PARTS:
        formula = _by_parts(node.op)
    if formula is None:
        return None
    chosen = formula

    def run(*args: Any) -> Any:
        made = chosen(*(_opened(arg, like) for arg, like in zip(args, node.args, strict=True)))
        return _closed(made) if isinstance(made, Pair) else made

    return run


def _opened(given: Any, like: Any) -> Any:
    """Tensors of pairs as pairs of tensors."""
    if isinstance(like, tuple):
        return [_opened(*both) for both in zip(given, like, strict=True)]
    is_pair = isinstance(like, Value) and like.dtype in REAL
    return Pair(given.select(-1, 0), given.select(-1, 1)) if is_pair else given


def _closed(made: Pair) -> Any:
    im = flambeau.zeros_like(made.re) if made.im is None else made.im
    if made.re.shape != im.shape:
        shape = flambeau.broadcast_shapes(made.re.shape, im.shape)
        return flambeau.stack([made.re.expand(shape), im.expand(shape)], -1)
    return flambeau.stack([made.re, im], -1)


def _pair(x: Any) -> Pair:
    if isinstance(x, Pair):
        return x
    return Pair(x.real, x.imag) if isinstance(x, complex) else Pair(x, None)


def _by_parts(op: str) -> Callable[..., Any]:
    """An operator that does the same to both parts."""
    def part(arg: Any, name: str) -> Any:
        if isinstance(arg, list):
            return [part(each, name) for each in arg]
        return getattr(arg, name) if isinstance(arg, Pair) else arg

    def run(*args: Any) -> Pair:
        made = [bridge.call(op, [part(arg, name) for arg in args])[0] for name in ("re", "im")]
        return Pair(*made)

    return run


#: Operators that do the same to both parts; of numbers they take none, or 0.
_PARTS = {"t", "roll", "index_select", "gather", "index", "sum", "mean", "neg", "cumsum",
          "diagonal", "unfold", "tril", "triu", "pad_by", "constant_pad_nd", "nansum"}


def _add(x: Any, y: Any, alpha: Any = 1) -> Pair:
    a, c = _pair(x), _mul(y, alpha) if alpha != 1 else _pair(y)
    if a.im is None or c.im is None:
        return Pair(a.re + c.re, c.im if a.im is None else a.im)
    return Pair(a.re + c.re, a.im + c.im)


def _sub(x: Any, y: Any, alpha: Any = 1) -> Pair:
    return _add(x, _mul(y, -alpha))


def _product(multiply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Pair]:
    def run(x: Any, y: Any) -> Pair:
        a, c = _pair(x), _pair(y)
        re = multiply(a.re, c.re)
        if a.im is None:
            return Pair(re, None if c.im is None else multiply(a.re, c.im))
        if c.im is None:
            return Pair(re, multiply(a.im, c.re))
        return Pair(re - multiply(a.im, c.im), multiply(a.re, c.im) + multiply(a.im, c.re))

    return run


_mul = _product(lambda a, c: a * c)


def _reciprocal(x: Any) -> Pair:
    a = _pair(x)
    if a.im is None:
        return Pair(1 / a.re, None)
    size = a.re * a.re + a.im * a.im
    return Pair(a.re / size, -a.im / size)


def _div(x: Any, y: Any) -> Pair:
    return _mul(x, _reciprocal(y))


def _exp(x: Pair) -> Pair:
    size = x.re.exp()
    return Pair(size * x.im.cos(), size * x.im.sin())


def _abs(x: Pair) -> Any:
    return (x.re * x.re + x.im * x.im).sqrt()


def _angle(x: Pair) -> Any:
    return flambeau.atan2(x.im, x.re)


def _log(x: Pair) -> Pair:
    return Pair(_abs(x).log(), _angle(x))


def _sqrt(x: Pair) -> Pair:
    size = _abs(x)
    im = ((size - x.re).clamp(min=0) / 2).sqrt()
    return Pair(((size + x.re).clamp(min=0) / 2).sqrt(), flambeau.where(x.im < 0, -im, im))


def _pow(x: Any, exponent: Any) -> Pair:
    if isinstance(x, Pair) and isinstance(exponent, int) and 1 <= exponent <= _LARGEST_PRODUCT:
        made = x
        for _ in range(exponent - 1):
            made = _mul(made, x)
        return made
    if isinstance(x, Pair):
        return _exp(_mul(exponent, _log(x)))
    if isinstance(x, int | float) and x > 0:
        return _exp(_mul(exponent, math.log(x)))
    raise ValueError("complex powers are written of complex numbers, and of numbers above 0")


def _cast(x: Any, dtype: Any) -> Any:
    to = {flambeau.complex64: flambeau.float32, flambeau.complex128: flambeau.float64}.get(dtype)
    if to is None:
        return x.re.to(dtype)
    return Pair(_pair(x).re.to(to), x.im.to(to) if isinstance(x, Pair) else None)


def _cat(tensors: list[Any], dim: int) -> Pair:
    parts = [_pair(each) for each in tensors]
    return Pair(flambeau.cat([each.re for each in parts], dim), flambeau.cat([
        flambeau.zeros_like(each.re) if each.im is None else each.im for each in parts], dim))


def _where(condition: Any, x: Any, y: Any) -> Pair:
    parts = [[0.0 if part is None else part for part in (each.re, each.im)]
             for each in (_pair(x), _pair(y))]
    return Pair(*(flambeau.where(condition, a, c) for a, c in zip(*parts, strict=True)))


_FORMULAS: dict[str, Callable[..., Any]] = {
    "add": _add, "sub": _sub, "rsub": lambda x, y, alpha=1: _sub(y, x, alpha), "mul": _mul,
    "div": _div, "reciprocal": _reciprocal, "exp": _exp, "log": _log, "sqrt": _sqrt, "pow": _pow,
    "matmul": _product(lambda a, c: a @ c), "square": lambda x: _mul(x, x), "abs": _abs,
    "angle_of_complex": _angle, "conj": lambda x: Pair(x.re, -x.im), "cast": _cast,
    "where": _where, "cat": _cat,
    "eq": lambda x, y: (_sub(x, y).re == 0) & (_closed(_sub(x, y)).select(-1, 1) == 0),
}
