"""Operators that reduce dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau as fl
from flambeau.nn import functional as F
from flambeau.onnx.importing.table import Call, computes, given_axes


def _sum(x: fl.Tensor, axes: list[int], keep: bool) -> fl.Tensor:
    return fl.sum(x, axes, keepdim=keep).to(x.dtype)


def _mean(x: fl.Tensor, axes: list[int], keep: bool) -> fl.Tensor:
    if x.is_floating_point():
        return fl.mean(x, axes, keepdim=keep)
    return fl.mean(x.double(), axes, keepdim=keep).to(x.dtype)


def _prod(x: fl.Tensor, axes: list[int], keep: bool) -> fl.Tensor:
    for axis in sorted((axis % x.ndim for axis in axes), reverse=True):
        x = fl.prod(x, axis, keepdim=keep).to(x.dtype)
    return x


def _limit(x: fl.Tensor, greatest: bool) -> Any:
    if x.dtype == fl.bool:
        return greatest
    if x.is_floating_point():
        return float("inf") if greatest else -float("inf")
    return fl.iinfo(x.dtype).max if greatest else fl.iinfo(x.dtype).min


def _extreme(function: Callable[..., fl.Tensor], empty: bool) -> Callable[..., fl.Tensor]:
    def compute(x: fl.Tensor, axes: list[int], keep: bool) -> fl.Tensor:
        if any(x.shape[axis] == 0 for axis in axes):
            shape = [1 if d in [axis % x.ndim for axis in axes] else n
                     for d, n in enumerate(x.shape)]
            found = fl.full(shape, _limit(x, empty), dtype=x.dtype, device=x.device)
            return found if keep else found.squeeze(tuple(axes))
        if x.dtype == fl.bool:
            return function(x.to(fl.uint8), axes, keepdim=keep).to(fl.bool)
        return function(x, axes, keepdim=keep)

    return compute


def _squares(x: fl.Tensor, axes: list[int], keep: bool) -> fl.Tensor:
    return _sum(x * x, axes, keep)


def _norm1(x: fl.Tensor, axes: list[int], keep: bool) -> fl.Tensor:
    return _sum(fl.abs(x), axes, keep)


def _norm2(x: fl.Tensor, axes: list[int], keep: bool) -> fl.Tensor:
    if x.is_floating_point():
        return fl.sqrt(_sum(x * x, axes, keep))
    return fl.sqrt(_sum(x.double() ** 2, axes, keep)).to(x.dtype)


def _log_sum(x: fl.Tensor, axes: list[int], keep: bool) -> fl.Tensor:
    return fl.log(_sum(x, axes, keep))


def _log_sum_exp(x: fl.Tensor, axes: list[int], keep: bool) -> fl.Tensor:
    if any(x.shape[axis] == 0 for axis in axes):
        return fl.log(_sum(x, axes, keep))
    return fl.logsumexp(x if x.is_floating_point() else x.double(), axes, keepdim=keep).to(x.dtype)


_REDUCTIONS = {
    "ReduceSum": _sum, "ReduceMean": _mean, "ReduceProd": _prod,
    "ReduceMax": _extreme(fl.amax, False), "ReduceMin": _extreme(fl.amin, True),
    "ReduceSumSquare": _squares, "ReduceL1": _norm1, "ReduceL2": _norm2,
    "ReduceLogSum": _log_sum, "ReduceLogSumExp": _log_sum_exp}
#: What is done to each element where nothing is reduced (``noop_with_empty_axes``).
_ELEMENTS: dict[str, Callable[[fl.Tensor], fl.Tensor]] = {
    "ReduceSumSquare": lambda x: x * x, "ReduceL1": fl.abs, "ReduceL2": fl.abs,
    "ReduceLogSum": fl.log}


def _reduction(function: Callable[..., fl.Tensor]) -> Callable[..., fl.Tensor]:
    def compute(call: Call, x: fl.Tensor, axes: list[int] | None = None) -> fl.Tensor:
        found = given_axes(call, axes)
        if not found and call.get("noop_with_empty_axes"):
            return _ELEMENTS.get(call.op, lambda same: same)(x)
        if not found:
            found = list(range(x.ndim))
        return function(x, found, bool(call.get("keepdims", 1))) if x.ndim else function(
            x.reshape(1), [0], False)

    return compute


for _name, _function in _REDUCTIONS.items():
    computes(_name, host=(1,))(_reduction(_function))


@computes("ArgMax", "ArgMin")
def arg_extreme(call: Call, x: fl.Tensor) -> fl.Tensor:
    """Where the greatest or least element is; of equal ones the first or last."""
    axis, keep = call.get("axis", 0), bool(call.get("keepdims", 1))
    function = fl.argmax if call.op == "ArgMax" else fl.argmin
    if not call.get("select_last_index"):
        return function(x, axis, keepdim=keep)
    return x.shape[axis] - 1 - function(x.flip(axis), axis, keepdim=keep)


@computes("CumSum", "CumProd", host=(1,))
def cumulative(call: Call, x: fl.Tensor, axis: Any) -> fl.Tensor:
    """Sums or products of all elements up to each one."""
    axis = axis[0] if isinstance(axis, list) else axis
    function, first = (fl.cumsum, 0) if call.op == "CumSum" else (fl.cumprod, 1)
    x = x.flip(axis) if call.get("reverse") else x
    found = function(x, axis).to(x.dtype)
    if call.get("exclusive"):
        start = fl.full_like(found.narrow(axis, 0, 1), first)
        found = fl.cat([start, found.narrow(axis, 0, x.shape[axis] - 1)], axis)
    return found.flip(axis) if call.get("reverse") else found


def _along(call: Call, x: fl.Tensor, function: Callable[..., fl.Tensor]) -> fl.Tensor:
    """A function of rows; before version 13 of all dimensions from the axis on."""
    if call.opset >= 13:
        return function(x, call.get("axis", -1))
    axis = call.get("axis", 1) % x.ndim
    return function(x.flatten(axis), -1).reshape(x.shape) if x.ndim > axis + 1 else function(
        x, -1)


@computes("Softmax")
def softmax(call: Call, x: fl.Tensor) -> fl.Tensor:
    """Exponents over their sum."""
    return _along(call, x, F.softmax)


@computes("LogSoftmax")
def log_softmax(call: Call, x: fl.Tensor) -> fl.Tensor:
    """The logarithm of softmax."""
    return _along(call, x, F.log_softmax)


@computes("Hardmax")
def hardmax(call: Call, x: fl.Tensor) -> fl.Tensor:
    """1 at the first of the greatest elements, else 0."""
    def rows(x: fl.Tensor, axis: int) -> fl.Tensor:
        at = fl.argmax(x, axis, keepdim=True)
        return fl.scatter(fl.zeros_like(x), axis, at, fl.ones_like(x.narrow(axis, 0, 1)))

    return _along(call, x, rows)
