"""Strips of a few pixels: what memory held before is not multiplied in the lanes that are left."""

from __future__ import annotations

import time

import pytest

import flambeau as fl
from flambeau.core import ops

#: Products of denormal numbers take microcode: about a hundred times as long, where they are done.
MOST = 6


def least_time(held: float, x: fl.Tensor, w: fl.Tensor, padding: int) -> float:
    """The least time of a convolution whose scratch memory held one number everywhere."""
    least = 1.0
    for _ in range(20):
        memory = [fl.full((size,), held) for size in range(1024, 100_000, 1800)]
        del memory
        start = time.process_time()
        ops.conv2d(x, w, None, 1, padding)
        least = min(least, time.process_time() - start)
    return least


@pytest.mark.parametrize(("channels", "outputs", "size", "window"), [
    (50, 200, (1, 1), 1), (88, 100, (1, 17), 1), (40, 60, (3, 7), 3)])
def test_denormal_numbers_in_scratch_memory_cost_nothing(
        channels: int, outputs: int, size: tuple[int, int], window: int) -> None:
    x, w = fl.randn(1, channels, *size), fl.randn(outputs, channels, window, window)
    threads = fl.get_num_threads()
    fl.set_num_threads(1)
    try:
        usual = least_time(1.0, x, w, window // 2)
        assert least_time(1e-40, x, w, window // 2) < MOST * usual
    finally:
        fl.set_num_threads(threads)
