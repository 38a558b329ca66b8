"""Attention of half types in one kernel, which never stores the matrix of the scores."""
from __future__ import annotations

import struct
from typing import Any

from flambeau.core import _core
from flambeau.core.promotion import dtype_name
from flambeau.cuda.params import DTYPE_CODES

DTYPES = ("float16", "bfloat16")
#: Numbers of a query that kernels are made for, and queries of a block.
SIZES = {32: 64, 64: 64, 128: 64, 256: 32}
_MOST_BLOCKS, _BATCH_DIMS = (1 << 31) - 1, 4


def kernels(size: int, dtype: str) -> dict[str, str]:
    """The kernel for up to ``size`` numbers, and the call that is its body."""
    return {f"attention_{size}_{dtype}":
            f"fl_attend<{DTYPE_CODES[dtype]}, {size}, {SIZES[size]}>(c)"}


def run(backend, args: list, outs: list) -> Any:
    """Compute attention; NotImplemented where the kernels lack a shape or dtype."""
    query, key, value, mask, causal, scale = args
    dtype, device = dtype_name(query.dtype), query.device
    tensors = [t for t in (query, key, value, mask) if t is not None]
    if dtype not in DTYPES or any(t.device != device for t in tensors) or \
            not fits(query, key, value):
        return NotImplemented
    if not query.numel() or not key.numel() or not value.numel():
        return NotImplemented
    size = next(n for n in SIZES if max(query.shape[-1], value.shape[-1]) <= n)
    samples = 1
    for n in query.shape[:-2]:
        samples *= n
    blocks = samples * -(-query.shape[-2] // SIZES[size])
    if blocks > _MOST_BLOCKS:
        return NotImplemented
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    backend.launch_grid(f"tiles_attention{size}", dtype, f"attention_{size}_{dtype}",
                        (blocks, 1, 1), (2 * SIZES[size], 1, 1),
                        packed(query, key, value, mask, causal, factor, *outs), device.index or 0)
    return None


def fits(query, key, value) -> bool:
    """Whether there is a kernel for operands of these shapes."""
    batch = tuple(query.shape[:-2])
    return (query.dtype == key.dtype == value.dtype and len(batch) <= _BATCH_DIMS
            and batch == tuple(key.shape[:-2]) == tuple(value.shape[:-2])
            and query.shape[-1] == key.shape[-1] and key.shape[-2] == value.shape[-2]
            and max(query.shape[-1], value.shape[-1]) <= max(SIZES))


def packed(query, key, value, mask, causal, scale: float, result, total) -> bytes:
    """``fl_attention``."""
    missing = [0] * (_BATCH_DIMS + 2 - query.ndim)
    if mask is not None:
        mask = mask.expand(*query.shape[:-1], key.shape[-2])
    strides: list[int] = []
    for t in (query, key, value, mask, result):
        strides += [0] * 6 if t is None else [*missing, *t.stride()]
    strides += [*missing, *total.stride()]
    addresses = [0 if t is None else _core.address_of(t)
                 for t in (query, key, value, mask, result, total)]
    batch = [*[1] * len(missing), *query.shape[:-2]]
    return struct.pack("<6Q35q11if", *addresses, *strides, *batch, query.shape[-2], key.shape[-2],
                       query.shape[-1], value.shape[-1], causal,
                       -1 if mask is None else DTYPE_CODES[dtype_name(mask.dtype)],
                       DTYPE_CODES[dtype_name(total.dtype)], scale)
