"""Functions that compute operators by others which ONNX has: called with the node's arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
from flambeau.jit.ahead.rewritten import resampled
from flambeau.jit.dims import Dim
from flambeau.jit.ir import Node, Value
from flambeau.onnx.exporting.table import each

Function = Callable[..., Any]

#: Operators whose results on truth values are those on the numbers 0 and 1.
_BY_NUMBERS = {
    "abs", "argmax", "argmin", "clamp", "clamp_max", "clamp_min", "index_add", "max.dim", "min.dim",
    "neg", "relu", "sign", "sort", "square", "topk", "msort", "cumsum", "softsign"}

#: Operators that leave integers as they are.
_OF_INTEGERS = {"ceil", "floor", "round", "trunc"}

_FUNCTIONS: dict[str, Function] = {}

#: Functions for a second argument that names a dimension whose size varies.
_SCANS: dict[str, Function] = {}


def find(node: Node) -> Function | None:
    """A function for a node whose operator has no form, or none for these dtypes; or None."""
    if node.op in _SCANS and node.args[0].shape and isinstance(
            node.args[0].shape[node.args[1]], Dim):
        return _SCANS[node.op]
    if node.op == "resample" and node.args[2] != "area" and not any(
            isinstance(size, Dim) for size in (*node.args[0].shape[2:], *node.args[1])):
        return resampled(node)
    return _for_dtype(node) or _FUNCTIONS.get(node.op)


def is_by_others(node: Node) -> bool:
    """Whether a node has a form of its own for other dtypes only."""
    return _for_dtype(node) is not None


def _for_dtype(node: Node) -> Function | None:
    first = next((arg for arg in node.args if isinstance(arg, Value)), None)
    if first is not None and first.dtype == "bool" and node.op in _BY_NUMBERS:
        return _by_numbers(node.op)
    if first is not None and "float" not in first.dtype and node.op in _OF_INTEGERS:
        return lambda x, *rest: x.clone()
    return None


def rewrites(key: str) -> Callable[[Function], Function]:
    """Make a function the form of an operator."""

    def register(function: Function) -> Function:
        _FUNCTIONS[key] = function
        return function

    return register


def scans(key: str) -> Callable[[Function], Function]:
    """Make a function the form of an operator along a dimension whose size varies."""

    def register(function: Function) -> Function:
        _SCANS[key] = function
        return function

    return register


def _by_numbers(key: str) -> Function:
    from flambeau.jit import bridge

    def run(*args: Any) -> Any:
        return bridge.call(key, [arg.int() if bridge.is_tensor(arg) and arg.dtype is flambeau.bool
                                 else arg for arg in args])

    return run


@rewrites("nansum")
def nansum(x: Any, dim: Any = None, keepdim: Any = False, dtype: Any = None) -> Any:
    kept = x.masked_fill(x.isnan(), 0) if x.is_floating_point() else x
    return kept.sum(dim=dim, keepdim=keepdim, dtype=dtype)


@rewrites("avg_pool2d")
def avg_pool2d(x: Any, kernel: Any, stride: Any = (), padding: Any = 0, ceil_mode: Any = False,
               counts_pad: Any = True, divisor: Any = None) -> Any:
    """Sums of windows: the mean with padding counted, times how many elements a window has."""
    return _windows_sum(flambeau.nn.functional.avg_pool2d, 2, x, kernel, stride, padding,
                        ceil_mode, divisor)


@rewrites("avg_pool3d")
def avg_pool3d(x: Any, kernel: Any, stride: Any = (), padding: Any = 0, ceil_mode: Any = False,
               counts_pad: Any = True, divisor: Any = None) -> Any:
    return _windows_sum(flambeau.nn.functional.avg_pool3d, 3, x, kernel, stride, padding,
                        ceil_mode, divisor)


def _windows_sum(mean: Function, n: int, x: Any, kernel: Any, stride: Any, padding: Any,
                 ceil_mode: Any, divisor: Any) -> Any:
    if ceil_mode or divisor is None:
        raise ValueError("ceil_mode with divisor_override is not written")
    count = 1
    for size in each(kernel, n):
        count *= size
    result = mean(x, kernel, stride or kernel, padding, False, True)
    return result * (count / divisor)


@rewrites("index")
def index(x: Any, indices: tuple[Any, ...]) -> Any:
    """Indexed dimensions first, then where the result has them."""
    places, given = _given(indices)
    rest = [d for d in range(x.dim()) if d not in places]
    found = x.permute(*places, *rest)[given]
    depth = found.dim() - len(rest)
    if places != list(range(places[0], places[0] + len(places))):
        return found
    lead = places[0]
    order = [*range(depth, depth + lead), *range(depth), *range(depth + lead, found.dim())]
    return found.permute(*order)


@rewrites("index_put")
def index_put(x: Any, indices: tuple[Any, ...], values: Any, accumulate: Any = False) -> Any:
    places, given = _given(indices)
    rest = [d for d in range(x.dim()) if d not in places]
    order = [*places, *rest]
    back = [order.index(d) for d in range(x.dim())]
    shape = flambeau.broadcast_shapes(*(g.shape for g in given))
    if places == list(range(places[0], places[0] + len(places))):
        lead = places[0]
        whole = values.expand(*(x.shape[d] for d in range(lead)), *shape,
                              *(x.shape[d] for d in rest[lead:]))
        depth = len(shape)
        values = whole.permute(*range(lead, lead + depth), *range(lead),
                               *range(lead + depth, whole.dim()))
    return x.permute(*order).index_put(given, values, accumulate).permute(*back)


def _given(indices: tuple[Any, ...]) -> tuple[list[int], tuple[Any, ...]]:
    places = [i for i, each in enumerate(indices) if each is not None]
    given = tuple(each for each in indices if each is not None)
    if any(each.dtype in (flambeau.bool, flambeau.uint8) for each in given):
        raise ValueError("masks give results of a size that depends on values; use where()")
    return places, given


@rewrites("scatter_reduce")
def scatter_reduce(x: Any, dim: int, places: Any, source: Any, reduce: str,
                   include_self: Any = True) -> Any:
    source = source[tuple(slice(0, n) for n in places.shape)]
    ones = flambeau.ones_like(source)
    count = flambeau.zeros_like(x).scatter_add(dim, places, ones)
    start: float = 1 if reduce == "prod" else 0
    if reduce in ("amax", "amin"):
        if x.is_floating_point():
            start = float("-inf") if reduce == "amax" else float("inf")
        else:
            limits = flambeau.iinfo(x.dtype)
            start = limits.min if reduce == "amax" else limits.max
    base = x if include_self else flambeau.where(count > 0, start, x)
    if reduce != "mean":
        return base.scatter_reduce(dim, places, source, reduce)
    total = base.scatter_add(dim, places, source)
    number = (count + 1 if include_self else count.clamp(min=1))
    if x.is_floating_point():
        return total / number
    return flambeau.div(total, number, rounding_mode="floor")


@rewrites("pdist_euclidean")
def pdist_euclidean(x: Any, *rest: Any) -> Any:
    n = int(x.shape[0])
    first, second = flambeau.triu_indices(n, n, 1)
    return (x[first] - x[second]).square().sum(-1).sqrt()


@rewrites("cdist_of")
def cdist_of(x: Any, other: Any, p: Any = 2.0) -> Any:
    away = (x.unsqueeze(-2) - other.unsqueeze(-3)).abs()
    if p == float("inf"):
        return away.amax(-1)
    return (away != 0).to(x.dtype).sum(-1) if p == 0 else away.pow(p).sum(-1).pow(1 / p)


@rewrites("norm_of")
def norm_of(x: Any, p: Any, dim: Any = None, keepdim: Any = False, dtype: Any = None) -> Any:
    x = (x if dtype is None else x.to(dtype)).abs()
    dims = list(range(x.dim())) if dim is None else dim
    if p == float("-inf"):
        return x.amin(dims, keepdim)
    if p == 0:
        return (x != 0).to(x.dtype).sum(dims, keepdim)
    return x.pow(p).sum(dims, keepdim).pow(1 / p)


@rewrites("diagonal")
def diagonal(x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """Of squares, whose size may vary."""
    x = x.movedim((dim1, dim2), (-2, -1))
    if offset or x.shape[-2] != x.shape[-1]:
        raise ValueError("sizes of a diagonal that vary have to be equal; trace with dynamic=False")
    places = flambeau.arange(x.shape[-1]).unsqueeze(-1).expand(*x.shape[:-1], 1)
    return x.gather(-1, places).squeeze(-1)


@rewrites("resample")
def resample(x: Any, size: Any, mode: str, *rest: Any) -> Any:
    if mode != "area":
        raise ValueError(f"interpolation of mode {mode!r} is not written")
    pools = {3: "adaptive_avg_pool1d", 4: "adaptive_avg_pool2d", 5: "adaptive_avg_pool3d"}
    return getattr(flambeau.nn.functional, pools[x.dim()])(x, size)
