"""Shapes of jagged tensors: all of it leaves the samples where they are."""
from __future__ import annotations

import math
from typing import Any

from flambeau.core import _core, functions
from flambeau.core.dims import wrapped_dim
from flambeau.nested._calls import JAGGED, handles, matching, wrap
from flambeau.nested._jagged import NestedTensor, compact, of_parts
from flambeau.nested._ragged import RaggedSize

_op = {**functions, **_core.operators()}


def dense_dim(name: str, x: NestedTensor, dim: int, extra: int = 0) -> int:
    """A dimension counted from the first, which is neither that of samples nor the ragged one."""
    ndim = x.ndim + extra
    if not -ndim <= dim < ndim:
        raise IndexError(f"{name}(): dimension {dim} is not one of {ndim} dimensions")
    at = dim % ndim
    if at == 0 or (at == x._ragged_idx and not extra):
        kind = "dim=0" if at == 0 else "ragged dim"
        raise RuntimeError(f"{name}(): not supported for NestedTensor on {kind}; write it for the "
                           "samples, [... for part in x.unbind()]")
    return at


@handles("transpose", "swapaxes", "swapdims", into=JAGGED)
def transpose(x: NestedTensor, dim0: int, dim1: int) -> NestedTensor:
    """Two dimensions swapped, not that of samples."""
    first, second = (wrapped_dim("transpose", d, x.ndim) for d in (dim0, dim1))
    if first == second:
        return x._like(x._values)
    if 0 in (first, second):
        raise ValueError("Transpose is not supported on the batch dimension for jagged NT: it "
                         "counts samples")
    moved = {first: second, second: first}.get(x._ragged_idx, x._ragged_idx)
    return wrap(x, x._values.transpose(first - 1, second - 1), moved)


@handles("permute", into=JAGGED)
def permute(x: NestedTensor, *dims: Any) -> NestedTensor:
    """Dimensions in another order, that of samples first."""
    order = [wrapped_dim("permute", d, x.ndim)
             for d in (dims[0] if len(dims) == 1 else dims)]
    if sorted(order) != list(range(x.ndim)) or order[0] != 0:
        raise ValueError(f"permute(): {order} is no order of {x.ndim} dimensions that leaves "
                         "dimension 0, which counts samples, where it is")
    return wrap(x, x._values.permute([d - 1 for d in order[1:]]), order.index(x._ragged_idx))


@handles("view", "reshape", into=JAGGED)
def view(x: NestedTensor, *size: Any, **options: Any) -> NestedTensor:
    """The elements in another shape, which is ragged in one dimension as well."""
    given = size or tuple(options.values())
    sizes = list(given[0] if len(given) == 1 and isinstance(given[0], (tuple, list)) else given)
    if len(given) == 1 and isinstance(given[0], _core.dtype):
        return x._like(x._values.view(given[0]))
    if not sizes or sizes[0] not in (-1, len(x)):
        raise RuntimeError(f"view(): the first of the sizes {sizes} must be {len(x)}, the number "
                           "of samples")
    total = x._values.shape[x._ragged_idx - 1]
    at = _ragged_at(x, sizes, total)
    inner = [total if d == at else n for d, n in enumerate(sizes)][1:]
    return wrap(x, x._values.reshape(inner), at)


def _ragged_at(x: NestedTensor, sizes: list[Any], total: int) -> int:
    """Which of the new sizes is that of the ragged dimension."""
    symbols = [d for d, n in enumerate(sizes) if isinstance(n, RaggedSize)]
    if symbols:
        return symbols[0]
    before = math.prod(x._values.shape[:x._ragged_idx - 1])
    for d in range(1, len(sizes)):
        known = [n for n in sizes[1:d] if n != -1]
        if sizes[d] == -1 and len(known) == d - 1 and math.prod(known) == before:
            return d
    raise RuntimeError(f"view(): the sizes {sizes} do not say where the ragged dimension of "
                       f"{x.shape} is: write x.size({x._ragged_idx}), or -1, for it")


