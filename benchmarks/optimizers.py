"""One step of every optimizer: over tiny tensors against PyTorch, over large ones against a copy.

    python optimizers.py [--busy] [--rounds 5] [--elements 25000000]

Prints two Markdown tables. In the first, ten tensors of 4 x 4 elements; PyTorch with its default
settings, with `foreach=True` and, where it has it, with `fused=True`. In the second, one
parameter; bytes are those that a step has to read and write, and the last column is their rate over
that of a copy measured in the same rounds. `--busy` times the second table in processor time on one
thread, for a machine that others use too.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

import flambeau
from flambeau import optim

CALLS = 200
TENSORS, SHAPE = 10, (4, 4)
FUSED = ("SGD", "Adam", "AdamW", "Adagrad")
# By kind and options, how many floats of state a step reads and writes per element. The parameter
# is read and written too, the gradient read.
STATE = [
    ("SGD", {}, 0),
    ("SGD", {"momentum": 0.9}, 1),
    ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}, 1),
    ("Adam", {}, 2),
    ("Adam", {"amsgrad": True}, 3),
    ("AdamW", {}, 2),
    ("Adamax", {}, 2),
    ("NAdam", {}, 2),
    ("RAdam", {}, 2),
    ("Adagrad", {}, 1),
    ("Adadelta", {}, 2),
    ("RMSprop", {}, 1),
    ("Rprop", {}, 2),
    ("ASGD", {}, 1),
]
KINDS = [
    *("SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta"),
    *("RMSprop", "Rprop", "ASGD", "Adafactor", "Muon"),
]


def least(
    runs: dict[str, Callable[[], object]],
    rounds: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Return the least seconds of every run; they take turns, so that all meet the same noise."""
    found = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            start = clock()
            run()
            found[name] = min(found[name], clock() - start)
    return found


def tiny_step(framework: ModuleType, kind: str, **options: Any) -> Callable[[], None]:
    """Return many steps over ten tiny tensors."""
    params = [framework.randn(*SHAPE).requires_grad_() for _ in range(TENSORS)]
    for param in params:
        param.grad = framework.randn(*SHAPE)
    # So small a rate that thousands of steps leave the parameters finite.
    step = getattr(framework.optim, kind)(params, lr=1e-6, **options).step
    step()

    def run() -> None:
        for _ in range(CALLS):
            step()

    return run


def tiny(rounds: int) -> None:
    """Print the table of tiny tensors."""
    print("| optimizer | ours µs | PyTorch µs | foreach µs | fused µs | ratio | foreach ratio |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for kind in KINDS:
        runs = {"ours": tiny_step(flambeau, kind), "default": tiny_step(torch, kind)}
        if kind != "Muon":
            runs["foreach"] = tiny_step(torch, kind, foreach=True)
        if kind in FUSED:
            runs["fused"] = tiny_step(torch, kind, fused=True)
        found = {name: 1e6 * s / CALLS for name, s in least(runs, rounds).items()}
        cells = [f"{found[name]:.1f}" if name in found else "" for name in
                 ("ours", "default", "foreach", "fused")]
        ratios = [f"{found[name] / found['ours']:.1f}" if name in found else "" for name in
                  ("default", "foreach")]
        print(f"| {' | '.join([kind, *cells, *ratios])} |", flush=True)


def large(rounds: int, elements: int, clock: Callable[[], float]) -> None:
    """Print the table of one large parameter."""
    source, target = flambeau.randn(elements), flambeau.randn(elements)
    param, grad = flambeau.randn(elements).requires_grad_(), flambeau.randn(elements)
    param.grad = grad
    print("| optimizer | ms | bytes per element | GB/s | copy GB/s | of a copy | new memory |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for kind, options, state in STATE:
        step = getattr(optim, kind)([param], **options).step
        for _ in range(6 if kind == "RAdam" else 1):  # RAdam's first steps only average
            step()
        before = flambeau.core.memory_stats()["alloc_count"]
        step()
        made = flambeau.core.memory_stats()["alloc_count"] - before
        found = least({"copy": lambda: target.copy_(source), "step": step}, rounds, clock)
        size = 4 * (3 + 2 * state)
        rate, copy = size * elements / found["step"], 8 * elements / found["copy"]
        title = ", ".join([kind, *(f"{name}={value}" for name, value in options.items())])
        figures = [f"{1e3 * found['step']:.1f}", str(size), f"{rate / 1e9:.1f}",
                   f"{copy / 1e9:.1f}", f"{100 * rate / copy:.0f}%", str(made)]
        print(f"| {' | '.join([title, *figures])} |", flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--elements", type=int, default=25_000_000)
    options = parser.parse_args()
    tiny(options.rounds)
    print()
    if options.busy:
        flambeau.set_num_threads(1)
    clock = time.process_time if options.busy else time.perf_counter
    large(options.rounds, options.elements, clock)


if __name__ == "__main__":
    main()
