"""Custom functions of batches: by the rule of the class, or by its methods on samples.

A class says with ``vmap`` how it works on batches. With ``generate_vmap_rule`` its methods run as
they are, each inside a vmap of its own; what they keep in their context are whole batches.
"""
from __future__ import annotations

from typing import Any, NamedTuple

from flambeau.autograd._context import FunctionCtx
from flambeau.autograd.function import Function, _backward_of, _is_among
from flambeau.autograd.transforms.batch import BatchLevel
from flambeau.autograd.transforms.captures import Inside
from flambeau.autograd.transforms.custom_forward import OtherContext
from flambeau.autograd.transforms.stack import STATE
from flambeau.autograd.transforms.vectorize import spread
from flambeau.core import Tensor
from flambeau.core.pytree import tree_flatten, tree_unflatten

__all__ = ["VmapInfo", "batched"]


class VmapInfo(NamedTuple):
    """What a custom ``vmap`` is told: the size of the batch, and the randomness mode."""

    batch_size: int
    randomness: str


def batched(cls, level, args, kwargs):
    """The output at a level of vmap.

    Args:
        cls: the custom function.
        level: the level.
        args: its arguments; tensors in them may be in lists, tuples and dicts.
        kwargs: its keyword arguments.

    Raises:
        RuntimeError: the class has no rule for batches, or one that returns something else.
    """
    leaves, spec = tree_flatten(tuple(args))
    pairs = [level.unwrap(a) for a in leaves]
    if not any(flag for _, flag in pairs):
        return _wrapped(level, cls.apply(*tree_unflatten([v for v, _ in pairs], spec), **kwargs))
    if cls.generate_vmap_rule:
        if cls.vmap is not Function.vmap:
            raise RuntimeError(
                f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True "
                "and an overridden vmap staticmethod: remove one of them")
        made = _generated(cls, level, args, kwargs)
        flat = made.apply(*[v for v, _ in pairs])
        flat = (flat,) if isinstance(flat, Tensor) else flat
        return tree_unflatten([level.wrap(v, True) if isinstance(v, Tensor) else v
                               for v in flat], made.spec)
    if cls.vmap is Function.vmap:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please "
            "override and implement the vmap staticmethod or set generate_vmap_rule=True: then "
            "forward and backward run on batches as they are")
    placed = [_placed(a, v, flag) for a, (v, flag) in zip(leaves, pairs, strict=True)]
    values, dims = (tree_unflatten(list(part), spec) for part in zip(*placed, strict=True))
    info = VmapInfo(level.size, level.randomness)
    return _with_dims(cls, level, cls.vmap(info, dims, *values, **kwargs))


def _placed(argument, value, flag):
    """A batch as it was given to vmap, and which of its dimensions runs over the samples."""
    if not flag:
        return value, None
    index = argument.__dict__.get("_batch_dim", 0)
    return (value.movedim(0, index) if index else value), index


def _wrapped(level, output):
    """Outputs that all samples share."""
    flat, spec = tree_flatten(output)
    return tree_unflatten([level.wrap(v, False) if isinstance(v, Tensor) else v for v in flat],
                          spec)


def _with_dims(cls, level, result):
    """Outputs of a custom rule, batches moved to the front."""
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(
            f"{cls.__name__}.vmap(): Expected the vmap staticmethod to have two returns, an output "
            "and out_dims that says where the batch is in it (an int, None, or a structure of "
            f"them like the output's), got a {type(result).__name__}"
            + (f" of {len(result)}" if isinstance(result, tuple) else ""))
    output, out_dims = result
    flat, spec = tree_flatten(output)
    indices = spread(out_dims, spec)
    if indices is None:
        raise RuntimeError(
            f"{cls.__name__}.vmap() returned an incompatible (output, out_dims) tuple: "
            f"out_dims={out_dims} does not have the structure of the output, {spec}. Return one "
            "int or None for all outputs, or the output's structure with one for each tensor")
    return tree_unflatten([
        level.wrap(v.movedim(index, 0) if index else v, index is not None)
        if isinstance(v, Tensor) else v for v, index in zip(flat, indices, strict=True)], spec)


# ---- methods on samples ------------------------------------------------------------------------
class _Samples:
    """Runs methods on samples of whole batches."""

    def __init__(self, level) -> None:
        self.level = level

    def run(self, method, values, flags):
        """What a method of samples returns: values, whether they are batches, the structure."""
        level = self.level
        STATE.depth, before = len(STATE.levels), STATE.depth
        try:
            with BatchLevel(level.size, level.randomness) as own, Inside(own):
                result = method(*[own.wrap(v, f) if isinstance(v, Tensor) else v
                                  for v, f in zip(values, flags, strict=True)])
                flat, spec = tree_flatten(result)
                return *_unwrapped(own, flat), spec
        finally:
            STATE.depth = before

    def whole(self, values, flags):
        """Values with one of each that all samples share for every sample."""
        size = self.level.size
        return [v if f or not isinstance(v, Tensor) else v.expand(size, *v.shape)
                for v, f in zip(values, flags, strict=True)]


