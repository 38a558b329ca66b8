"""Tensors in host memory as NumPy arrays: what a backend that computes with NumPy needs."""
from __future__ import annotations

import ctypes

import numpy as np

from flambeau.core import _core
from flambeau.core.promotion import dtype_name

#: How NumPy stores each dtype. bfloat16, which it does not have, is read as 16-bit integers.
STORED = {
    "bool": "bool", "uint8": "uint8", "int8": "int8", "int16": "int16", "int32": "int32",
    "int64": "int64", "uint16": "uint16", "uint32": "uint32", "uint64": "uint64",
    "float16": "float16", "bfloat16": "uint16", "float32": "float32", "float64": "float64",
    "complex64": "complex64", "complex128": "complex128",
}


def memory_of(t) -> np.ndarray:
    """A tensor's elements where they lie, in the form they are stored in.

    It holds as long as the tensor does.
    """
    stored = np.dtype(STORED[dtype_name(t.dtype)])
    strides = [step * stored.itemsize for step in t.stride()]
    if not t.numel():
        return np.empty(tuple(t.shape), stored)
    last = sum((n - 1) * step for n, step in zip(t.shape, strides, strict=True))
    memory = (ctypes.c_char * (last + stored.itemsize)).from_address(_core.address_of(t))
    return np.ndarray(tuple(t.shape), stored, memory, 0, strides)


def load(t) -> np.ndarray:
    """A tensor's values; bfloat16 and float16 as float32.

    A 0-d CPU tensor may stand among tensors of the device, as a number would.
    """
    on_host = t.device.type == "cpu"
    memory, name = host_memory(t) if on_host else memory_of(t), dtype_name(t.dtype)
    if name == "bfloat16":
        return from_bfloat16(memory)
    return memory.astype(np.float32) if name == "float16" else memory


def store(t, values) -> None:
    """Write values into a tensor, cast to its dtype."""
    memory, name = memory_of(t), dtype_name(t.dtype)
    with np.errstate(all="ignore"):
        memory[...] = to_bfloat16(values) if name == "bfloat16" else cast(values, memory.dtype)


def cast(values, dtype) -> np.ndarray:
    """Convert as the core does: complex to real drops the imaginary part, bool is ``!= 0``."""
    values, dtype = np.asarray(values), np.dtype(dtype)
    if dtype == np.bool_:
        return values != 0
    if values.dtype.kind == "c" and dtype.kind != "c":
        values = values.real
    if values.dtype.kind == "f" and dtype.kind in "iu":
        values = values.astype(np.int64)
    return values.astype(dtype, copy=False)


def from_bfloat16(bits: np.ndarray) -> np.ndarray:
    """The upper half of a float32's bits as that float32."""
    wide = bits.astype(np.uint32) << np.uint32(16)
    return wide.view(np.float32).reshape(bits.shape)


def to_bfloat16(values) -> np.ndarray:
    """The nearest bfloat16, ties to even, as its bits."""
    values = np.asarray(cast(values, np.float32))
    bits = np.ascontiguousarray(values).view(np.uint32).reshape(values.shape)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(values), np.uint32(0x7FC0), rounded).astype(np.uint16)


def host_memory(t) -> np.ndarray:
    """A CPU tensor's elements, in the form they are stored in."""
    stored = np.dtype(STORED[dtype_name(t.dtype)])
    return np.frombuffer(_core.raw_bytes(t.detach().contiguous()), stored).reshape(tuple(t.shape))
