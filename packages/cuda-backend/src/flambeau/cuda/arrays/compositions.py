"""Definitions composed of array calls, for CuPy on a GPU and NumPy in the tests.

Each function takes the array module first, then the definition's arguments with tensors as arrays,
and returns the output or a tuple of them. What is not here answers NotImplemented.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.core import _core

Array = Any
KERNELS: dict[str, Callable] = {}


def is_composition(op) -> bool:
    """Whether a definition is computed by array calls."""
    add_kernels()
    return op.key in KERNELS


def run_composition(xp, load, store, op, args, outs):
    """Compute a definition.

    Args:
        xp: ``cupy``, or ``numpy``.
        load: Gives the values of a tensor as an array.
        store: Writes an array into a tensor.
        op: The definition.
        args: Its arguments.
        outs: Its outputs.
    """
    if not is_composition(op):
        return NotImplemented
    if op.key == "matmul":
        from flambeau.cuda.arrays.products import multiply

        if multiply(xp, args[0], args[1], outs[0]):
            return None

    def convert(value):
        if isinstance(value, (list, tuple)):
            return tuple(map(convert, value))
        return load(value) if _core.is_tensor(value) else value

    results = KERNELS[op.key](xp, *map(convert, args))
    for out, result in zip(outs, results if isinstance(results, tuple) else (results,),
                           strict=True):
        store(out, result)
    return None


def add_kernels() -> None:
    """Import the modules whose kernels are not here."""
    from flambeau.cuda.arrays import (  # noqa: F401
        compositions_by_index,
        decompositions,
        fourier,
        linear_algebra,
    )


def kernel_of(*keys: str) -> Callable[[Callable], Callable]:
    """Make a function the kernel of definitions."""
    def add(function: Callable) -> Callable:
        for key in keys:
            KERNELS[key] = function
        return function

    return add


# ---- products --------------------------------------------------------------------------------


@kernel_of("matmul")
def matmul(xp, a, b):
    return xp.matmul(a, b)


@kernel_of("amp_unscale")
def amp_unscale(xp, x, factor):
    return x * factor, ~xp.isfinite(x).all()


# ---- scans -----------------------------------------------------------------------------------


@kernel_of("cumsum")
def cumsum(xp, x, dim, dtype):
    whole = x.dtype.kind in "bui" and dtype is None
    return xp.cumsum(x.astype("int64") if whole else x, dim)


# ---- making ----------------------------------------------------------------------------------


@kernel_of("eye_of")
def eye_of(xp, n, m, dtype, device):
    return xp.eye(n, m)


@kernel_of("arange_of")
def arange_of(xp, start, end, step, dtype, device):
    if dtype is not None and not dtype.is_floating_point:
        start, end, step = int(start), int(end), int(step)
    whole = all(isinstance(v, int) for v in (start, step))
    length = max(0, -((start - end) // step) if whole else _ceil((end - start) / step))
    return start + xp.arange(length, dtype="int64" if whole else "float64") * step


def _ceil(x: float) -> int:
    return -int(-x // 1)


@kernel_of("linspace")
def linspace(xp, start, end, steps, dtype, device):
    return xp.linspace(start, end, steps)
