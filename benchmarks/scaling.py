"""Cost against size, 1 to 2**26 elements, and against threads: a pointwise operator, a sum, a sort.

`python scaling.py [--largest 26]` prints two Markdown tables, in nanoseconds per call and per
element. With `--busy` it prints the first alone, of one thread and in processor time, for a
machine that others use too.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import flambeau as fl

clock = time.perf_counter
WORK: dict[str, Callable[[fl.Tensor], object]] = {
    "exp": lambda x: x.exp(),
    "sum": lambda x: x.sum(),
    "sort": lambda x: x.sort(),
}


def seconds(function: Callable[[fl.Tensor], object], x: fl.Tensor) -> float:
    """Return the least time of one call, of at least three."""
    function(x)
    calls = max(1, 20_000 // max(x.numel(), 20))
    found, end, turn = float("inf"), clock() + 0.1, 0
    while turn < 3 or clock() < end:
        start = clock()
        for _ in range(calls):
            function(x)
        found, turn = min(found, (clock() - start) / calls), turn + 1
    return found


def by_size(largest: int) -> None:
    """Print the time of a call for every fourth power of two."""
    print("| elements | " + " | ".join(f"{name} ns | per element" for name in WORK) + " |")
    print("|---" * (1 + 2 * len(WORK)) + "|")
    for power in range(0, largest + 1, 2):
        x = fl.randn(1 << power)
        taken = [seconds(function, x) * 1e9 for function in WORK.values()]
        cells = [f"{t:,.0f} | {t / (1 << power):.3g}" for t in taken]
        print(f"| 2^{power} | " + " | ".join(cells) + " |")


def by_threads(power: int) -> None:
    """Print milliseconds and speedup for each number of threads."""
    most, x = fl.get_num_threads(), fl.randn(1 << power)
    print(f"\n| threads, 2^{power} elements | " + " | ".join(f"{n} ms | gain" for n in WORK) + " |")
    print("|---" * (1 + 2 * len(WORK)) + "|")
    alone: list[float] = []
    for threads in range(1, most + 1):
        fl.set_num_threads(threads)
        taken = [seconds(function, x) * 1e3 for function in WORK.values()]
        alone = alone or taken
        cells = [f"{t:.3g} | {one / t:.2f}" for t, one in zip(taken, alone, strict=True)]
        print(f"| {threads} | " + " | ".join(cells) + " |")


def main() -> None:
    """Measure and print."""
    global clock
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=26)
    parser.add_argument("--busy", action="store_true")
    options = parser.parse_args()
    if options.busy:
        fl.set_num_threads(1)
        clock = time.thread_time
    by_size(options.largest)
    if not options.busy:
        by_threads(min(24, options.largest))


if __name__ == "__main__":
    main()
