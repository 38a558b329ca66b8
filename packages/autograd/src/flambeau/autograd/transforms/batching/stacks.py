"""Rows on the last dimensions: stacks of matrices, the batch is one more dimension of the stack."""
from __future__ import annotations

from flambeau.autograd.transforms.batching.basics import align, call, front, fronts
from flambeau.autograd.transforms.batching.loop import loop
from flambeau.core import Tensor

__all__ = ["STACK_RULES", "in_front"]


def in_front(level, op, args, flags, seen):
    """One matrix, or one value, for each leading index."""
    return call(op, fronts(level, args, flags))


def _clone(level, op, args, flags, seen):
    """The order of the whole batch: that of each sample, or C order."""
    if args[1] in (None, "preserve_format", "contiguous_format"):
        return call(op, args)
    raise RuntimeError(
        f"vmap: memory_format={args[1]} inside a function that is vectorized: a sample's elements "
        "lie between those of the others. Only preserve_format and contiguous_format are "
        "supported there; change the format of the whole batch outside of vmap")


def _aligned(level, op, args, flags, seen):
    """Matrices of stacks that broadcast."""
    tensors = [s for s in seen if isinstance(s, Tensor)]
    rank = max([s.ndim for s in tensors])
    if min([s.ndim for s in tensors]) < 2:
        return loop(level, op, args, flags, seen)
    whole = [align(front(a, f, level.size), rank) if isinstance(a, Tensor) else a
             for a, f in zip(args, flags, strict=True)]
    return call(op, whole)


def _lstsq(level, op, args, flags, seen):
    """Ranks and singular values are empty where the driver finds none."""
    x, rank, values = _aligned(level, op, args, flags, seen)
    driver, none = args[3], (level.size, 0)
    return (x, rank.reshape(none) if driver == "gels" else rank,
            values.reshape(none) if driver in ("gels", "gelsy") else values)


def _solve_lu(level, op, args, flags, seen):
    """Whether B holds vectors or matrices follows from both shapes: only equal ranks are plain."""
    if seen[0].ndim != seen[1].ndim:
        return loop(level, op, args, flags, seen)
    return call(op, fronts(level, args, flags))


def _solve_ldl(level, op, args, flags, seen):
    """Stacks of equal ranks; others broadcast by themselves."""
    if seen[0].ndim != seen[2].ndim:
        return loop(level, op, args, flags, seen)
    return call(op, fronts(level, args, flags))


def _copy(level, op, args, flags, seen):
    """``src`` broadcast to ``self``, in its dtype."""
    target = front(args[0], flags[0], level.size)
    source = align(args[1], target.ndim - 1) if flags[1] else args[1]
    return call(op, (target, source))


def _fill(level, op, args, flags, seen):
    target = front(args[0], flags[0], level.size)
    if not isinstance(args[1], Tensor):
        return call(op, (target, args[1]))
    source = align(args[1], target.ndim - 1) if flags[1] else args[1]
    return call("copy", (target, source))


def _pinv(level, op, args, flags, seen):
    if flags[1] or flags[2] or args[1] is not None or args[2] is not None:
        return loop(level, op, args, flags, seen)
    return call(op, args)


STACK_RULES = {
    "clone": _clone, "copy": _copy, "fill": _fill, "linalg_solve_lu": _solve_lu,
    "linalg_solve_triangular": _aligned, "linalg_lstsq_by": _lstsq,
    "linalg_ldl_solve": _solve_ldl, "pinv_svd": _pinv,
}