@handles("unflatten", into=JAGGED)
def unflatten(x: NestedTensor, dim: int, sizes: Any) -> NestedTensor:
    """A dense dimension split into several."""
    at = dense_dim("unflatten", x, dim)
    more = len(sizes) - 1 if at < x._ragged_idx else 0
    return wrap(x, x._values.unflatten(at - 1, tuple(sizes)), x._ragged_idx + more)


@handles("flatten", into=JAGGED)
def flatten(x: NestedTensor, start_dim: int = 0, end_dim: int = -1) -> NestedTensor:
    """Dense dimensions joined."""
    start, end = (dense_dim("flatten", x, d) for d in (start_dim, end_dim))
    if start < x._ragged_idx < end:
        raise RuntimeError("flatten(): the ragged dimension cannot be joined with others")
    fewer = end - start if end < x._ragged_idx else 0
    return wrap(x, x._values.flatten(start - 1, end - 1), x._ragged_idx - fewer)


@handles("unsqueeze", into=JAGGED)
def unsqueeze(x: NestedTensor, dim: int) -> NestedTensor:
    """A dimension of size 1 more, behind that of samples."""
    at = dense_dim("unsqueeze", x, dim, 1)
    return wrap(x, x._values.unsqueeze(at - 1), x._ragged_idx + (at <= x._ragged_idx))


@handles("squeeze", into=JAGGED)
def squeeze(x: NestedTensor, dim: Any = None) -> NestedTensor:
    """Dense dimensions of size 1 dropped."""
    if dim is None:
        wanted = [d for d in range(1, x.ndim) if d != x._ragged_idx]
    else:
        wanted = [dense_dim("squeeze", x, d) for d in ([dim] if isinstance(dim, int) else dim)]
    gone = [d for d in wanted if x._values.shape[d - 1] == 1]
    return wrap(x, x._values.squeeze(tuple(d - 1 for d in gone)),
                x._ragged_idx - sum(d < x._ragged_idx for d in gone))


@handles("select", into=JAGGED)
def select(x: NestedTensor, dim: int, index: int) -> Any:
    """One sample, or one slice of a dense dimension."""
    if wrapped_dim("select", dim, x.ndim) == 0:
        return x._parts()[index]
    at = dense_dim("select", x, dim)
    return wrap(x, x._values.select(at - 1, index), x._ragged_idx - (at < x._ragged_idx))


@handles("narrow", into=JAGGED)
def narrow(x: NestedTensor, dim: int, start: int, length: int) -> NestedTensor:
    """Slices of a dense dimension, or some samples."""
    if wrapped_dim("narrow", dim, x.ndim) == 0:
        first = start + len(x) if start < 0 else start
        if length < 0 or not 0 <= first <= first + length <= len(x):
            raise IndexError(f"narrow(): samples {start} to {start + length} of {len(x)} are not "
                             "there")
        return of_parts(x._parts()[first:first + length], x._ragged_idx)
    return wrap(x, x._values.narrow(dense_dim("narrow", x, dim) - 1, start, length))


def _pieces(name: str) -> Any:
    def pieces(x: NestedTensor, sizes: Any, dim: int = 0) -> tuple[Any, ...]:
        if wrapped_dim(name, dim, x.ndim) == 0:
            whole = list(range(len(x)))
            parts = x._parts()
            index = _op[name](_core.tensor(whole), sizes)
            return tuple(of_parts([parts[i] for i in some.tolist()], x._ragged_idx)
                         for some in index)
        at = dense_dim(name, x, dim)
        return tuple(wrap(x, piece) for piece in _op[name](x._values, sizes, at - 1))

    pieces.__name__, pieces.__doc__ = name, "Pieces of a dense dimension, or of the samples."
    return pieces


for _name in ("chunk", "split", "split_with_sizes", "tensor_split"):
    JAGGED[_name] = _pieces(_name)


@handles("cat", "concat", "concatenate", into=JAGGED)
def cat(tensors: Any, dim: int = 0) -> NestedTensor:
    """Tensors of the same samples joined in a dense dimension; or their samples, one after
    another."""
    first = next(t for t in tensors if isinstance(t, NestedTensor))
    if dim % first.ndim == 0:
        return of_parts([part for t in tensors for part in t.unbind()], first._ragged_idx)
    at = dense_dim("cat", first, dim)
    return wrap(first, _op["cat"]([matching(first, t) for t in tensors], at - 1))


