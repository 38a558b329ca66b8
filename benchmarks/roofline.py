"""Where each group of operators stands against the machine: bytes and flops over measured ceilings.

The ceilings are measured first: multiply-adds in registers (`ceilings.c`, built with the C compiler
on the path), and a copy between arrays that do not fit the caches. An operator's least possible
time is the larger of its bytes over the one and its flops over the other; the last column is that
time over the measured one. `python roofline.py` prints a Markdown table.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import flambeau as fl
from flambeau.nn import functional as F

SECONDS = 0.3
N = 1 << 22


def best(run: Callable[[], object], seconds: float = SECONDS) -> float:
    """Return the least time of one run."""
    run()
    found, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        found = min(found, time.perf_counter() - start)
    return found


def together(run: Callable[[], object], threads: int) -> float:
    """Return the least time in which all threads have done one run each."""

    def once() -> None:
        workers = [threading.Thread(target=run) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    return best(once)


def flops_ceiling(threads: int) -> float:
    """Return single-precision operations per second of all threads."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "ceilings.so"
        source = Path(__file__).with_name("ceilings.c")
        flags = ["-O2", "-march=native", "-mprefer-vector-width=512", "-shared", "-fPIC"]
        subprocess.run(["cc", *flags, str(source), "-o", str(library)], check=True)
        multiply_adds = ctypes.CDLL(str(library)).multiply_adds
        multiply_adds.restype = ctypes.c_int64
        sink = ctypes.c_float()
        rounds = 4_000_000

        def run() -> int:
            return multiply_adds(ctypes.c_int64(rounds), ctypes.byref(sink))

        return run() * threads / together(run, threads)


def bytes_ceiling(threads: int) -> float:
    """Return bytes per second, read and written, of copies by all threads at once."""
    count = 1 << 24
    source = np.ones((threads, count), np.float32)
    target = np.ones((threads, count), np.float32)
    turn = iter(range(1 << 30))

    def run() -> None:
        i = next(turn) % threads
        np.copyto(target[i], source[i])

    return 2 * threads * count * 4 / together(run, threads)


Row = tuple[str, str, float, float, Callable[[], object]]


def rows() -> list[Row]:
    """Return (group, work, bytes, flops, run). Exponentials and the like are not counted."""
    a, b = fl.randn(N), fl.randn(N)
    square, other = a.view(2048, 2048), b.view(2048, 2048)
    lines = a.view(4096, 1024)
    table, picks = fl.randn(30000, 128), fl.randint(0, 30000, (8192,))
    big, q = fl.randn(2048, 2048), fl.randn(4, 8, 512, 64)
    image, weight = fl.randn(8, 64, 56, 56), fl.randn(64, 64, 3, 3)
    whole = 4.0 * N
    return [
        ("pointwise", "a + b", 3 * whole, N, lambda: a + b),
        ("pointwise", "b.add_(a)", 3 * whole, N, lambda: b.add_(a)),
        ("pointwise", "exp", 2 * whole, N, lambda: a.exp()),
        ("pointwise", "gelu", 2 * whole, N, lambda: F.gelu(a)),
        ("pointwise", "a + b.t()", 3 * whole, N, lambda: square + other.t()),
        ("reduction", "sum", whole, N, lambda: a.sum()),
        ("reduction", "sum over rows", whole, N, lambda: square.sum(0)),
        ("reduction", "var", whole, 3 * N, lambda: square.var(-1)),
        ("reduction", "softmax", 2 * whole, 4 * N, lambda: lines.softmax(-1)),
        ("reduction", "layer norm", 2 * whole, 6 * N, lambda: F.layer_norm(lines, (1024,))),
        ("scan", "cumsum", 2 * whole, N, lambda: square.cumsum(-1)),
        ("movement", "transposed copy", 2 * whole, 0, lambda: square.t().contiguous()),
        ("movement", "cat", 2 * whole, 0, lambda: fl.cat([square, other], 1)),
        ("movement", "rows by index", 2 * 4.0 * 8192 * 128, 0, lambda: table[picks]),
        ("product", "2048 x 2048", 3 * whole, 2.0 * 2048**3, lambda: big @ big),
        ("convolution", "3 x 3, 64 channels", 2 * 4.0 * image.numel(),
         2.0 * image.numel() * 64 * 9, lambda: F.conv2d(image, weight, padding=1)),
        ("attention", "causal, 512 x 64", 4 * 4.0 * q.numel(), 2.0 * q.numel() * 512,
         lambda: F.scaled_dot_product_attention(q, q, q, is_causal=True)),
    ]


def main() -> None:
    """Measure and print."""
    threads = fl.get_num_threads()
    flops, memory = flops_ceiling(threads), bytes_ceiling(threads)
    print(f"{threads} threads: {flops / 1e9:.0f} Gflop/s, {memory / 1e9:.1f} GB/s\n")
    print("| group | work | ms | GB/s | Gflop/s | least ms | of the ceiling |")
    print("|---|---|---|---|---|---|---|")
    for group, work, moved, done, run in rows():
        taken, least = best(run), max(moved / memory, done / flops)
        print(f"| {group} | {work} | {taken * 1e3:.3f} | {moved / taken / 1e9:.1f} "
              f"| {done / taken / 1e9:.1f} | {least * 1e3:.3f} | {least / taken:.0%} |")


if __name__ == "__main__":
    main()
