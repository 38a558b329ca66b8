"""Masks, and results whose shape depends on values."""
from __future__ import annotations

from flambeau.autograd.transforms.batching.basics import align, call, front, inferred_shape
from flambeau.autograd.transforms.batching.loop import loop

__all__ = ["masked_scatter", "masked_select", "refuse"]


def refuse(level, op, args, flags, seen):
    raise RuntimeError(
        f"vmap: the shape of the result of {op.name}() depends on the values, which differ "
        "between the samples of the batch, so that their results cannot be one tensor. Keep the "
        "shape and blank out what is not wanted, flambeau.where(mask, x, 0), or loop over the "
        "samples without vmap")


def masked_select(level, op, args, flags, seen):
    """One mask for all samples picks as many elements from each."""
    if flags[1]:
        return refuse(level, op, args, flags, seen)
    x = align(args[0], max(seen[0].ndim, seen[1].ndim))
    return call(op, (x, args[1])).reshape(level.size, -1)


def masked_scatter(level, op, args, flags, seen):
    """Running counts of the mask say which element of the source goes where."""
    x, mask, source = [front(a, f, level.size) for a, f in zip(args, flags, strict=True)]
    if not seen[2].numel():
        return loop(level, op, args, flags, seen)
    rank = max(seen[0].ndim, seen[1].ndim)
    shape = (level.size, *inferred_shape(op, seen))
    mask = call("expand", (align(mask, rank), shape)).reshape(level.size, -1)
    indices = call("clamp_min", (mask.cumsum(1) - 1, 0)).clamp_max(seen[2].numel() - 1)
    picked = call("gather", (source.reshape(level.size, -1), 1, indices))
    kept = call("expand", (align(x, rank), shape)).reshape(level.size, -1)
    return call("where", (mask, picked, kept)).reshape(shape)
