"""Every operator on tiny inputs in seven situations, against `add` in the plainest one.

No fast path should be for show: what `x + y` costs, any operator should cost in any situation,
within a small factor. Prints the median and the 90th percentile of that factor per situation,
and the slowest operators; where PyTorch is installed, also in how many of them it is slower.
`python situations.py [--limit 3]` fails when the 90th percentile of all is above the limit;
`--above 3` lists the operators above a factor, `--json FILE` keeps all factors.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from situation_calls import CALLS, ONE_BY_ONE

import flambeau
from flambeau import nn
from flambeau.core.opdefs import OPDEFS, OpDef
from flambeau.testing.convert import to_values
from flambeau.testing.samples import samples

try:
    import torch as peer
except ImportError:
    peer = None

assert nn  # flambeau.nn.functional is one of the namespaces where functions are

SMALL = 64  # elements at most: what is timed is the call
REPEATS, SLICES = 25, 60  # the best of many short slices: what else runs falls outside of some
MAX_NANOSECONDS = 10e6  # nanoseconds after which a slow call is measured well enough
REFUSALS = (RuntimeError, TypeError, ValueError, IndexError, AttributeError)

Times = dict[str, dict[str, float]]  # situation -> operator -> multiple of what `add` takes


@dataclass
class Call:
    """One way to call an operator: a function and its arguments."""

    function: Callable[..., Any]
    args: list[Any]
    kwargs: dict[str, Any] = field(default_factory=dict)

    def nanoseconds(self) -> float | None:
        """Return the least time of one call; None where the function does not take it."""
        function, args, kwargs = self.function, self.args, self.kwargs
        slices: list[int] = []
        try:
            while len(slices) < 5 or (len(slices) < SLICES and sum(slices) < MAX_NANOSECONDS):
                start = time.perf_counter_ns()
                for _ in range(REPEATS):
                    function(*args, **kwargs)
                slices.append(time.perf_counter_ns() - start)
        except REFUSALS:
            return None
        return min(slices) / REPEATS


def function_in(library: Any, opdef: OpDef) -> Callable[..., Any] | None:
    """Return the function or method that users of a library call an operator by."""
    if opdef.overload:
        return None
    prefixes = {"function": "", "method": "Tensor.", "nn": "nn.functional."}
    paths = [prefixes[form] + opdef.name for form in opdef.forms if form in prefixes]
    for path in paths + [alias for alias in opdef.aliases if "." in alias]:
        found = library
        for name in path.split("."):
            found = getattr(found, name, None)
        if found is not None:
            return found
    return None


def small_arguments(opdef: OpDef) -> tuple[str, list[Any]] | None:
    """Return a dtype and small contiguous arguments: floats where the operator takes them."""
    if opdef.name in CALLS:
        return "float32", list(CALLS[opdef.name])
    for dtype in ("float32", "int64", "complex64"):
        for args, _ in samples(opdef, dtype):
            arrays = [arg for arg in args if isinstance(arg, np.ndarray)]
            if arrays and all(
                a.flags.c_contiguous and 0 < a.size <= SMALL and a.ndim for a in arrays
            ):
                return dtype, args
    return None


def value_in(library: Any, arg: Any, dtype: str) -> Any:
    """Return an argument as a library takes it."""
    if library is flambeau:
        return to_values(arg, "cpu", dtype)
    if isinstance(arg, np.ndarray):
        return library.from_numpy(arg.copy())
    if isinstance(arg, tuple):
        return tuple(value_in(library, a, dtype) for a in arg)
    if isinstance(arg, str) and arg.startswith("dtype:"):
        return getattr(library, arg.removeprefix("dtype:"))
    return arg


def plain_call(library: Any, opdef: OpDef) -> Call | None:
    """Return a call of an operator on small contiguous inputs."""
    function = function_in(library, opdef)
    found = small_arguments(opdef)
    if function is None or found is None or any(param.writes for param in opdef.params):
        return None
    values = [value_in(library, arg, found[0]) for arg in found[1]]
    if opdef.name in ONE_BY_ONE:
        return Call(function, values)
    split = [param.keyword for param in opdef.params].count(False)
    names = [param.name for param in opdef.params]
    keywords = dict(zip(names[split:], values[split:], strict=False))
    return Call(function, values[:split], keywords)


def situations(library: Any, opdef: OpDef, call: Call) -> Iterator[tuple[str, Call]]:
    """Yield the call in each situation that the operator allows."""
    yield "contiguous", call
    first, *others = call.args
    if not isinstance(first, library.Tensor) or opdef.name in ONE_BY_ONE:
        return

    def with_(*args: Any) -> Call:
        return Call(call.function, [*args], call.kwargs)

    yield "broadcast", with_(first[:1].expand(first.shape), *others)
    yield "strided", with_(library.stack([first, first], -1)[..., 0], *others)
    if others and opdef.params[1].role == "Operand" and isinstance(others[0], library.Tensor):
        yield "mixed dtype", with_(first, others[0].double(), *others[1:])
        yield "number", with_(first, 2, *others[1:])
    if opdef.differentiable and first.dtype.is_floating_point:
        yield "leaf with grad", with_(first.clone().requires_grad_(True), *others)
    if others:
        named = {opdef.params[len(call.args) - 1].name: others[-1]}
        yield "keyword", Call(call.function, call.args[:-1], {**call.kwargs, **named})


def times_of(library: Any, opdef: OpDef) -> dict[str, float]:
    """Return the nanoseconds of an operator per situation."""
    call = plain_call(library, opdef)
    found = {}
    for title, variant in situations(library, opdef, call) if call else ():
        took = variant.nanoseconds()
        if took is not None:
            found[title] = took
    return found


def measure() -> tuple[float, Times, Times]:
    """Return what `add` takes, every operator per situation, and the peer's times of the same.

    All are in the units of the moment, the time of `add` beside them, since a machine's speed
    changes with what else it does.
    """
    x = flambeau.ones(8)
    unit = Call(flambeau.add, [x, x])
    ours: Times = {}
    theirs: Times = {}
    units = []
    for opdef in OPDEFS:
        for library, table in ((flambeau, ours), (peer, theirs)):
            before = unit.nanoseconds() or 0.0
            times = times_of(library, opdef) if library else {}
            units.append(min(before, unit.nanoseconds() or 0.0))
            for title, took in times.items():
                table.setdefault(title, {})[opdef.name] = took / units[-1]
    return min(units), ours, theirs


def percentile(factors: dict[str, float]) -> float:
    """Return the 90th percentile."""
    return statistics.quantiles(factors.values(), n=10)[-1]


def beside_peer(ours: dict[str, float], theirs: dict[str, float]) -> str:
    """Return how often and how far the peer is slower in the same calls."""
    ratios = [theirs[name] / took for name, took in ours.items() if name in theirs]
    if not ratios:
        return ""
    faster = sum(ratio > 1 for ratio in ratios) / len(ratios)
    typical = statistics.median(ratios)
    return f"  faster than PyTorch in {faster:4.0%} of {len(ratios)}, {typical:.1f} x"


def flat(times: Times) -> dict[str, float]:
    """Return all situations of all operators as one dictionary."""

    return {
        f"{title} {name}": took for title, named in times.items() for name, took in named.items()
    }


def report(ours: Times, theirs: Times) -> None:
    """Print a line per situation."""
    for title, factors in [*ours.items(), ("all", flat(ours))]:
        slowest = sorted(factors, key=factors.__getitem__)[-4:]
        names = ", ".join(f"{name} {factors[name]:.1f}" for name in reversed(slowest))
        peers = flat(theirs) if title == "all" else theirs.get(title, {})
        print(
            f"{title:15} {len(factors):4} operators  "
            f"median {statistics.median(factors.values()):4.1f}"
            f"  p90 {percentile(factors):4.1f}{beside_peer(factors, peers)}  ({names})"
        )


def report_above(ours: Times, limit: float) -> None:
    """Print the operators above a factor, with their factor in every situation."""
    slow = {name for opdefs in ours.values() for name, factor in opdefs.items() if factor > limit}
    for name in sorted(slow, key=lambda name: -ours["contiguous"].get(name, 0.0)):
        factors = [f"{t} {ours[t][name]:.1f}" for t in ours if name in ours[t]]
        print(f"{name:32} {', '.join(factors)}")


def main() -> int:
    """Measure and print; return 1 when the 90th percentile of all is above a limit asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=math.inf)
    parser.add_argument("--above", type=float)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # deprecated names are measured too
    unit, ours, theirs = measure()
    print(f"add: {unit:.0f} ns")
    report(ours, theirs)
    if options.above is not None:
        report_above(ours, options.above)
    if options.json is not None:
        options.json.write_text(json.dumps({"unit": unit, "ours": ours, "theirs": theirs}))
    return 1 if percentile(flat(ours)) > options.limit else 0


if __name__ == "__main__":
    sys.exit(main())
