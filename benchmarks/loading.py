"""Batches per second of ``DataLoader`` over data in memory, beside PyTorch's.

Run by hand: ``python benchmarks/loading.py``. Every line is one setting; figures are the best of
several epochs, in batches per second, and how many times PyTorch's.
"""

from __future__ import annotations

import argparse
import importlib
import time
from typing import Any

ROWS, WIDTH = 51_200, 64
SECONDS = 0.4


def batches_per_second(name: str, batch: int, shuffle: bool, workers: int, kind: str) -> float:
    """The best of several epochs, or of as many batches of one as fit the time."""
    lib = importlib.import_module(name)
    data = importlib.import_module(f"{name}.utils.data")
    dataset = data.TensorDataset(lib.zeros(ROWS, WIDTH), lib.arange(ROWS))
    if kind == "samples":
        dataset = _Samples(dataset.tensors)
    options: dict[str, Any] = {"batch_size": batch, "shuffle": shuffle, "num_workers": workers}
    if workers:
        options["persistent_workers"] = True
    if kind in ("thread", "process") and name == "flambeau":
        options["workers"] = kind
    loader = data.DataLoader(dataset, **options)
    best = 0.0
    for _ in range(3):
        best = max(best, _time_epoch(loader))
    return best


class _Samples:
    """A dataset in Python, read a sample at a time."""

    def __init__(self, tensors: Any) -> None:
        self.tensors = tensors

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: int) -> Any:
        x, y = self.tensors
        return x[index], y[index]


def _time_epoch(loader: Any) -> float:
    batches = iter(loader)
    next(batches)
    count = 0
    start = time.perf_counter()
    for _ in batches:
        count += 1
        if time.perf_counter() - start > SECONDS:
            break
    return count / (time.perf_counter() - start)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="*", default=["rows", "thread", "process", "samples"])
    kinds = parser.parse_args().kinds
    print("data     workers batch shuffle   flambeau      torch ratio")
    for kind in kinds:
        for workers in (0, 2) if kind in ("rows", "samples") else (2,):
            for batch in (1, 32, 256):
                for shuffle in (False, True):
                    setting = batch, shuffle, workers, kind
                    ours = batches_per_second("flambeau", *setting)
                    theirs = batches_per_second("torch", *setting)
                    numbers = f"{ours:10.0f} {theirs:10.0f} {ours / theirs:5.1f}"
                    print(f"{kind:8} {workers:7} {batch:5} {shuffle!s:>7} {numbers}", flush=True)


if __name__ == "__main__":
    main()
