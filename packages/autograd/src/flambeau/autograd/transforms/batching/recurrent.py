"""Recurrent layers: samples that share the weights are more sequences of one batch."""
from __future__ import annotations

from flambeau.autograd.transforms.batching.basics import call, front
from flambeau.autograd.transforms.batching.loop import loop
from flambeau.core import Tensor

__all__ = ["RECURRENT_RULES"]


def _fold_steps(x):
    """[samples, steps, batch, ...] as [steps, samples * batch, ...]."""
    x = call("transpose", (x, 0, 1))
    return x.reshape(x.shape[0], x.shape[1] * x.shape[2], *x.shape[3:])


def _unfold_steps(x, size):
    if not x.numel():
        return x.reshape(size, *([0] * x.ndim))
    return call("transpose", (x.reshape(x.shape[0], size, x.shape[1] // size, *x.shape[2:]), 0, 1))


def _fold_rows(x, steps):
    """[samples, steps * batch, n] as [steps * samples * batch, n]."""
    if not x.numel():
        return x.reshape(0, x.shape[-1])
    x = x.reshape(x.shape[0], steps, -1, x.shape[-1])
    return call("transpose", (x, 0, 1)).reshape(-1, x.shape[-1])


def _unfold_rows(x, steps, size):
    if not x.numel():
        return x.reshape(size, 0, x.shape[-1])
    x = x.reshape(steps, size, -1, x.shape[-1])
    return call("transpose", (x, 0, 1)).reshape(size, -1, x.shape[-1])


def _fold(x):
    return x.reshape(-1, x.shape[-1])


def _unfold(x, size):
    return x.reshape(size, x.shape[0] // size, *x.shape[1:])


def _whole(args, flags, size, indices):
    """These arguments as batches; None stays."""
    return [front(args[i], flags[i], size) for i in indices]


def _recurrent(level, op, args, flags, seen):
    sizes, size, steps = args[8], level.size, seen[0].shape[0]
    if any(flags[3:8]) or sizes is not None or not seen[0].numel():
        return loop(level, op, args, flags, seen)
    x, h, c = _whole(args, flags, size, range(3))
    c = None if c is None else _fold(c)
    result, hidden, cell, gates, cells = call(op, (_fold_steps(x), _fold(h), c, *args[3:]))
    return (_unfold_steps(result, size), _unfold(hidden, size), _unfold(cell, size),
            _unfold_rows(gates, steps, size), _unfold_rows(cells, steps, size))


def _recurrent_grad(level, op, args, flags, seen):
    """Gradients of weights are each sample's own: only without them samples go together."""
    sizes, needs, size, steps = args[9], args[15], level.size, seen[3].shape[0]
    if any(flags[6:9]) or sizes is not None or needs > 1 or not seen[3].numel():
        return loop(level, op, args, flags, seen)
    whole = list(args)
    for indices, change in (((0, 3, 12), _fold_steps), ((1, 2, 4, 5), _fold),
                           ((13, 14), lambda x: _fold_rows(x, steps))):
        for i, value in zip(indices, _whole(args, flags, size, indices), strict=True):
            whole[i] = change(value) if isinstance(value, Tensor) else value
    by_input, by_hidden, by_cell, *rest = call(op, whole)
    empty = [t.reshape(size, *t.shape) for t in rest]       # of no elements
    return (_unfold_steps(by_input, size), _unfold(by_hidden, size), _unfold(by_cell, size),
            *empty)


RECURRENT_RULES = {"recurrent": _recurrent, "recurrent_grad": _recurrent_grad}
