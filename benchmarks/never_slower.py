"""Compiled calls beside uncompiled ones, operator by operator: prints what is slower.

    python never_slower.py [--family losses] [--size 4M] [--dtype float32] [--below 0.95]

In one process the two alternate, and the best time of each is kept; a ratio is the uncompiled time
over the compiled one: below 1 compiling costs time. Small inputs are passed to the function
sixteen times in one compiled call, whose own cost is measured apart. What is below the bound is
timed again with more rounds at the end, and what is below it both times is printed.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from never_slower_calls import DTYPES, SIZES, Call, Inputs, families, make_inputs

import flambeau as fl

#: Compiled calls before any is timed: loops are tried, and habits form.
WARM_CALLS = 44
#: Seconds of warming up that are enough, once a call was made this often.
WARM_SECONDS, FEWEST_WARM = 0.25, 12
REPEATS_IF_SMALL, SMALL = 16, 1000
#: What takes no longer computes nothing: `x.t().contiguous()` of a transposed tensor.
LEAST_SECONDS = 1e-6


@dataclass(frozen=True)
class Case:
    """One call over one kind of inputs."""

    family: str
    call: str
    size: str
    dtype: str
    is_strided: bool

    @property
    def title(self) -> str:
        """For people."""
        layout = "strided" if self.is_strided else "contiguous"
        return f"{self.family}: {self.call}, {self.size} {self.dtype} {layout}"

    def functions(self) -> tuple[Callable[[], object], Callable[[], object]]:
        """What is timed, uncompiled and compiled."""
        call = families(self.dtype)[self.family][self.call]
        inputs = make_inputs(self.size, self.dtype, self.is_strided)
        plain = _repeated(call, inputs)
        return plain, fl.compile(plain)


def _repeated(call: Call, inputs: Inputs) -> Callable[[], object]:
    if inputs.a.numel() > SMALL:
        return lambda: call(inputs)

    def run() -> None:
        for _ in range(REPEATS_IF_SMALL):
            call(inputs)
    return run


def seconds(run: Callable[[], object], count: int) -> float:
    """The time of one call of several."""
    begin = time.perf_counter()
    for _ in range(count):
        run()
    return (time.perf_counter() - begin) / count


def warm(plain: Callable[[], object], compiled: Callable[[], object]) -> None:
    """Have plans made, tried and chosen."""
    begin = time.perf_counter()
    for done in range(WARM_CALLS):
        plain()
        compiled()
        if done >= FEWEST_WARM and time.perf_counter() - begin > WARM_SECONDS:
            break


def ratio(plain: Callable[[], object], compiled: Callable[[], object], rounds: int) -> float:
    """The best uncompiled time over the best compiled one."""
    count = max(1, int(2e-4 / max(seconds(plain, 1), 1e-7)))
    best = [math.inf, math.inf]
    for _ in range(rounds):
        for k, run in enumerate((plain, compiled)):
            best[k] = min(best[k], seconds(run, count))
    return best[0] / best[1]


def entry_nanoseconds() -> float:
    """What a compiled call costs by itself."""
    def nothing() -> None:
        pass
    compiled = fl.compile(nothing)
    times = [min(seconds(run, 20000) for _ in range(5)) for run in (nothing, compiled)]
    return (times[1] - times[0]) * 1e9


def cases(options: argparse.Namespace) -> Iterator[Case]:
    """All that was asked for."""
    for dtype in DTYPES:
        for family, calls in families(dtype).items():
            for size in SIZES:
                asked = ((options.dtype, dtype), (options.family, family), (options.size, size))
                if any(wanted and wanted != is_ for wanted, is_ in asked):
                    continue
                for call in calls:
                    for is_strided in (False, True):
                        if not options.call or options.call == call:
                            yield Case(family, call, size, dtype, is_strided)


def measure(case: Case, rounds: int) -> float | None:
    """The ratio of a case; none where it computes nothing, or the operator refuses the inputs."""
    try:
        plain, compiled = case.functions()
        plain()
    except (RuntimeError, TypeError, ValueError) as error:
        print(f"left out, {case.title}: {str(error).splitlines()[0]}")
        return None
    if min(seconds(plain, 1) for _ in range(5)) < LEAST_SECONDS:
        return None
    warm(plain, compiled)
    return ratio(plain, compiled, rounds)


def mean(values: list[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def main() -> None:
    """Measure, and print the means and what is slower."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("family", "size", "dtype", "call"):
        parser.add_argument(f"--{name}", default="", help="only this one")
    parser.add_argument("--below", type=float, default=0.95, help="the ratio that is too low")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--all", action="store_true", help="print every ratio")
    options = parser.parse_args()
    found: dict[Case, float] = {}
    for case in cases(options):
        value = measure(case, options.rounds)
        if value is not None:
            found[case] = value
            if options.all:
                print(f"{value:5.2f}  {case.title}", flush=True)
    low = {case: value for case, value in found.items() if value < options.below}
    again = {case: measure(case, 3 * options.rounds) or 0.0 for case in low}
    for case, value in again.items():
        found[case] = max(value, low[case])
    by_family = defaultdict(list)
    for case, value in found.items():
        by_family[case.family].append(value)
    for family, values in by_family.items():
        print(f"{family:12} {len(values):5} cases, mean {mean(values):5.2f}, "
              f"worst {min(values):5.2f}")
    print(f"all          {len(found):5} cases, mean {mean(list(found.values())):5.2f}; "
          f"a compiled call costs {entry_nanoseconds():.0f} ns")
    for case in sorted(again, key=lambda each: found[each]):
        if found[case] < options.below:
            print(f"{low[case]:5.2f} {again[case]:5.2f}  {case.title}")


if __name__ == "__main__":
    main()
