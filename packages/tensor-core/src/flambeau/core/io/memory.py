"""Tensors over bytes that a file gave: alignment, byte order."""
from __future__ import annotations

import sys

from flambeau.core import _core


def over_bytes(view: memoryview, dtype, big_endian: bool = False):
    """A flat tensor over ``view``; over a copy where the memory cannot be used as it lies."""
    if not len(view):
        return _core.operators()["empty"]((0,), dtype=dtype)
    swapped = dtype.itemsize > 1 and big_endian != (sys.byteorder == "big")
    bytes_ = _core.over_buffer(view, _core._dtype_named("uint8"))
    if swapped:
        view = _like(view, _core.raw_bytes(_swap(bytes_, dtype)))
    elif bytes_.data_ptr() % min(dtype.itemsize, 8):
        view = _like(view, bytes(view))
    return _core.over_buffer(view, dtype)


def _like(view: memoryview, copy: bytes) -> memoryview:
    """A copy that may be written to where the original may."""
    return memoryview(copy if view.readonly else bytearray(copy))


def _swap(bytes_, dtype):
    number = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    turned = _core.operators()["flip"](bytes_.view(-1, number), (1,))
    return turned.contiguous()
