"""Derivatives of gradient kernels, by differentiating the formula they compute.

A kernel such as ``layer_norm_grad`` is itself differentiable (double backward needs it). Its
formula is a few lines of operators; running them on the tape gives derivatives of any order.
"""
from flambeau.autograd._engine import (
    alias_of,
    enable_grad,
    end_variables,
    is_grad_enabled,
    needs_grad,
    run_grad,
)
from flambeau.autograd.transforms.stack import lifted
from flambeau.core import _core, ops

__all__ = ["vjp_of"]


def vjp_of(function, inputs, cotangents, needs):
    """Gradients of ``sum(outputs * cotangents)`` for those ``inputs`` that are needed.

    Args:
        function: from the inputs to a tuple of outputs, written in operators.
        inputs: tensors, or None for optional ones.
        cotangents: one gradient per output, None for outputs that have none.
        needs: which inputs want a gradient.
    """
    further = is_grad_enabled()
    with enable_grad():
        fresh = [_fresh(x, need, further) for x, need in zip(inputs, needs, strict=True)]
        pairs = [(y, c) for y, c in zip(function(*fresh), cotangents, strict=True) if c is not None]
    wanted = [x for x, need in zip(fresh, needs, strict=True) if need]
    outputs = [y for y, _ in pairs if needs_grad(y)]
    weights = [c for y, c in pairs if needs_grad(y)]
    grads = iter(run_grad(outputs, weights, wanted, further, further))
    end_variables(wanted)
    return tuple([next(grads) if need else None for need in needs])


def _fresh(x, need, further):
    """The input to differentiate by: its own tensor, linked to ``x`` when that matters."""
    if not need or x is None:
        return x
    x = lifted(x)
    return ops.alias(x) if further and needs_grad(x) else _core.requiring(alias_of(x))
