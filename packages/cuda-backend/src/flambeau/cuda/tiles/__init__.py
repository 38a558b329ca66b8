"""Convolutions and attention on tiles in shared memory, half types on tensor cores.

Kernels are launched from Python with a grid of their own: rows, columns and groups of tiles.
"""
from __future__ import annotations

import struct
from functools import cache
from importlib import resources
from typing import Any

from flambeau.core import _core
from flambeau.core.promotion import dtype_name
from flambeau.cuda.params import DTYPE_CODES
from flambeau.cuda.tiles import attention

TILE, THREADS = 64, 128
_HALVES = ("float16", "bfloat16")
_DTYPES = (*_HALVES, "float32", "float64")
#: What an operator computes, as conv.cuh numbers it.
MODES = {f"conv{n}d{kind}": mode for n in (2, 3)
         for kind, mode in (("", 0), ("_input_grad", 1), ("_weight_grad", 2))}
_MOST = (1 << 31) - 1


@cache
def _text(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text()


def module_names() -> list[tuple[str, str]]:
    """All (group, dtype) pairs."""
    return [*((f"tiles_conv{mode}", dtype) for mode in range(3) for dtype in _DTYPES),
            *((f"tiles_attention{size}", dtype) for size in attention.SIZES
              for dtype in attention.DTYPES)]


@cache
def kernels(mode: int, dtype: str) -> dict[str, str]:
    """Names of a mode's kernels for a dtype, and the call that is each one's body."""
    code, ways = DTYPE_CODES[dtype], []
    if dtype != "float64":
        ways.append(("cores", "fl_conv_on_tensor_cores"))
    if dtype not in _HALVES:
        ways.append(("exact", "fl_conv_exactly"))
    return {f"conv_{way}_{mode}_{dtype}": f"{function}<{code}, {mode}>(c)"
            for way, function in ways}


def module(group: str, dtype: str):
    """The module of a group, whose name ends in its mode or size, for a dtype."""
    from flambeau.cuda.source import Module, prelude

    convolves = group.startswith("tiles_conv")
    if convolves:
        kind, threads, named = "fl_conv", THREADS, kernels(int(group[-1]), dtype)
    else:
        size = int(group.removeprefix("tiles_attention"))
        kind, threads = "fl_attention", 2 * attention.SIZES[size]
        named = attention.kernels(size, dtype)
    bodies = [f'extern "C" __global__ void __launch_bounds__({threads}) {name}(const {kind} c) '
              f"{{ {body}; }}" for name, body in named.items()]
    own = _text("conv.cuh" if convolves else "attention.cuh")
    return Module("\n".join([prelude(), _text("mma.cuh"), own, *bodies]),
                  dict.fromkeys(named, kind))


def run(backend, op, args: list, outs: list) -> Any:
    """Compute a convolution, one of its gradients or attention; NotImplemented for others."""
    if op.key == "attention":
        return attention.run(backend, args, outs)
    if op.key not in MODES:
        return NotImplemented
    out, dtype = outs[0], dtype_name(outs[0].dtype)
    if dtype not in _DTYPES or any(dtype_name(t.dtype) != dtype or t.device != out.device
                                   for t in args[:3] if hasattr(t, "dtype")):
        return NotImplemented
    mode, (first, second) = MODES[op.key], args[:2]
    x, w, y = ((first, second, out), (out, second, first), (second, out, first))[mode]
    if not out.numel():
        return None
    call = _Call(x, w, y, args[2] if mode == 0 else None, args[3:])
    if call.largest > _MOST:
        return NotImplemented
    exact = dtype == "float64" or (dtype == "float32" and not _allows_tf32())
    name = f"conv_{'exact' if exact else 'cores'}_{mode}_{dtype}"
    backend.launch_grid(f"tiles_conv{mode}", dtype, name, call.grid(mode), (THREADS, 1, 1),
                        call.packed(), out.device.index or 0)
    return None


def _allows_tf32() -> bool:
    import flambeau

    return flambeau.get_float32_matmul_precision() != "highest"


class _Call:
    """Sizes and strides of a call, over three dimensions of space."""

    def __init__(self, x, w, y, bias, rest) -> None:
        self.bias, self.n = bias, w.ndim - 2
        self.tensors = [self._spread(t, t.ndim == w.ndim) for t in (x, w, y)]
        self.addresses = [_core.address_of(t) if t.numel() else 0 for t in (x, w, y)]
        self.stride, self.padding, self.dilation = (
            self._three(value, fill) for value, fill in zip(rest, (1, 0, 1), strict=False))
        self.groups = rest[3]
        (self.x, _), (self.w, _), (self.y, _) = self.tensors
        self.largest = max(x.numel(), w.numel(), y.numel())

    def _three(self, value, fill: int) -> list[int]:
        values = [value] * self.n if isinstance(value, int) else list(value)
        values = values * self.n if len(values) == 1 else values
        return [fill] * (3 - self.n) + values

    def _spread(self, t, has_batch: bool) -> tuple[list[int], list[int]]:
        """Sizes and strides with one sample and dimensions of one where there are none."""
        shape, strides = list(t.shape), list(t.stride())
        if not has_batch:
            shape, strides = [1, *shape], [0, *strides]
        missing = 3 - self.n
        return ([*shape[:2], *[1] * missing, *shape[2:]],
                [*strides[:2], *[0] * missing, *strides[2:]])

    def grid(self, mode: int) -> tuple[int, int, int]:
        channels, filters = self.w[1], self.w[0] // self.groups
        space = self.y if mode == 0 else self.x
        columns = space[0] * space[2] * space[3] * space[4]
        if mode == 2:
            columns = channels * self.w[2] * self.w[3] * self.w[4]
        rows = channels if mode == 1 else filters
        return -(-columns // TILE), -(-rows // TILE), self.groups

    def packed(self) -> bytes:
        """``fl_conv``."""
        strides = [step for _, steps in self.tensors for step in steps]
        given = self.bias is not None
        return struct.pack(
            "<4Q16q22i", *self.addresses, _core.address_of(self.bias) if given else 0, *strides,
            self.bias.stride(0) if given else 0, self.x[0], self.groups, self.w[1],
            self.w[0] // self.groups, *self.x[2:], *self.y[2:], *self.w[2:], *self.stride,
            *self.padding, *self.dilation)
