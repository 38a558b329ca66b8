"""Strips of a few pixels: what memory held before is not multiplied in the lanes that are left."""

from __future__ import annotations

import ctypes
import sys

import pytest

import flambeau as fl
from flambeau.core import ops

UNDERFLOW = 0x10


@pytest.mark.skipif(sys.platform != "linux", reason="flags are read as on Linux for x86")
@pytest.mark.parametrize(("channels", "outputs", "size", "window"), [
    (50, 200, (1, 1), 1), (88, 100, (1, 17), 1), (40, 60, (3, 7), 3)])
def test_denormal_numbers_in_scratch_memory_are_not_multiplied(
        channels: int, outputs: int, size: tuple[int, int], window: int) -> None:
    """Products of denormal numbers take microcode, and say that they underflow."""
    flags = ctypes.CDLL("libm.so.6")
    x, w = fl.randn(1, channels, *size), fl.randn(outputs, channels, window, window)
    threads = fl.get_num_threads()
    fl.set_num_threads(1)
    try:
        for _ in range(20):
            memory = [fl.full((size,), 1e-40) for size in range(1024, 100_000, 1800)]
            del memory
            flags.feclearexcept(UNDERFLOW)
            ops.conv2d(x, w, None, 1, window // 2)
            assert not flags.fetestexcept(UNDERFLOW)
    finally:
        fl.set_num_threads(threads)
