"""Cases that machine code does not have, by others that it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.ahead.grids import sampled
from flambeau.jit.ir import Node

Tensor = Any
Function = Callable[..., Any]
#: In half precision these are computed in float32, and rounded at the end.
_PRODUCTS = ("linear", "matmul", "conv2d", "attention")
HALVES = ("float16", "bfloat16")


def written(node: Node) -> Function | None:
    """A function with the operator's parameters, where its arguments ask for it."""
    if node.op in _PRODUCTS and any(each.dtype in HALVES for each in node.inputs):
        return _in_float(node.op)
    if node.op == "matmul" and min(len(each.shape) for each in node.inputs) == 1:
        return _matmul_of_vectors
    if node.op == "attention" and node.args[4] and node.args[3] is None:
        return _causal
    if node.op in ("sum", "mean", "amax", "amin") and _has_gaps(node):
        return _one_by_one(node.op)
    if node.op == "resample":
        return resampled(node)
    if node.op == "grid_sampler" and node.args[0].dtype == "float32":
        return sampled
    if node.op == "topk":
        return _topk
    return _variance if node.op == "var" else None


def _topk(x: Tensor, k: int, dim: int, largest: bool = True, in_order: bool = True) -> Any:
    values, where = bridge.call("sort", [x, dim, largest, True])
    return values.narrow(dim, 0, k), where.narrow(dim, 0, k)


def resampled(node: Node) -> Function:
    """Sums of rows and columns, with the weights that the operator gives to those of a unit."""
    x, sizes, mode, align, scales = node.args
    first = len(x.shape) - len(sizes)
    taps = [_taps(x.shape[first + d], size, mode, align, scales and (scales[d], 1.0))
            for d, size in enumerate(sizes)]

    def run(x: Tensor, *_: Any) -> Tensor:
        for d, parts in reversed(list(enumerate(taps, first))):
            shape = [-1 if k == d else 1 for k in range(x.ndim)]
            chosen = [x.index_select(d, rows) if weights is None else
                      x.index_select(d, rows) * weights.reshape(shape) for rows, weights in parts]
            x = chosen[0]
            for each in chosen[1:]:
                x = x + each
        return x

    return run


def _taps(count: int, size: int, mode: str, align: bool, scales: Any) -> list[tuple[Any, Any]]:
    """Rows and their weights, as many as an element is a sum of; None where all are 1."""
    unit = bridge.zeros([count, count], "float32").fill_diagonal_(1).reshape(1, count, count, 1)
    made = bridge.call("resample", [unit, [size, 1], mode, align, scales])[0][0, :, :, 0]
    depth = int((made != 0).sum(0).amax())
    rows = made.abs().topk(depth, 0)[1].sort(0)[0]
    weights = made.gather(0, rows)
    if depth == 1 and bool((weights == 1).all()):
        return [(rows[0], None)]
    return [(rows[k], weights[k]) for k in range(depth)]


def _in_float(op: str) -> Function:
    def run(*args: Any) -> Any:
        return tuple(bridge.call(op, [arg.float() if bridge.is_tensor(arg) and
                                      arg.is_floating_point() else arg for arg in args]))

    return run


def _matmul_of_vectors(a: Tensor, b: Tensor) -> Tensor:
    made = (a.unsqueeze(0) if a.ndim == 1 else a) @ (b.unsqueeze(-1) if b.ndim == 1 else b)
    made = made.squeeze(-1) if b.ndim == 1 else made
    return made.squeeze(-1 if b.ndim == 1 else -2) if a.ndim == 1 else made


def _causal(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool,
            scale: float | None) -> Any:
    """A query sees the keys up to its own position."""
    assert mask is None and causal
    rows, columns = (bridge.arange(each.shape[-2]) for each in (query, key))
    visible = columns <= rows.unsqueeze(-1)
    return tuple(bridge.call("attention", [query, key, value, visible, False, scale]))


def _dims(node: Node) -> list[int]:
    ndim, dims = len(node.args[0].shape), node.args[1]
    if dims in (None, ()):
        return list(range(ndim))
    return sorted(d % ndim for d in (dims if isinstance(dims, tuple) else (dims,)))


def _has_gaps(node: Node) -> bool:
    """Whether others lie between the dimensions that are reduced."""
    dims = _dims(node)
    return bool(dims) and dims[-1] - dims[0] >= len(dims)


def _one_by_one(op: str) -> Function:
    def run(x: Tensor, dims: Any, keepdim: bool = False, *more: Any) -> Tensor:
        for d in sorted((d % x.ndim for d in dims), reverse=True):
            x = bridge.call(op, [x, [d], keepdim, *more])[0]
        return x

    return run


def _variance(x: Tensor, dims: Any = None, correction: float = 1, keepdim: bool = False) -> Tensor:
    chosen = [d % x.ndim for d in dims] if dims else list(range(x.ndim))
    count = 1
    for d in chosen:
        count *= x.shape[d]
    away = x - x.mean(chosen, keepdim=True)
    return (away * away).sum(chosen, keepdim=keepdim) / max(count - correction, 0)
