"""Operators of sizes, which Python computes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import flambeau as fl
from flambeau.onnx.importing.reading import DTYPES
from flambeau.onnx.importing.table import Call, on_host
from flambeau.onnx.importing.values import Host, numbers_of

_INTEGERS = (fl.int32, fl.int64)


def _truncated(a: Any, b: Any) -> Any:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _pairs(function: Callable[[Any, Any], Any]) -> Callable[..., Host | None]:
    each = np.frompyfunc(function, 2, 1)

    def compute(call: Call, a: Host, b: Host) -> Host | None:
        if a.dtype not in _INTEGERS or b.dtype != a.dtype:
            return None
        if function in (_truncated, operator.mod) and any(n == 0 for n in b.array.flat):
            return None
        return Host(each(_objects(a), _objects(b)), a.dtype)

    return compute


def _objects(value: Host) -> Any:
    """The elements as Python's numbers, which do not overflow in between."""
    array = value.array
    if array.dtype == object:
        return array
    found = np.empty(array.shape, object)
    found[...] = array.tolist()
    return found


_PAIRS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mul": operator.mul, "Div": _truncated, "Max": max,
    "Min": min}
for _name, _function in _PAIRS.items():
    on_host(_name)(_pairs(_function))


@on_host("Cast")
def cast(call: Call, x: Host) -> Host | None:
    """Integers as other integers."""
    dtype = DTYPES.get(call.get("to"))
    if dtype not in _INTEGERS or x.dtype not in _INTEGERS:
        return None
    return Host(x.array, dtype)


@on_host("Gather")
def gather(call: Call, x: Host, index: Host) -> Host | None:
    """Elements by number."""
    if call.get("axis", 0) not in (0, -x.array.ndim) or x.array.ndim != 1:
        return None
    try:
        return Host(_objects(x)[np.asarray(index.array, np.int64)], x.dtype)
    except IndexError:
        return None


@on_host("Concat")
def concat(call: Call, *values: Host) -> Host:
    """Vectors one after the other."""
    return Host(np.concatenate([_objects(each) for each in values], call.get("axis", 0)),
                values[0].dtype)


@on_host("Unsqueeze")
def unsqueeze(call: Call, x: Host, axes: Host | None = None) -> Host:
    """Further dimensions of one element."""
    found = call.get("axes") if axes is None else np.atleast_1d(axes.array).tolist()
    ndim = x.array.ndim + len(found)
    return Host(np.expand_dims(x.array, tuple(axis % ndim for axis in found)), x.dtype)


@on_host("Squeeze")
def squeeze(call: Call, x: Host, axes: Host | None = None) -> Host | None:
    """Without dimensions of one element."""
    found = call.get("axes") if axes is None else np.atleast_1d(axes.array).tolist()
    try:
        return Host(np.squeeze(x.array, None if found is None else tuple(found)), x.dtype)
    except ValueError:
        return None


@on_host("Slice")
def cut(call: Call, x: Host, *parts: Host) -> Host | None:
    """A part of a vector."""
    if x.array.ndim != 1 or not parts:
        return None
    first, last, *rest = (np.atleast_1d(each.array).tolist() for each in parts)
    axes, steps = rest[0] if rest else [0], rest[1] if len(rest) > 1 else [1]
    if len(first) != 1 or axes[0] not in (0, -1) or steps[0] <= 0:
        return None
    return Host(_objects(x)[first[0]:last[0]:steps[0]], x.dtype)


@on_host("Reshape")
def reshape(call: Call, x: Host, shape: Host) -> Host | None:
    """The same elements in a vector or as a number."""
    if shape.array.tolist() not in ([-1], [], [1], [x.array.size]):
        return None
    try:
        return Host(x.array.reshape([int(n) for n in shape.array]), x.dtype)
    except ValueError:
        return None


@on_host("Identity")
def identity(call: Call, x: Host) -> Host:
    """The same."""
    return x


@on_host("Neg")
def negative(call: Call, x: Host) -> Host:
    """The other sign."""
    return Host(-_objects(x), x.dtype)


@on_host("ReduceProd")
def product(call: Call, x: Host, axes: Host | None = None) -> Host | None:
    """All multiplied."""
    if x.array.ndim != 1 or x.dtype not in _INTEGERS or (axes and axes.array.size == 0):
        return None
    whole: Any = 1
    for each in numbers_of(x):
        whole = whole * each
    return Host(np.array([whole] if call.get("keepdims", 1) else whole, object), x.dtype)
