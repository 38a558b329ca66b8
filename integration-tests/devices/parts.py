"""The parts of a report on a device, each in a process of its own: a fault of a GPU ends one.

    python parts.py NAME DEVICE NUMBER OF

prints what it found as JSON in its last line.
"""
from __future__ import annotations

import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy

import flambeau as fl

#: Calls that are timed: their sizes are for a GPU, those of the simulation a thousandth.
_TIMED: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda lib, x: x + x,
    "exp": lambda lib, x: x.exp(),
    "copy of a transposed matrix": lambda lib, x: x.t().contiguous(),
    "sum of all": lambda lib, x: x.sum(),
    "sum over rows": lambda lib, x: x.sum(0),
    "softmax": lambda lib, x: x.softmax(-1),
    "matrix product": lambda lib, x: x @ x,
    "sort": lambda lib, x: x.sort(-1),
}


def _judged(outcomes: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Counts by operator and case, the wrong ones in words, the missing by name."""
    cases: Counter[str] = Counter()
    states: dict[str, Counter[str]] = {}
    wrong: list[str] = []
    for key, text in outcomes:
        state = text.split(":")[0]
        cases[state] += 1
        states.setdefault(key, Counter())[state] += 1
        wrong += [text[:300]] if state == "wrong" else []
    return {"cases": cases, "wrong": wrong, "operators": Counter(map(_state, states.values())),
            "missing": sorted(k for k, found in states.items() if _state(found) == "missing"),
            "partly": sorted(k for k, found in states.items() if _state(found) == "partly")}


def _state(found: Counter[str]) -> str:
    """An operator's: ``wrong`` in one case or more, right in all, in some (``partly``), in none."""
    if found["wrong"]:
        return "wrong"
    if found["unsupported"]:
        return "partly" if found["right"] else "missing"
    return "right"


def operators(device: str, number: int, of: int) -> dict[str, Any]:
    """The core's operator tests: every ``of``-th key from ``number`` on."""
    from device_calls import all_calls, cases, outcome

    return _judged((key, outcome(case, device)) for key in list(all_calls())[number::of]
                   for case in cases(key) if case.is_chosen())


def gradients(device: str, number: int, of: int) -> dict[str, Any]:
    """Autograd's samples, through second order."""
    from device_gradients import SAMPLES, is_chosen, outcome, sample_results

    makes = [(key, f"{key}-{i}", make) for key in list(SAMPLES)[number::of]
             for i, make in enumerate(SAMPLES[key]) if is_chosen(f"{key}-{i}")]
    return _judged((key, outcome(name, partial(sample_results, make), "float64", device))
                   for key, name, make in makes)


def modules(device: str, number: int, of: int) -> dict[str, Any]:
    """nn's modules, forward and backward."""
    from device_gradients import is_chosen, outcome, row_results, rows

    chosen = [(name, row) for name, row in rows().items() if is_chosen(name)][number::of]
    return _judged((row.name, outcome(name, partial(row_results, row), "float32", device))
                   for name, row in chosen)


def contract(device: str, number: int, of: int) -> dict[str, Any]:
    """The contract of backends (``python -m flambeau.testing.backend``)."""
    from flambeau.testing.contract_checks import checks, run_check
    from flambeau.testing.contract_operators import check_operator, opdefs_to_check

    all_of_it = [*(partial(check_operator, opdef) for opdef in opdefs_to_check()),
                 *(partial(run_check, check) for check in checks())]
    found = [one(device) for one in all_of_it[number::of]]
    return {"states": Counter(o.status for o in found),
            "wrong": [text for o in found for text in o.failures[:2]]}


def trainings(device: str, number: int, of: int) -> dict[str, Any]:
    """Ten families of networks: their last losses, the CPU's, and copies that steps made."""
    from copied import copied
    from trainings import FAMILIES, train

    rows = []
    for name in list(FAMILIES)[number::of]:
        start = time.perf_counter()
        losses, seen = train(name, device, watch=partial(copied, device))
        seconds = time.perf_counter() - start
        expected, _ = train(name, "cpu")
        reads = sum(after["to_host"] - before["to_host"]
                    for before, after in zip(seen[::2], seen[1::2], strict=True))
        apart = float(numpy.max([abs(a - b) / abs(b)       # nan stays, unlike max()'s
                                 for a, b in zip(losses, expected, strict=True)]))
        rows.append([name, losses[-1], expected[-1], apart, reads, seconds])
    return {"rows": rows}


def benchmark(device: str, number: int, of: int) -> dict[str, Any]:
    """Seconds of calls, and of PyTorch's CUDA build where there is one."""
    side = 64 if device == "cudasim" else 8192
    rows = [[name, _seconds(fl, call, device, side)] for name, call in _TIMED.items()]
    try:
        import torch
    except ImportError:
        return {"side": side, "rows": [[*row, None] for row in rows]}
    there = device != "cudasim" and torch.cuda.is_available()
    return {"side": side, "rows": [
        [name, mine, _seconds(torch, _TIMED[name], "cuda", side) if there else None]
        for name, mine in rows]}


def _seconds(lib: Any, call: Callable[[Any, Any], Any], device: str, side: int) -> float:
    """The least of five rounds, each waited for."""
    x = lib.ones(side, side, device=device) / side
    turns, found = (1 if device == "cudasim" else 20), []
    for _ in range(5):
        call(lib, x)
        _wait(lib, x)
        start = time.perf_counter()
        for _ in range(turns):
            result = call(lib, x)
        _wait(lib, x)
        found.append((time.perf_counter() - start) / turns)
        del result
    return min(found)


def _wait(lib: Any, x: Any) -> None:
    x[:1, :1].cpu()


def main(words: list[str]) -> None:
    """Run a part and print what it found."""
    name, device, number, of = words
    warnings.simplefilter("ignore")
    numpy.seterr(all="ignore")
    parts = (operators, gradients, modules, contract, trainings, benchmark)
    part = {each.__name__: each for each in parts}[name]
    print("\n" + json.dumps(part(device, int(number), int(of))))


if __name__ == "__main__":
    main(sys.argv[1:])
