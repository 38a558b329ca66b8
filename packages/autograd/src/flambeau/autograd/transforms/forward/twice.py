"""The general way: differentiate the gradient.

The gradient of a call is ``J^T u``, linear in the cotangent ``u``. Its derivative by ``u`` in the
direction of the tangent ``t`` is ``J t``: two backward passes, for any definition with a rule that
is differentiable itself. It is the same for every ``u``; zeros are what no rule objects to.
"""
from __future__ import annotations

from typing import Any

from flambeau.autograd._engine import (
    alias_of,
    enable_grad,
    end_variables,
    is_grad_enabled,
    needs_grad,
    run_grad,
)
from flambeau.autograd.transforms.level import as_tuple
from flambeau.autograd.transforms.stack import has_history, lifted
from flambeau.core import Tensor, _core, ops

__all__ = ["tangents_by_gradients"]


def tangents_by_gradients(op, primals, tangents, results):
    """Tangents of the results of any differentiable definition."""
    return jvp_by_gradients(lambda args: as_tuple(_core.call(op, args)), primals, tangents)


def jvp_by_gradients(function, primals, tangents):
    """Tangents of what ``function`` gives; None where nothing depends on the inputs."""
    further = is_grad_enabled() and any(has_history(x) for x in _tensors((primals, tangents)))
    with enable_grad():
        args, pairs = _fresh_all(primals, tangents, further)
        outputs = function(args)
        wanted = [i for i, y in enumerate(outputs) if needs_grad(y)]
        seeds = [_core.requiring(lifted(ops.zeros_like(outputs[i].detach()))) for i in wanted]
        if not wanted:
            return (None,) * len(outputs)
        inputs = [x for x, _ in pairs]
        grads = run_grad([outputs[i] for i in wanted], seeds, inputs, True, True)
        end_variables([*inputs, *seeds])
        used = [(g, t) for g, (_, t) in zip(grads, pairs, strict=True)
                if g is not None and needs_grad(g)]
    if not used:
        return tuple([None if i not in wanted else ops.mul(y, 0)
                      for i, y in enumerate(outputs)])
    found = run_grad([g for g, _ in used], [t.to(g.dtype) for g, t in used], seeds, further,
                     further)
    results: list[Any] = [None] * len(outputs)
    for i, tangent in zip(wanted, found, strict=True):
        results[i] = ops.mul(outputs[i].detach(), 0) if tangent is None else tangent
    return tuple(results)


def _fresh_all(primals, tangents, further):
    """Arguments to differentiate by, and pairs of those with their tangents."""
    args, pairs = [], []
    for value, tangent in zip(primals, tangents, strict=True):
        if isinstance(tangent, list):
            value = [v if t is None else _fresh(v, further)
                     for v, t in zip(value, tangent, strict=True)]
            pairs.extend([(v, t) for v, t in zip(value, tangent, strict=True) if t is not None])
        elif tangent is not None:
            value = _fresh(value, further)
            pairs.append((value, tangent))
        args.append(value)
    return args, pairs


def _fresh(value: Tensor, further: bool) -> Tensor:
    """A tensor of its own for one place; linked to the value where its history matters."""
    value = lifted(value)
    return ops.alias(value) if further and needs_grad(value) else _core.requiring(alias_of(value))


def _tensors(values):
    """The tensors of nested lists."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)
