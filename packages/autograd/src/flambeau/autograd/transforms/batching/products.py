"""Matrix products."""
from __future__ import annotations

from flambeau.autograd.transforms.batching.basics import align, call
from flambeau.autograd.transforms.batching.loop import loop

__all__ = ["linear", "matmul", "narrow_linear"]


def matmul(level, op, args, flags, seen):
    """Stacks of products; a batch of vectors times one matrix is a single product."""
    (x, y), (x_batched, y_batched) = args, flags
    x_rank, y_rank = seen[0].ndim, seen[1].ndim
    if not y_batched and y_rank <= 2 and (x_rank > 1 or y_rank == 2):
        return call(op, (x, y))
    if not x_batched and x_rank == 2 and y_rank == 1:
        return call(op, (y, call("t", (x,))))
    if x_rank == 1:
        x = call("unsqueeze", (x, -2))
    if y_rank == 1:
        y = call("unsqueeze", (y, -1))
    rank = max(x_rank, y_rank, 2)
    x = align(x, rank) if x_batched else x
    y = align(y, rank) if y_batched else y
    result = call(op, (x, y))
    if y_rank == 1:
        result = call("squeeze", (result, [-1]))
    if x_rank == 1:
        result = call("squeeze", (result, [-1 if y_rank == 1 else -2]))
    return result


def linear(level, op, args, flags, seen):
    """One product where all samples share the weight."""
    x, weight, bias = args
    if not flags[1] and not flags[2]:
        return call(op, args)
    if not flags[1]:
        result = call(op, (x, weight, None))
        rank, batched = seen[0].ndim, flags[0]
    else:
        if seen[1].ndim == 1:
            turned, rank = weight, max(seen[0].ndim - 1, 0)
        else:
            turned, rank = call("transpose", (weight, -1, -2)), seen[0].ndim
        result = matmul(level, "matmul", (x, turned), flags[:2], (seen[0], _Turned(seen[1].ndim)))
        batched = True
    if bias is None:
        return result
    if not batched:                     # only the bias is a batch
        return call("add", (result, align(bias, rank)))
    return call("add", (result, align(bias, rank) if flags[2] else bias))


def narrow_linear(level, op, args, flags, seen):
    """Rows of all samples by one weight; other batches go sample by sample."""
    if any(flags[1:]):
        return loop(level, op, args, flags, seen)
    return call(op, args)


class _Turned:
    """Stands for a transposed weight as the function would see it."""

    def __init__(self, ndim: int) -> None:
        self.ndim = ndim