@handles("stack", into=JAGGED)
def stack(tensors: Any, dim: int = 0) -> NestedTensor:
    """Tensors of the same samples joined in a new dense dimension."""
    first = next(t for t in tensors if isinstance(t, NestedTensor))
    return cat([unsqueeze(t, dim) for t in tensors], dim % (first.ndim + 1))


@handles("expand", "expand_as", into=JAGGED)
def expand(x: NestedTensor, *size: Any) -> NestedTensor:
    """Dense dimensions of size 1 repeated without copying."""
    sizes = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    wanted = list(sizes.shape if isinstance(sizes, NestedTensor) else sizes)
    if len(wanted) != x.ndim:
        raise RuntimeError(f"expand(): {wanted} has {len(wanted)} sizes, and {x.shape} {x.ndim}")
    inner = [-1 if d == x._ragged_idx else n for d, n in enumerate(wanted)][1:]
    return x._like(x._values.expand(inner))


@handles("getitem", into=JAGGED)
def getitem(x: NestedTensor, index: Any) -> Any:
    """Samples by number, and indices of dense dimensions behind ``:`` or ``...``."""
    given = index if isinstance(index, tuple) else (index,)
    if Ellipsis in given:
        at = given.index(Ellipsis)
        rest = x.ndim - sum(i is not None for i in given) + 1
        given = (*given[:at], *[slice(None)] * rest, *given[at + 1:])
    if given and isinstance(given[0], int):
        part = x._parts()[given[0]]
        return part[given[1:]] if len(given) > 1 else part
    if not given or given[0] != slice(None):
        return _some(x, given)
    inside = given[1:]
    at = x._ragged_idx - 1
    if any(isinstance(i, (_core.Tensor, list)) for i in inside):
        raise NotImplementedError("a nested tensor is indexed by numbers and slices alone: write "
                                  "[part[index] for part in x.unbind()]")
    if len(inside) > at and None not in inside and isinstance(inside[at], int):
        return _op["stack"]([part[inside] for part in x._parts()])
    if len(inside) > at and None not in inside and inside[at] != slice(None):
        gone = sum(isinstance(i, int) for i in inside[:at])
        return of_parts([part[inside] for part in x._parts()], x._ragged_idx - gone)
    gone = sum(isinstance(i, int) for i in inside[:x._ragged_idx])
    more = sum(i is None for i in inside[:x._ragged_idx])
    return wrap(x, x._values[inside], x._ragged_idx - gone + more)


def _some(x: NestedTensor, given: tuple[Any, ...]) -> NestedTensor:
    numbers = _core.tensor(list(range(len(x))))[given[0]].tolist()
    parts = x._parts()
    some = of_parts([parts[i] for i in numbers], x._ragged_idx)
    return getitem(some, (slice(None), *given[1:])) if len(given) > 1 else some


@handles("contiguous", into=JAGGED)
def contiguous(x: NestedTensor, memory_format: Any = None) -> NestedTensor:
    """The same in C order, without gaps between samples."""
    return compact(x)


@handles("to_padded_tensor", "nested_to_padded_tensor", into=JAGGED)
def to_padded_tensor(x: NestedTensor, padding: float, output_size: Any = None) -> Any:
    """A dense tensor in which shorter samples are filled up."""
    at = x._ragged_idx - 1
    longest = max(x._ragged.sizes(), default=0)
    wanted = longest if output_size is None else output_size[x._ragged_idx]
    if wanted < longest:
        raise RuntimeError(f"to_padded_tensor(): output_size={tuple(output_size)} is smaller than "
                           f"the longest sample, of {longest}")
    filled = []
    for part in x._parts():
        behind = [0, 0] * (part.ndim - 1 - at) + [0, wanted - part.shape[at]]
        filled.append(_op["constant_pad_nd"](part, behind, padding))
    if not filled:
        sizes = list(x._values.shape)
        sizes[at] = wanted
        return x._values.new_zeros((0, *sizes))
    return _op["stack"](filled)
