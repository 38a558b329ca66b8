"""What ``gradcheck`` compares: finite differences, and what the tape and forward mode give.

Complex numbers count as two real components each. Inputs are moved in place, so that a function
sees them wherever it reaches them from.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import flambeau
from flambeau.autograd import forward_ad
from flambeau.autograd._engine import enable_grad, run_grad
from flambeau.core import Tensor, ops

__all__ = ["Columns", "by_backward", "by_forward", "components", "differences", "from_components",
           "outputs_of", "tangents_of", "units"]

Columns = list[Tensor]      # per output: [components of the direction's input, of the output]


def outputs_of(fn: Callable, args) -> list[Tensor]:
    """The outputs that can have derivatives."""
    with enable_grad():
        result = fn(*args)
    values = [result] if isinstance(result, Tensor) else list(result)
    return [y for y in values if isinstance(y, Tensor)
            and (y.is_floating_point() or y.is_complex())]


def components(t: Tensor) -> Tensor:
    """All real components as a vector of float64."""
    t = t.detach()
    if t.is_complex():
        t = ops.view_as_real(t.contiguous())
    return t.reshape(-1).to(flambeau.float64)


def from_components(vector: Tensor, like: Tensor) -> Tensor:
    """A tensor of the shape and dtype of another from its components."""
    if like.is_complex():
        vector = ops.view_as_complex(vector.reshape((*like.shape, 2)))
    return vector.reshape(like.shape).to(like.dtype)


def units(like: Tensor) -> list[Tensor]:
    """One vector for each component."""
    count = components(like).numel()
    return list(ops.eye_of(count, count, dtype=flambeau.float64))


@contextmanager
def _moved(x: Tensor, step: Tensor) -> Iterator[None]:
    """The memory of ``x`` with something added; the tape does not notice."""
    data = x.data
    before = data.clone()
    ops.copy_(data, before + step)
    try:
        yield
    finally:
        ops.copy_(data, before)


def differences(fn: Callable, args, x: Tensor, directions: list[Tensor], eps: float) -> Columns:
    """Central differences of all outputs for moves of one input."""
    rows = []
    for direction in directions:
        step = from_components(direction, x)
        with _moved(x, step * eps):
            high = [y.detach().clone() for y in outputs_of(fn, args)]
        with _moved(x, step * -eps):
            low = [y.detach().clone() for y in outputs_of(fn, args)]
        _check_alike(high, low)
        rows.append([(components(a) - components(b)) / (2 * eps)
                     for a, b in zip(high, low, strict=True)])
    if not rows:
        return [ops.full_of((0, components(y).numel()), 0, dtype=flambeau.float64)
                for y in outputs_of(fn, args)]
    return [ops.stack(list(column)) for column in zip(*rows, strict=True)]


def _check_alike(high: list[Tensor], low: list[Tensor]) -> None:
    what = None
    if [y.shape for y in high] != [y.shape for y in low]:
        what = "shape"
    elif [y.dtype for y in high] != [y.dtype for y in low]:
        what = "dtype"
    if what is not None:
        raise AssertionError(
            f"gradcheck(): Expected `func` to return outputs with the same {what} when inputs are "
            f"perturbed, but it depends on their values, which a step of eps changes: choose "
            "inputs that are further from where it changes")


def by_backward(y: Tensor, x: Tensor, weights: list[Tensor]) -> Tensor:
    """For each weighting of an output's components, the gradient's components; stacked."""
    rows = []
    for weight in weights:
        grad, = run_grad([y], [from_components(weight, y)], [x], True, False)
        rows.append(components(ops.zeros_like(x) if grad is None else grad))
    if not rows:
        return ops.full_of((0, components(x).numel()), 0, dtype=flambeau.float64)
    return ops.stack(rows)


def by_forward(fn: Callable, args, i: int, directions: list[Tensor]) -> Columns:
    """Tangents of all outputs for directions of input ``i``."""
    rows = []
    for direction in directions:
        tangent = from_components(direction, args[i])
        rows.append([components(t) for t in tangents_of(fn, args, {i: tangent})])
    if not rows:
        return [ops.full_of((0, components(y).numel()), 0, dtype=flambeau.float64)
                for y in outputs_of(fn, args)]
    return [ops.stack(list(column)) for column in zip(*rows, strict=True)]


def tangents_of(fn: Callable, args, tangents: dict[int, Tensor],
                constant: tuple[int, ...] = ()) -> list[Tensor]:
    """Tangents of all outputs, zeros where an output has none. Inputs that require grad have the
    tangents that are given, else zeros; those at the indices ``constant`` have none."""
    with forward_ad.dual_level():
        duals = [_dual(a, tangents.get(k), k in constant) for k, a in enumerate(args)]
        pairs = [forward_ad.unpack_dual(y) for y in outputs_of(fn, duals)]
        return [ops.zeros_like(p.primal).detach() if p.tangent is None else p.tangent.detach()
                for p in pairs]


def _dual(value, tangent: Tensor | None, constant: bool):
    """An input for forward mode: only what the function marks itself is recorded."""
    if not isinstance(value, Tensor) or not value.requires_grad:
        return value
    value = value.detach()
    if constant:
        return value
    return forward_ad.make_dual(value, ops.zeros_like(value) if tangent is None else tangent)
