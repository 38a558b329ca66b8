"""Custom functions inside transforms.

At a level a custom function is one operator: what it computes below is recorded there as one node
again, whose backward is the user's. ``vmap`` asks the class for a rule (``vmap``, or
``generate_vmap_rule``); forward mode for ``jvp``, and without one it differentiates ``backward``.
"""
from __future__ import annotations

from typing import NamedTuple

from flambeau.autograd._context import FunctionCtx
from flambeau.autograd._engine import is_grad_enabled, needs_grad
from flambeau.autograd.function import Function, _applied, _backward_of, _tie
from flambeau.autograd.transforms.batch import BatchLevel
from flambeau.autograd.transforms.custom_forward import OtherContext, pushed_forward
from flambeau.autograd.transforms.stack import STATE, has_history_below, level_of
from flambeau.core import Tensor
from flambeau.core.pytree import tree_flatten, tree_unflatten

__all__ = ["VmapInfo", "apply_at_level", "level_of_call"]


class VmapInfo(NamedTuple):
    """What a custom ``vmap`` is told: the size of the batch, and the randomness mode."""

    batch_size: int
    randomness: str


def level_of_call(args) -> int:
    """The innermost level among the arguments of a custom function."""
    return max([level_of(a) for a in args], default=0)


def apply_at_level(cls, args: tuple, kwargs: dict):
    """What ``cls.apply`` does for tensors of a level.

    Args:
        cls: the custom function.
        args: its arguments.
        kwargs: its keyword arguments.

    Returns:
        What ``forward`` returns, tensors of the level.

    Raises:
        RuntimeError: the class lacks what the transform needs.
    """
    level = STATE.levels[level_of_call(args) - 1]
    needs = tuple([isinstance(a, Tensor) and level.is_mine(a) and needs_grad(a) for a in args])
    if not is_grad_enabled() or not any(needs):
        return _below(cls, level, args, kwargs)
    if cls.setup_context is Function.setup_context:
        if isinstance(level, BatchLevel) and not any(
                has_history_below(a) for a in args if isinstance(a, Tensor)):
            return _applied(cls, args, kwargs)[0]
        if level.is_block:                          # of forward_ad: history is that of the values
            return _below(cls, level, args, kwargs)
        raise RuntimeError(
            "In order to use an autograd.Function with function transforms (vmap, grad, jvp, "
            "jacrev, ...), it must override the setup_context staticmethod: split "
            f"{cls.__name__}.forward(ctx, ...) into forward(...) and "
            "setup_context(ctx, inputs, output)")
    context = FunctionCtx()
    context.needs_input_grad = needs
    output = _below(cls, level, args, kwargs)
    cls.setup_context(context, args, output)
    return _tie(cls, context, args, output, True)


def _below(cls, level, args, kwargs):
    """The output without a node at the level; below it, nodes as usual."""
    STATE.depth, before = level.number - 1, STATE.depth
    try:
        rule = _batched if isinstance(level, BatchLevel) else pushed_forward
        return rule(cls, level, args, kwargs)
    finally:
        STATE.depth = before


# ---- vmap --------------------------------------------------------------------------------------
def _batched(cls, level, args, kwargs):
    pairs = [level.unwrap(a) if isinstance(a, Tensor) else (a, False) for a in args]
    inner = [value for value, _ in pairs]
    dims = tuple([0 if batched else None for _, batched in pairs])
    if not any(batched for _, batched in pairs):
        return _wrapped(level, cls.apply(*inner, **kwargs), False)
    if cls.vmap is not Function.vmap:
        output, out_dims = cls.vmap(VmapInfo(level.size, level.randomness), dims, *inner, **kwargs)
        return _with_dims(level, output, out_dims)
    if not cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please "
            "override and implement the vmap staticmethod or set generate_vmap_rule=True: then "
            "forward and backward run on batches as they are")
    return _wrapped(level, _generated(cls, level, dims, kwargs).apply(*inner), True)


def _wrapped(level, output, batched):
    flat, spec = tree_flatten(output)
    return tree_unflatten([level.wrap(v, batched) if isinstance(v, Tensor) else v
                           for v in flat], spec)


def _with_dims(level, output, out_dims):
    """Outputs of a custom rule, batches moved to the front."""
    single = isinstance(output, Tensor)
    outputs = (output,) if single else tuple(output)
    places = out_dims if isinstance(out_dims, (tuple, list)) else (out_dims,) * len(outputs)
    whole = []
    for value, place in zip(outputs, places, strict=True):
        if isinstance(value, Tensor):
            value = level.wrap(value if not place else value.movedim(place, 0), place is not None)
        whole.append(value)
    return whole[0] if single else tuple(whole)


def _generated(cls, level, dims, kwargs):
    """The function of whole batches: the user's methods, each inside a vmap of its own."""
    size, randomness = level.size, level.randomness

    def inside(method, ctx, values, flags):
        """Run a method on samples; gives whole batches."""
        STATE.depth, before = len(STATE.levels), STATE.depth
        try:
            with BatchLevel(size, randomness) as own:
                result = method(*[own.wrap(v, f) if isinstance(v, Tensor) else v
                                  for v, f in zip(values, flags, strict=True)])
                ctx.kept = [own.unwrap(t) if isinstance(t, Tensor) else (t, False)
                            for t in ctx.inner._to_save] if hasattr(ctx, "inner") else []
                flat, spec = tree_flatten(result)
                pairs = [own.unwrap(v) if isinstance(v, Tensor) else (v, True) for v in flat]
        finally:
            STATE.depth = before
        return [v if f or not isinstance(v, Tensor) else v.expand(size, *v.shape)
                for v, f in pairs], spec

    class Generated(Function):
        """Whole batches of a custom function."""

        generate_vmap_rule = True

        @staticmethod
        def forward(ctx, *values):
            ctx.inner = FunctionCtx()
            ctx.inner.needs_input_grad = ctx.needs_input_grad
            flat, spec = inside(lambda *a: cls._forward(ctx.inner, a, kwargs), ctx, values,
                                [d == 0 for d in dims])
            ctx.save_for_backward(*[t for t, _ in ctx.kept])
            ctx.saved_flags = [f for _, f in ctx.kept]
            ctx.single = spec.type is None
            return flat[0] if ctx.single else tuple(flat)

        @staticmethod
        def backward(ctx, *grads):
            saved, count = ctx.saved_tensors, len(grads)

            def one(*values):
                context = OtherContext(ctx.inner, values[count:])
                return _backward_of(cls)(context, *values[:count])
            flat, _ = inside(one, _Nothing(), (*grads, *saved), [True] * count + ctx.saved_flags)
            return tuple([g if g is None or d == 0 else g.sum(0)
                          for g, d in zip(flat, dims, strict=False)])

    Generated.__name__ = f"{cls.__name__}Batched"
    return Generated


class _Nothing:
    """A context that keeps nothing."""
