"""Rows with dims: they count from one further on. Reductions over all dimensions name them."""
from __future__ import annotations

from flambeau.autograd.transforms.batching.basics import (
    call,
    fronts,
    logical_ndim,
    position,
    roles,
    shifted,
)
from flambeau.core import Tensor

__all__ = ["by_dims", "cat", "flattened_best", "flattened_median", "reduction"]

def by_dims(level, op, args, flags, seen):
    """All tensors as batches, dims shifted; a 0-d tensor gets a dimension for the time being."""
    args = fronts(level, args, flags)
    ndim = next(logical_ndim(_first(a), True) for a in args if _first(a) is not None)
    if ndim == 0:
        args = [call("unsqueeze", (a, 1)) if isinstance(a, Tensor) else a for a in args]
    for i, (name, role) in enumerate(roles(op.key)):
        if role in ("Dim", "Dims") or (role == "Ints" and name == "dim"):
            args[i] = shifted(args[i], ndim)
    results = call(op, args)
    if ndim:
        return results
    if isinstance(results, Tensor):
        return _without_room(results)
    return tuple([_without_room(r) for r in results])


def cat(level, op, args, flags, seen):
    """A vector without elements joins tensors of any rank, as one of size 0 along the dim."""
    tensors, dim = args
    like = next((t for t in seen[0] if tuple(t.shape) != (0,)), None)
    if like is None or like.ndim < 2:
        return by_dims(level, op, args, flags, seen)
    shape = list(like.shape)
    shape[dim] = 0
    batched = flags[0] or [False] * len(tensors)
    tensors = [t.reshape([level.size] * f + shape) if tuple(sample.shape) == (0,) else t
               for t, f, sample in zip(tensors, batched, seen[0], strict=True)]
    return by_dims(level, op, (tensors, dim), flags, seen)


def _first(value):
    """The tensor, or the first of a list of them."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], Tensor):
        return value[0]
    return None


def _without_room(result):
    return call("squeeze", (result, [1])) if result.ndim == 2 else result


def reduction(level, op, args, flags, seen):
    """Reductions: no dims means all those that the function sees."""
    args = list(args)
    at = position(op.key, "dim")
    ndim = args[0].ndim - 1
    if ndim == 0:
        args[0] = call("unsqueeze", (args[0], 1))
        args[at] = [1]
        args[position(op.key, "keepdim")] = False
    else:
        dims = args[at]
        every = dims is None or (isinstance(dims, (list, tuple)) and not dims)
        args[at] = list(range(1, ndim + 1)) if every else shifted(dims, ndim)
    return call(op, args)


def flattened_best(level, op, args, flags, seen):
    """argmax and argmin: without a dim, of all elements that the function sees."""
    x, dim, keepdim = args
    ndim = x.ndim - 1
    if dim is not None and ndim:
        return call(op, (x, shifted(dim, ndim), keepdim))
    best = call(op, (x.reshape(level.size, seen[0].numel()), 1, False))
    return best.reshape([level.size] + [1] * ndim) if keepdim else best


def flattened_median(level, op, args, flags, seen):
    """The median of all elements is one along a flat dimension."""
    flat = args[0].reshape(level.size, seen[0].numel())
    return call(f"{op.name}.dim", (flat, 1, False))[0]
