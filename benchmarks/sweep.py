"""Operators of all families and dtypes over mid-sized inputs, beside PyTorch, on one thread.

Each call of `sweep_calls.py` alternates between the two and is timed by the processor time of the
thread, so that a busy machine says little wrong. Prints what is below a ratio (PyTorch's time over
ours), and the geometric mean for each dtype. `python sweep.py [PATTERN]` takes the calls whose
text and dtype match, `--gradients` adds a backward pass, `--below 0.8` is the ratio.
"""

from __future__ import annotations

import argparse
import collections
import math
import re
import time
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import torch
from sweep_calls import CALLS, INPUTS

import flambeau
from flambeau import nn

assert nn  # flambeau.nn.functional
LEAST_SECONDS = 0.004  # of a timing
ROUNDS = 5


def drawn(name: str, dtype: str) -> np.ndarray:
    """Return an input in float32, float64 or int64; both frameworks convert it."""
    shape, kind = INPUTS[name]
    rng = np.random.default_rng(len(name))
    if kind == "whole" or not dtype.startswith(("float", "bfloat", "complex")):
        return rng.integers(1, 100, shape)
    values = rng.random(shape) * 0.9 + 0.05 if kind == "unit" else rng.standard_normal(shape)
    return values.astype("float64" if dtype == "float64" else "float32")


def namespace(framework: ModuleType, dtype: str, text: str, grads: bool) -> dict[str, Any]:
    """Return what an expression may name."""
    rng = np.random.default_rng(0)
    names: dict[str, Any] = {"t": framework, "F": framework.nn.functional}
    if "ids" in text:
        names["ids"] = framework.tensor(rng.integers(0, 500, 2000))
    if "places" in text:
        names["places"] = framework.tensor(rng.integers(0, 256, (500, 256)))
    if "eye" in text:
        names["eye"] = framework.eye(100, dtype=getattr(framework, dtype))
    for name in INPUTS:
        if re.search(rf"\b{name}\b", text):
            tensor = framework.from_numpy(drawn(name, dtype)).to(getattr(framework, dtype))
            floating = tensor.is_floating_point() or tensor.is_complex()
            names[name] = tensor.requires_grad_() if grads and floating else tensor
    return names


def timed(call: Callable[[], Any], count: int) -> float:
    """Return the seconds of one of `count` calls."""
    start = time.thread_time()
    for _ in range(count):
        call()
    return (time.thread_time() - start) / count


def called(framework: ModuleType, text: str, dtype: str, grads: bool) -> Callable[[], Any]:
    """Return the call that is timed, which ran twice."""
    names = namespace(framework, dtype, text, grads)
    code = compile(text, text, "eval")

    def forward() -> Any:
        return eval(code, names)

    def backward() -> None:
        result = forward()
        first = result[0] if isinstance(result, tuple) else result
        first = framework.view_as_real(first) if first.is_complex() else first
        first.backward(framework.ones_like(first))

    call = backward if grads else forward
    call()
    call()
    return call


def ratio(text: str, dtype: str, grads: bool) -> tuple[float, float] | None:
    """Return both times, PyTorch's first; None for what PyTorch refuses."""
    try:
        theirs = called(torch, text, dtype, grads)
    except (RuntimeError, TypeError, NotImplementedError, IndexError):
        return None
    ours = called(flambeau, text, dtype, grads)
    calls = [(call, max(1, int(LEAST_SECONDS / max(timed(call, 1), 1e-7))))
             for call in (theirs, ours)]
    rounds = [[timed(call, count) for call, count in calls] for _ in range(ROUNDS)]
    return min(each[0] for each in rounds), min(each[1] for each in rounds)


def main() -> None:
    """Time all that match."""
    parser = argparse.ArgumentParser()
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--gradients", action="store_true")
    parser.add_argument("--below", type=float, default=0.8)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    flambeau.set_num_threads(1)
    found: dict[str, list[float]] = collections.defaultdict(list)
    for text, dtypes in CALLS.items():
        for dtype in dtypes:
            if not re.search(options.pattern, f"{text} {dtype}"):
                continue
            both = ratio(text, dtype, options.gradients)
            if both is None:
                continue
            found[dtype].append(both[0] / both[1])
            if found[dtype][-1] < options.below:
                print(f"{found[dtype][-1]:.2f}  {text}  {dtype}  PyTorch {both[0] * 1e6:.0f} us, "
                      f"Flambeau {both[1] * 1e6:.0f} us", flush=True)
    for dtype, ratios in found.items():
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{dtype}: {len(ratios)} calls, mean {mean:.2f}, "
              f"{sum(each < options.below for each in ratios)} below {options.below}")


if __name__ == "__main__":
    main()
