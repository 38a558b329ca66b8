"""Every operator on tiny inputs in seven situations, against `add` in the plainest one.

No fast path should be for show: what `x + y` costs, any operator should cost in any situation,
within a small factor. Prints the median and the 90th percentile of that factor per situation,
and the slowest operators. `python situations.py [--limit 3]` fails when the 90th
percentile of all is above the limit.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import flambeau
from flambeau import nn
from flambeau.core.table import ROWS, Row
from flambeau.testing.convert import to_values
from flambeau.testing.samples import samples

SMALL = 64  # elements at most: what is timed is the call
CALLS, ROUNDS = 200, 5


@dataclass
class Call:
    """One way to call a row: a function and its arguments."""

    function: Callable[..., Any]
    args: list[Any]
    kwargs: dict[str, Any] = field(default_factory=dict)

    def seconds(self) -> float:
        """Return the least time of one call."""
        function, args, kwargs = self.function, self.args, self.kwargs
        best = float("inf")
        for _ in range(ROUNDS):
            start = time.perf_counter()
            for _ in range(CALLS):
                function(*args, **kwargs)
            best = min(best, (time.perf_counter() - start) / CALLS)
        return best


def public_function(row: Row) -> Callable[..., Any] | None:
    """Return the function or method that users call a row by."""
    places = {"function": flambeau, "method": flambeau.Tensor, "nn": nn.functional}
    for form, place in places.items():
        if form in row.forms and not row.overload:
            return getattr(place, row.name)
    return None


def plain_call(row: Row) -> Call | None:
    """Return a call on small contiguous float inputs (integers where the row takes no floats)."""
    function = public_function(row)
    if function is None or any(param.writes for param in row.params):
        return None
    for dtype in ("float32", "int64"):
        for args, _ in samples(row, dtype):
            arrays = [arg for arg in args if isinstance(arg, np.ndarray)]
            if not arrays or not all(
                a.flags.c_contiguous and 0 < a.size <= SMALL and a.ndim for a in arrays
            ):
                continue
            values = [to_values(arg, "cpu", dtype) for arg in args]
            split = [param.keyword for param in row.params].count(False)
            names = [param.name for param in row.params]
            keywords = dict(zip(names[split:], values[split:], strict=False))
            return Call(function, values[:split], keywords)
    return None




def situations(row: Row, call: Call) -> Iterator[tuple[str, Call]]:
    """Yield the call in each situation that the row allows."""
    first, *others = call.args
    yield "contiguous", call
    if not isinstance(first, flambeau.Tensor):
        return
    yield "broadcast", Call(call.function, [first[:1].expand(first.shape), *others], call.kwargs)
    padded = flambeau.stack([first, first], -1)[..., 0]
    yield "strided", Call(call.function, [padded, *others], call.kwargs)
    if others and row.params[1].role == "Operand" and isinstance(others[0], flambeau.Tensor):
        wider = others[0].double()
        yield "mixed dtype", Call(call.function, [first, wider, *others[1:]], call.kwargs)
        yield "number", Call(call.function, [first, 2, *others[1:]], call.kwargs)
    if row.differentiable and first.dtype.is_floating_point:
        leaf = first.clone().requires_grad_(True)
        yield "leaf with grad", Call(call.function, [leaf, *others], call.kwargs)
    if others:
        named = {row.params[len(call.args) - 1].name: others[-1]}
        yield "keyword", Call(call.function, call.args[:-1], {**call.kwargs, **named})


def measure() -> dict[str, dict[str, float]]:
    """Return, for each situation, the factor of every operator."""
    x = flambeau.ones(8)
    unit = Call(flambeau.add, [x, x]).seconds()
    print(f"add: {unit * 1e9:.0f} ns")
    found: dict[str, dict[str, float]] = {}
    for row in ROWS:
        call = plain_call(row)
        if call is None:
            continue
        for title, variant in situations(row, call):
            try:
                variant.function(*variant.args, **variant.kwargs)
            except (RuntimeError, TypeError, ValueError):
                continue  # the row does not take this situation
            found.setdefault(title, {})[row.name] = variant.seconds() / unit
    return found


def percentile(factors: dict[str, float]) -> float:
    """Return the 90th percentile."""
    return statistics.quantiles(factors.values(), n=10)[-1]


def main() -> int:
    """Measure and print; return 1 when the 90th percentile of all is above the limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=3.0)
    limit = parser.parse_args().limit
    found = measure()
    found["all"] = {f"{title} {n}": f for title, fs in found.items() for n, f in fs.items()}
    for title, factors in found.items():
        p90 = percentile(factors)
        slowest = sorted(factors, key=factors.__getitem__)[-5:]
        names = ", ".join(f"{name} {factors[name]:.1f}" for name in reversed(slowest))
        median = statistics.median(factors.values())
        print(f"{title:15} {len(factors):4} rows  median {median:4.1f}  p90 {p90:4.1f}  ({names})")
    return 1 if percentile(found["all"]) > limit else 0


if __name__ == "__main__":
    sys.exit(main())
