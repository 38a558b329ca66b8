"""Pointwise operators: the batch is one more dimension in front."""
from __future__ import annotations

from flambeau.autograd.transforms.batching.basics import align, call, logical_ndim, roles
from flambeau.core import Tensor
from flambeau.core.promotion import promoted

__all__ = ["pointwise"]


def pointwise(level, op, args, flags, seen):
    """Align the dimensions that the function sees; the batch broadcasts before them."""
    tensors = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
    ndim = max([logical_ndim(args[i], flags[i]) for i in tensors])
    args = list(args)
    for i in tensors:
        if flags[i]:
            args[i] = align(args[i], ndim)
    return call(op, _promoted(op, args, seen, tensors))


def _promoted(op, args, seen, tensors):
    """Cast where dtypes differ: a 0-d tensor counts less in promotion, but a batch of them is
    not 0-d any more."""
    operands = [i for i in tensors if roles(op.key)[i][1] != "Mask"]
    if len({args[i].dtype for i in operands}) < 2 or all(seen[i].ndim for i in operands):
        return args
    numbers = [a for a, (_, role) in zip(seen, roles(op.key), strict=True)
               if role == "Operand" and isinstance(a, (int, float, complex))]
    common = promoted([seen[i] for i in operands] + numbers)
    for i in operands:
        if args[i].dtype is not common:
            args[i] = call("cast", (args[i], common))
    return args