def _unwrapped(own, values):
    pairs = [own.unwrap(v) if isinstance(v, Tensor) else (v, False) for v in values]
    return [v for v, _ in pairs], [f for _, f in pairs]


def _generated(cls, level, args, kwargs):
    """The function of whole batches, which takes the leaves of the arguments."""
    spec = tree_flatten(tuple(args))[1]
    flags = [level.unwrap(a)[1] for a in tree_flatten(tuple(args))[0]]
    samples = _Samples(level)
    keeper = _Keeper(cls, args)

    class Generated(Function):
        """Whole batches of a custom function."""

        generate_vmap_rule = True
        spec: Any = None            # of what forward returns

        @staticmethod
        def forward(*values):
            flat, found, Generated.spec = samples.run(
                lambda *v: cls.forward(*tree_unflatten(v, spec), **kwargs), values, flags)
            flat = samples.whole(flat, found)
            return flat[0] if Generated.spec.type is None else tuple(flat)

        @staticmethod
        def setup_context(ctx, inputs, output):
            outputs = (output,) if isinstance(output, Tensor) else output
            count = len(inputs)

            def set_up(*values):
                given = tree_unflatten(values[:count], spec)
                returned = tree_unflatten(values[count:], Generated.spec)
                keeper.set_up(ctx, given, returned, values[count:], outputs)
                return ctx.inner._wanted(), ctx.inner._to_forward
            kept, kept_flags, kept_spec = samples.run(
                set_up, (*inputs, *outputs), [*flags, *[True] * len(outputs)])
            ctx.number = len(tree_unflatten(kept, kept_spec)[0])
            ctx.flags = kept_flags
            ctx.save_for_backward(*kept[:ctx.number])
            ctx.save_for_forward(*kept[ctx.number:])

        @staticmethod
        def backward(ctx, *grads):
            flat = keeper.run(samples, ctx, _backward_of(cls), grads, [True] * len(grads),
                              ctx.flags[:ctx.number])
            return tuple([g if f or not isinstance(g, Tensor) else g.sum(0)
                          for g, f in zip(keeper.by_leaf(flat), flags, strict=True)])

    if cls.jvp is not Function.jvp:
        def jvp(ctx, *tangents):
            given = keeper.by_argument(tangents)
            given_flags = keeper.by_argument(flags)
            return tuple(keeper.run(samples, ctx, cls.jvp, given, given_flags,
                                    ctx.flags[ctx.number:]))
        Generated.jvp = staticmethod(jvp)  # type: ignore[method-assign]
    Generated.__name__ = f"{cls.__name__}Batched"
    return Generated


class _Keeper:
    """The user's context between the methods, and which leaf is which argument."""

    def __init__(self, cls, args) -> None:
        self.cls = cls
        #: For each leaf its argument; None for leaves in structures, which have no gradient.
        self.indices: list[int | None] = []
        self.count = len(args)
        for number, argument in enumerate(args):
            leaves, spec = tree_flatten(argument)
            self.indices.extend([number if spec.type is None else None] * len(leaves))

    def set_up(self, ctx, given, returned, flat, outputs) -> None:
        """Let the user's setup_context fill a context of samples."""
        inner = ctx.inner = FunctionCtx()
        inner.needs_input_grad = tuple(self.by_argument(ctx.needs_input_grad, False))
        self.cls.setup_context(inner, given, returned)
        ctx.materialize_grads = inner.materialize_grads
        ctx.mark_non_differentiable(*[whole for sample, whole in zip(flat, outputs, strict=True)
                                      if _is_among(sample, inner._constant)])
        ctx.mark_dirty(*inner._dirty)

    def run(self, samples, ctx, method, values, flags, kept_flags):
        """Run ``backward`` or ``jvp`` on samples; gives whole batches."""
        saved, count = ctx.saved_tensors, len(values)
        flat, found, _ = samples.run(
            lambda *v: method(OtherContext(ctx.inner, v[count:]), *v[:count]), (*values, *saved),
            [*flags, *kept_flags])
        return samples.whole(flat, found)

    def by_leaf(self, values):
        """Values of arguments for each leaf."""
        return [None if n is None or n >= len(values) else values[n] for n in self.indices]

    def by_argument(self, values, missing=None):
        """Values of leaves for each argument."""
        found = [missing] * self.count
        for index, value in zip(self.indices, values, strict=True):
            if index is not None:
                found[index] = value
        return found
