"""Device ``ref``: every operator in the most obvious way, with NumPy.

It shows that devices swap, and is the template for a backend of your own: memory, copies, and
one ``run`` that finds the kernel of a definition. Kernels are functions from arrays to arrays:

- pointwise definitions need no code: their formula is evaluated (``pointwise.py``);
- the others are looked up by key in ``KERNELS``, which the modules beside this one fill.

What is in neither is answered with NotImplemented; the core then says so to the user.
"""
from __future__ import annotations

import ctypes

import numpy as np

from flambeau.core import _core
from flambeau.core.backends import Backend
from flambeau.testing import arrays
from flambeau.testing.reference import (  # they register kernels
    bessel,
    create,
    fourier,
    gammas,
    images,
    indexing,
    linalg,
    matrix,
    movement,
    network,
    numbers,
    pool,
    quantized,
    recurrent,
    reduce,
    statistics,
    windows,
)
from flambeau.testing.reference.kernels import KERNELS, RAW_KERNELS, kernel, raw_kernel
from flambeau.testing.reference.pointwise import run_pointwise


def as_array(value):
    """Tensors, and tensors in lists, as arrays; other arguments as they are."""
    if _core.is_tensor(value):
        return arrays.load(value)
    if isinstance(value, (tuple, list)):
        return tuple(as_array(v) for v in value)
    return value


class ReferenceBackend(Backend):
    """NumPy arrays in host memory."""

    name = "ref"

    def allocate(self, index, nbytes):
        memory = np.empty(max(nbytes, 1), np.uint8)
        return memory.ctypes.data, memory

    def copy(self, index, dst, src, nbytes, kind):
        ctypes.memmove(dst, src, nbytes)

    def run(self, op, args, outs):
        if op.category == "pointwise":
            return run_pointwise(op, args, outs)
        if op.key in RAW_KERNELS:
            return RAW_KERNELS[op.key](args, outs)
        if op.key not in KERNELS:
            return NotImplemented
        with np.errstate(all="ignore"):
            results = KERNELS[op.key](*map(as_array, args))
        results = results if isinstance(results, tuple) else (results,)
        for out, result in zip(outs, results, strict=True):
            arrays.store(out, result)


__all__ = ["KERNELS", "ReferenceBackend", "bessel", "create", "fourier", "gammas", "images",
           "indexing", "kernel", "linalg", "matrix", "movement", "network", "numbers", "pool",
           "quantized", "raw_kernel", "recurrent", "reduce", "statistics", "windows"]
