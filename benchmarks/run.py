"""Time the workloads in one framework: `python run.py MODULE [FILTER]` prints JSON.

A figure is the least time of several runs, the one that was disturbed least; a workload that
fails gives its error instead. `pair.py` alternates two frameworks with this.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from workloads import workloads


def best_seconds(run: Callable[[], Any], budget: float) -> float:
    """Return the least time of one run, repeating for about `budget` seconds."""
    run()
    times = []
    while sum(times) < budget or len(times) < 3:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> int:
    """Time what the filter names."""
    name, *words = sys.argv[1:]
    prefix = words[0] if words else ""
    framework = importlib.import_module(name)
    for room in ("nn", "optim", "nn.functional"):
        importlib.import_module(f"{name}.{room}")
    budget = float(os.environ.get("BENCH_SECONDS", "0.3"))
    figures: dict[str, float | str] = {}
    for title, make in workloads(framework).items():
        if not title.startswith(prefix):
            continue
        framework.manual_seed(0)
        try:
            figures[title] = best_seconds(make(), budget)
        except Exception as error:  # what is missing is a figure too
            figures[title] = f"{type(error).__name__}: {error}"
    json.dump(figures, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
