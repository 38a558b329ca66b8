"""The last resort: one sample at a time."""
from __future__ import annotations

import warnings

from flambeau.autograd.transforms.batching.basics import call
from flambeau.autograd.transforms.level import as_tuple
from flambeau.core import Tensor

__all__ = ["loop"]

_warned: set[str] = set()


def loop(level, op, args, flags, seen, warns: bool = True):
    """Run the operator for each sample and stack the results."""
    if warns and op.key not in _warned:
        _warned.add(op.key)
        warnings.warn(f"vmap: {op.name}() has no batching rule for these arguments and runs sample "
                      "by sample; results are right, but it is as slow as a loop",
                      UserWarning, stacklevel=2)
    if level.size == 0:
        raise NotImplementedError(f"vmap: {op.name}() runs sample by sample, and a batch of 0 "
                                  "samples does not say what its results would look like")
    rows = []
    for i in range(level.size):
        rows.append(as_tuple(call(op, [_sample(a, f, i)
                                       for a, f in zip(args, flags, strict=True)])))
    return tuple([_stacked(column) for column in zip(*rows, strict=True)])


def _sample(value, flag, i):
    if isinstance(flag, list):
        return [_sample(v, f, i) for v, f in zip(value, flag, strict=True)]
    return call("select", (value, 0, i)) if flag and isinstance(value, Tensor) else value


def _stacked(column):
    return call("cat", ([call("unsqueeze", (x, 0)) for x in column], 0))
