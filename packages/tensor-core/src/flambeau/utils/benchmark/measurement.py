"""The result of timing a statement."""
from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Iterable
from typing import Any, TypeVar

T = TypeVar("T")

_FEW = 3                    # runs, of which nothing can be said about spread
_WIDE = 0.1                 # of the median between the quartiles: said in the text
_VERY_WIDE = 0.25
_UNITS = ((1e-9, "ns", "nanosecond"), (1e-6, "us", "microsecond"), (1e-3, "ms", "millisecond"),
          (1.0, "s", "second"))


def ordered_unique(elements: Iterable[T]) -> list[T]:
    """The different elements, in the order of their first appearance."""
    return list(dict.fromkeys(elements))


def select_unit(t: float) -> tuple[str, float]:
    """Unit in which a time of ``t`` seconds is written, and its size in seconds.

    Example:
        >>> from flambeau.utils.benchmark import select_unit
        >>> select_unit(2e-5)
        ('us', 1e-06)
    """
    size, unit, _ = next((row for row in reversed(_UNITS) if t >= row[0]), _UNITS[0])
    return unit, size


def unit_to_english(u: str) -> str:
    """The word for a unit."""
    return next(word for _, unit, word in _UNITS if unit == u)


def trim_sigfig(x: float, n: int) -> float:
    """``x`` with ``n`` significant digits.

    Example:
        >>> from flambeau.utils.benchmark import trim_sigfig
        >>> trim_sigfig(1234.5, 2)
        1200.0
    """
    if x == 0 or not math.isfinite(x):
        return float(x)
    scale = 10.0 ** (math.floor(math.log10(abs(x))) + 1 - n)
    return float(round(x / scale) * scale)


@dataclasses.dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """What was timed, and the words by which tables sort it."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        return self.stmt if "\n" not in self.stmt else "stmt:\n" + _indented(self.stmt)

    def setup_str(self) -> str:
        """The setup as a text for people."""
        if not self.setup or self.setup == "pass":
            return ""
        return f"setup: {self.setup}" if "\n" not in self.setup else \
            "setup:\n" + _indented(self.setup)

    def summarize(self) -> str:
        """All of it as a text for people."""
        lines = [self.title, self.description or "", self.setup_str()]
        return "\n".join(line for line in lines if line)


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.strip().splitlines())


@dataclasses.dataclass(init=True, repr=False)
class Measurement:
    """Times of a statement.

    Args:
        number_per_run: How often it ran in each of the times.
        raw_times: Seconds.
        task_spec: What was timed.
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name == "task_spec":     # copying asks before there is one
            raise AttributeError(name)
        return getattr(self.task_spec, name)

    @property
    def times(self) -> list[float]:
        """Seconds for one execution, for each of the runs."""
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def median(self) -> float:
        """The median of ``times``."""
        return float(statistics.median(self._checked()))

    @property
    def mean(self) -> float:
        """The mean of ``times``."""
        return float(statistics.fmean(self._checked()))

    @property
    def iqr(self) -> float:
        """The distance of the quartiles of ``times``: 0 for a single run."""
        times = sorted(self._checked())
        return _quantile(times, 0.75) - _quantile(times, 0.25)

    @property
    def significant_figures(self) -> int:
        """How many digits of the median the spread leaves meaningful (one to five)."""
        if len(self.raw_times) < 2 or not self.median:
            return 2
        width = max(self.iqr / math.sqrt(len(self.raw_times)) * 1.645 / 1.349, 1e-5 * self.median)
        return max(1, min(5, int(math.ceil(math.log10(self.median / width)))))

    @property
    def has_warnings(self) -> bool:
        """Whether the text says that the times vary."""
        return bool(self._warnings())

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        """Whether the quartiles are less than this share of the median apart."""
        return len(self.raw_times) >= _FEW and self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        """What was timed."""
        return self.task_spec.title

    @property
    def env(self) -> str:
        """The name that tells this run from those elsewhere."""
        return self.task_spec.env or "Unspecified env"

    @property
    def as_row_name(self) -> str:
        """The name of its row in a table."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Join the times of what was timed in the same way several times."""
        groups: dict[TaskSpec, list[Measurement]] = {}
        for measurement in measurements:
            groups.setdefault(measurement.task_spec, []).append(measurement)
        return [_joined(spec, group) for spec, group in groups.items()]

    def _checked(self) -> list[float]:
        if not self.raw_times:
            raise ValueError("Measurement: there are no times; run Timer.timeit() first")
        return self.times

    def _warnings(self) -> list[str]:
        if len(self.raw_times) < _FEW or not self.median:
            return []
        spread = self.iqr / self.median
        if spread < _WIDE:
            return []
        often = "could indicate system fluctuation" if spread < _VERY_WIDE else \
            "suggests significant environmental influence"
        return [f"WARNING: Interquartile range is {spread * 100:.1f}% of the median "
                f"measurement. This {often}."]

    def __repr__(self) -> str:
        unit, size = select_unit(self.median)
        runs = len(self.raw_times)
        values = [f"{'Median' if runs > 1 else ''}: {self.median / size:.2f} {unit}".lstrip(": ")]
        if runs >= _FEW:
            low, high = (_quantile(sorted(self.times), q) / size for q in (0.25, 0.75))
            values.append(f"IQR:    {self.iqr / size:.2f} {unit} ({low:.2f} to {high:.2f})")
        plural = "s" if runs != 1 else ""
        each = " per measurement" if runs > 1 else ""
        threads = self.task_spec.num_threads
        values.append(f"{runs} measurement{plural}, {self.number_per_run} runs{each}, {threads} "
                      f"thread{'s' if threads > 1 else ''}")
        body = "\n".join("  " + line for line in values)
        lines = [f"<{type(self).__module__}.{type(self).__name__} object at {hex(id(self))}>",
                 self.task_spec.summarize(), body, *self._warnings()]
        return "\n".join(lines)


def _quantile(ordered: list[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _joined(spec: TaskSpec, group: list[Measurement]) -> Measurement:
    most = max(measurement.number_per_run for measurement in group)
    times = [time * most for measurement in group for time in measurement.times]
    return Measurement(most, times, spec, None)
