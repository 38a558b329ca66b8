"""Custom functions inside transforms.

At a level a custom function is one operator: what it computes below is recorded there as one node
again, whose backward is the user's. ``vmap`` asks the class for a rule (custom_batches.py); forward
mode for ``jvp`` (custom_forward.py), and without one it differentiates ``backward``.
"""
from __future__ import annotations

from flambeau.autograd._context import FunctionCtx
from flambeau.autograd._engine import is_grad_enabled, needs_grad
from flambeau.autograd.function import Function, _applied, _tie
from flambeau.autograd.transforms.batch import BatchLevel
from flambeau.autograd.transforms.custom_batches import batched
from flambeau.autograd.transforms.custom_forward import pushed_forward
from flambeau.autograd.transforms.stack import STATE, level_of
from flambeau.core import Tensor
from flambeau.core.pytree import tree_leaves

__all__ = ["apply_inside"]


def apply_inside(cls, args: tuple, kwargs: dict):
    """What ``cls.apply`` does inside transforms.

    Args:
        cls: the custom function.
        args: its arguments.
        kwargs: its keyword arguments.

    Returns:
        What ``forward`` returns, tensors of the innermost level among the arguments.

    Raises:
        RuntimeError: the class lacks what the transform needs.
    """
    if STATE.running and cls.setup_context is Function.setup_context:
        raise RuntimeError(
            "In order to use an autograd.Function with function transforms (vmap, grad, jvp, "
            "jacrev, ...), it must override the setup_context staticmethod: split "
            f"{cls.__name__}.forward(ctx, ...) into forward(...) and "
            "setup_context(ctx, inputs, output)")
    number = max([level_of(a) for a in tree_leaves(args)], default=0)
    if not number:
        return _applied(cls, args, kwargs)[0]
    level = STATE.levels[number - 1]
    needs = tuple([isinstance(a, Tensor) and level.is_mine(a) and needs_grad(a) for a in args])
    if not is_grad_enabled() or not any(needs) or cls.setup_context is Function.setup_context:
        return _below(cls, level, args, kwargs)     # in a block of forward_ad, which has history
    context = FunctionCtx()
    context.needs_input_grad = needs
    output = _below(cls, level, args, kwargs)
    cls.setup_context(context, args, output)
    return _tie(cls, context, args, output, True)


def _below(cls, level, args, kwargs):
    """The output without a node at the level; below it, nodes as usual."""
    STATE.depth, before = level.number - 1, STATE.depth
    try:
        rule = batched if isinstance(level, BatchLevel) else pushed_forward
        return rule(cls, level, args, kwargs)
    finally:
        STATE.depth = before
