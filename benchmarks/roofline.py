"""Where each group of operators stands against the machine: bytes and flops over measured ceilings.

The ceilings are measured first: multiply-adds in registers (`ceilings.c`, built with the C compiler
on the path), and a copy between arrays of the table's size. An operator's least possible
time is the larger of its bytes over the one and its flops over the other; the last column is that
time over the measured one. `python roofline.py` prints a Markdown table; with `--busy` it uses
one thread and processor time, for a machine that others use too.
"""

from __future__ import annotations

import argparse
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
clock = time.perf_counter


def best(run: Callable[[], object], seconds: float = SECONDS) -> float:
    """Return the least time of one run."""
    run()
    found, end = float("inf"), clock() + seconds
    while clock() < end:
        start = clock()
        run()
        found = min(found, clock() - start)
    return found


def together(run: Callable[[], object], threads: int) -> float:
    """Return the least time in which all threads have done one run each."""

    if threads == 1:
        return best(run, 3 * SECONDS)

    def once() -> None:
        workers = [threading.Thread(target=run) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    return best(once, 3 * SECONDS)


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
        rounds = 200_000  # about a millisecond: shorter than a slice of a busy machine

        def run() -> int:
            return multiply_adds(ctypes.c_int64(rounds), ctypes.byref(sink))

        return run() * threads / together(run, threads)


def bytes_ceiling(threads: int) -> float:
    """Return bytes per second, read and written, of a copy that the threads share.

    The arrays are those of the table, so that caches help here as much as there.
    """
    source, target = np.ones((threads, N // threads), np.float32), np.ones(N, np.float32)
    parts = iter(range(1 << 40))
    into = target[: source.size].reshape(source.shape)

    def run() -> None:
        i = next(parts) % threads
        np.copyto(into[i], source[i])

    return 2 * source.nbytes / together(run, threads)


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
    global clock
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--busy", action="store_true")
    if parser.parse_args().busy:
        fl.set_num_threads(1)
        clock = time.thread_time
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
