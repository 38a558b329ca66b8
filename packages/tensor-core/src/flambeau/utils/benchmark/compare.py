"""Tables of measurements: a row per sub-label, a column per description."""
from __future__ import annotations

from flambeau.utils.benchmark.measurement import (
    Measurement,
    ordered_unique,
    select_unit,
    trim_sigfig,
    unit_to_english,
)

_BEST, _GOOD, _BAD, _WORST, _END = (f"\033[{code}m" for code in ("92;1", "34;1", "2;33", "31;1", 0))
#: Threads, environment and name of a row, and the column.
Key = tuple[tuple[int, str | None, str], str | None]
_NEAR = 1.1                 # times the best: green as well


class Compare:
    """A table of measurements for each label, with rows by sub-label and threads.

    Args:
        results: Measurements.

    Example:
        >>> from flambeau.utils.benchmark import Compare, Measurement, TaskSpec
        >>> specs = [TaskSpec("f()", "", label="f", sub_label=size, description=name)
        ...          for size in ("1", "64") for name in ("before", "after")]
        >>> print(Compare([Measurement(1, [t], s) for t, s in zip((4, 2, 8, 3), specs)]))
        [----------- f ------------]
                  |  before  |  after
        1 threads: -----------------
              1   |   4.0    |   2.0
              64  |   8.0    |   3.0
        <BLANKLINE>
        Times are in seconds (s).
        <BLANKLINE>
    """

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim = self._colorize = self._rowwise = self._warn = False

    def extend_results(self, results: list[Measurement]) -> None:
        """Add measurements."""
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(f"Compare: takes measurements, as Timer.timeit() gives them, got "
                                 f"{type(result).__name__}")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Show only digits that the spread leaves meaningful."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Mark good and bad times in color, of each column or of each row."""
        self._colorize, self._rowwise = True, rowwise

    def highlight_warnings(self) -> None:
        """Mark times that vary much."""
        self._warn = True

    def print(self) -> None:
        """Write the tables."""
        print(self)

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        labels = ordered_unique(result.task_spec.label for result in merged)
        tables = [self._table([r for r in merged if r.task_spec.label == label])
                  for label in labels]
        return "\n".join(tables)

    def _table(self, results: list[Measurement]) -> str:
        columns = ordered_unique(r.task_spec.description for r in results)
        unit, size = select_unit(min(r.median for r in results))
        rows = ordered_unique((r.task_spec.num_threads, r.task_spec.env, r.as_row_name)
                              for r in results)
        found = {((r.task_spec.num_threads, r.task_spec.env, r.as_row_name),
                  r.task_spec.description): r for r in results}
        names = max(len(row[2]) for row in rows) + 6
        shown = {key: self._shown(r, size) for key, r in found.items()}
        widths = [max([len(column or "")] + [len(shown.get((row, column), "")) for row in rows])
                  for column in columns]
        head = " " * names + "".join(
            f"  |  {column or '':^{width}}" for column, width in zip(columns, widths, strict=True))
        lines = [_title(results[0].task_spec.label or results[0].task_spec.stmt, len(head) - 1),
                 head.rstrip()]
        for group in ordered_unique(row[:2] for row in rows):
            env = f" ({group[1]})" if group[1] else ""
            lines.append(f"{group[0]} threads{env}: ".ljust(len(head) - 1, "-"))
            lines += [self._row(row, columns, widths, found, shown, names)
                      for row in rows if row[:2] == group]
        also = "\n(! XX%) Measurement has high variance, where XX is the IQR / median * 100." \
            if self._warn and any(r.has_warnings for r in results) else ""
        return "\n".join(lines) + f"\n\nTimes are in {unit_to_english(unit)}s ({unit}).{also}\n"

    def _shown(self, result: Measurement, size: float) -> str:
        value = result.median / size
        text = f"{trim_sigfig(value, result.significant_figures) if self._trim else value:.1f}"
        if self._warn and result.has_warnings:
            text = f"(! {result.iqr / result.median * 100:.0f}%)  {text}"
        return text

    def _row(self, row: tuple[int, str | None, str], columns: list[str | None],
             widths: list[int], found: dict[Key, Measurement], shown: dict[Key, str],
             names: int) -> str:
        cells = []
        for column, width in zip(columns, widths, strict=True):
            cell = f"{shown.get((row, column), ''):^{width}}"
            if self._colorize and (row, column) in found:
                cell = self._colored(cell, row, column, found)
            cells.append("  |  " + cell)
        return (" " * 6 + row[2]).ljust(names) + "".join(cells).rstrip()

    def _colored(self, cell: str, row: tuple[int, str | None, str], column: str | None,
                 found: dict[Key, Measurement]) -> str:
        """The cell in the color of its time among those it is compared with."""
        time = found[row, column].median
        others = [r.median for key, r in found.items()
                  if (key[0] == row if self._rowwise else key[1] == column)]
        best, worst = min(others), max(others)
        middle = (best * worst) ** 0.5
        color = _BEST if time <= best * _NEAR else _GOOD if time <= middle else \
            _WORST if time >= worst / _NEAR else _BAD
        return f"{color}{cell}{_END}"


def _title(label: str, width: int) -> str:
    return f"[{' ' + label + ' ':-^{max(width - 2, len(label) + 4)}}]"
