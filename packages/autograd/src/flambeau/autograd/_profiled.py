"""What a profile recorded, summed up and as a table."""
from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EventList", "FunctionEvent", "KernelSum"]


@dataclass(frozen=True, slots=True)
class FunctionEvent:
    """One run of an operator, or of a block that ``record_function`` names."""

    name: str
    start: int              # nanoseconds since the block began
    duration: int           # nanoseconds
    bytes: int              # of the tensors it made
    scope: str              # module path, or names given by record_function
    node: str | None        # in a backward pass: the node whose rule ran it
    input_shapes: str | None
    named: bool = False     # a block; the operators inside have events of their own
    count: int = 1          # of runs, as in the sums

    @property
    def key(self) -> str:
        """The name."""
        return self.name

    @property
    def cpu_time_total(self) -> float:
        """Microseconds, with those of the operators inside."""
        return self.duration / 1000

    cpu_time = cpu_time_total


@dataclass(slots=True)
class KernelSum:
    """Runs of the same kind, added up."""

    key: str
    count: int = 0
    cpu_time_total: float = 0.0  # microseconds
    bytes: int = 0
    inside: float = 0.0          # microseconds of it that operators in a named block took
    named: bool = False

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds without those of the operators inside."""
        return self.cpu_time_total - self.inside

    @property
    def cpu_time(self) -> float:
        """Microseconds of one run, on average."""
        return self.cpu_time_total / self.count if self.count else 0.0


_SORTS = {"cpu_time_total": "cpu_time_total", "self_cpu_time_total": "self_cpu_time_total",
          "time": "cpu_time_total", "cpu_time": "cpu_time", "count": "count", "bytes": "bytes",
          "cpu_memory_usage": "bytes", "self_cpu_memory_usage": "bytes"}


class EventList(list[KernelSum]):
    """Sums, one for each operator, scope or node."""

    def table(self, sort_by: str | None = "cpu_time_total", row_limit: int = 100,
              max_src_column_width: int = 75, max_name_column_width: int | None = None,
              max_shapes_column_width: int = 80, header: str | None = None,
              top_level_events_only: bool = False) -> str:
        """The sums as a table.

        Args:
            sort_by: ``cpu_time_total``, ``cpu_time``, ``count`` or ``bytes``; None for none.
            row_limit: how many lines at most; -1 for all.
            max_src_column_width: accepted as in PyTorch; there is no such column.
            max_name_column_width: letters of a name at most.
            max_shapes_column_width: accepted as in PyTorch; shapes are a part of the name.
            header: a line above the table.
            top_level_events_only: accepted as in PyTorch; operators have no others inside.

        Returns:
            The text.

        Raises:
            ValueError: there is no such column.
        """
        if sort_by is not None and sort_by not in _SORTS:
            raise ValueError(f"table(): sort_by must be one of {', '.join(_SORTS)}, "
                             f"not {sort_by!r}")
        rows = sorted(self, key=lambda r: getattr(r, _SORTS[sort_by]), reverse=True) \
            if sort_by else list(self)
        rows = rows if row_limit < 0 else rows[:row_limit]
        spent = sum(r.cpu_time_total for r in self if not r.named)
        total = spent or 1.0
        names = [r.key[:max_name_column_width] for r in rows]
        width = max([4, *(len(name) for name in names)])
        lines = [f"{'Name':{width}}  {'CPU total':>11}  {'CPU %':>6}  {'CPU avg':>11}  "
                 f"{'Calls':>7}  {'Made':>10}"]
        lines.append("-" * len(lines[0]))
        for name, r in zip(names, rows, strict=True):
            share = 100 * r.cpu_time_total / total
            lines.append(f"{name:{width}}  {_time(r.cpu_time_total):>11}  {share:5.1f}%  "
                         f"{_time(r.cpu_time):>11}  {r.count:>7}  {_size(r.bytes):>10}")
        lines.append(f"Operators' time in total: {_time(spent)}")
        return "\n".join(lines if header is None else [header, *lines])

    __str__ = table

    def total_average(self) -> KernelSum:
        """All sums added up; blocks do not count, for their operators do."""
        total = KernelSum("Total")
        for row in self:
            if not row.named:
                total.count += row.count
                total.cpu_time_total += row.cpu_time_total
                total.bytes += row.bytes
        return total


def _time(microseconds: float) -> str:
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3f}{unit}"
    return f"{microseconds:.3f}us"


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"
