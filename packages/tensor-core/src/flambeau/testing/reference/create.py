"""Copying, filling, making and random definitions, with NumPy."""
from __future__ import annotations

import numpy as np

from flambeau.core import _core
from flambeau.testing import arrays
from flambeau.testing.reference.kernels import kernel, raw_kernel


@kernel("clone")
def clone(x, memory_format):
    return x


@kernel("contiguous_copy")
def contiguous_copy(x):
    return x


@kernel("cast")
def cast(x, dtype):
    return x


@raw_kernel("copy")
def copy(args, outs):
    arrays.store(outs[0], arrays.load(args[1]).copy())


@kernel("fill")
def fill(x, value):
    return np.broadcast_to(value, x.shape)


@raw_kernel("empty", "empty_strided")
def empty(args, outs):
    """The core has allocated the memory; there is nothing to compute."""


@kernel("full_of")
def full_of(size, value, dtype, device):
    return np.full(size, value)


@kernel("filled_like")
def filled_like(x, value, dtype):
    return np.full(x.shape, 0 if value is None else value)


@raw_kernel("arange_of")
def arange_of(args, outs):
    start, _, step = args[:3]
    whole = all(isinstance(v, int) for v in (start, step))
    count = np.arange(outs[0].numel(), dtype=np.int64 if whole else np.float64)
    if not outs[0].dtype.is_floating_point:
        start, step = int(start), int(step)
    arrays.store(outs[0], start + count * step)


@raw_kernel("linspace")
def linspace(args, outs):
    start, end, steps = args[:3]
    if not (outs[0].dtype.is_floating_point or outs[0].dtype.is_complex):
        start, end = int(start), int(end)
    back = np.arange(steps)[::-1]
    step = (end - start) / (steps - 1) if steps > 1 else 0
    first = (np.arange(steps) < steps // 2) | (steps == 1)
    arrays.store(outs[0], np.where(first, start + step * np.arange(steps), end - step * back))


@kernel("eye_of")
def eye_of(n, m, dtype, device):
    return np.eye(n, m)


def random_on_cpu(key: str):
    """A random definition by the CPU's kernel: the stream is the same on every device."""
    def run(args, outs):
        twin = _core.call("empty", (tuple(outs[0].shape), outs[0].dtype))
        drawn = _core.call(key, [twin if _core.is_tensor(a) else a for a in args])
        arrays.memory_of(outs[0])[...] = arrays.host_memory(drawn)

    return run


for _key in ("random_uniform", "random_normal", "random_integers", "random_bernoulli",
             "random_permutation", "random_distribution"):
    raw_kernel(_key)(random_on_cpu(_key))
