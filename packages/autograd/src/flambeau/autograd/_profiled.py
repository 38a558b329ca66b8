"""What a profile recorded, summed up and as a table."""
from __future__ import annotations

import gzip
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["EventList", "FunctionEvent", "Interval", "KernelSum"]


class Interval(NamedTuple):
    """From when to when, in microseconds."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        """How long."""
        return self.end - self.start


class FunctionEvent:
    """One run of an operator, or of a block that ``record_function`` names.

    Args:
        id: its number.
        name: the operator, as ``aten::add``, or the block's name.
        thread: the thread it ran in.
        start_us: microseconds since recording began.
        end_us: the same of its end.
        input_shapes: shapes of the tensors it was given.
        sequence_nr: accepted as in PyTorch, as are further facts.
        scope: module path, or names given by ``record_function``.
        node: in a backward pass, the node whose rule ran it.
        bytes: of the tensors it made.
        named: whether it is a block; the operators inside have events of their own.
        facts: further facts of PyTorch's events, kept as attributes.
    """

    def __init__(self, id: int, name: str, thread: int, start_us: float, end_us: float, *,
                 input_shapes: list | None = None, sequence_nr: int = -1, scope: Any = "",
                 node: str | None = None, bytes: int = 0, named: bool = False,
                 **facts: Any) -> None:
        self.id = id
        self.name = self.key = name
        self.thread = thread
        self.time_range = Interval(start_us, end_us)
        self.input_shapes = input_shapes
        self.sequence_nr = sequence_nr
        self.scope = scope
        self.node = node
        self.bytes = self.cpu_memory_usage = bytes
        self.named = self.is_user_annotation = named
        self.count = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.is_async = False
        self.__dict__.update(facts)

    @property
    def start(self) -> int:
        """Nanoseconds since recording began."""
        return round(self.time_range.start * 1000)

    @property
    def duration(self) -> int:
        """Nanoseconds."""
        return round(self.time_range.end * 1000) - self.start

    @property
    def cpu_time_total(self) -> float:
        """Microseconds, with those of the events inside."""
        return self.time_range.elapsed_us()

    cpu_time = cpu_time_total

    @property
    def self_cpu_memory_usage(self) -> int:
        """Bytes of the tensors it made, without those of the events inside."""
        return self.bytes

    @property
    def cpu_time_total_str(self) -> str:
        """``cpu_time_total`` with its unit."""
        return _time(self.cpu_time_total)

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds without those of the events inside."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Note an event that ran inside.

        Args:
            child: the event.
        """
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Note the event inside which this one ran.

        Args:
            parent: the event.
        """
        self.cpu_parent = parent

    def __repr__(self) -> str:
        return (f"<FunctionEvent id={self.id} name={self.name} thread={self.thread} "
                f"cpu_time={_time(self.cpu_time)} start_us={self.time_range.start:.3f} "
                f"end_us={self.time_range.end:.3f} input_shapes={self.input_shapes} "
                f"cpu_children={[child.id for child in self.cpu_children]} scope={self.scope!r} "
                f"node={self.node} bytes={self.bytes}>")


@dataclass(slots=True)
class KernelSum:
    """Runs of the same kind, added up."""

    key: str | None = None
    count: int = 0
    cpu_time_total: float = 0.0  # microseconds
    bytes: int = 0
    inside: float = 0.0          # microseconds of it that the events inside took
    named: bool = False
    input_shapes: str = ""       # where sums are by shapes

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds without those of the operators inside."""
        return self.cpu_time_total - self.inside

    @property
    def cpu_time(self) -> float:
        """Microseconds of one run, on average."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cuda_time_total(self) -> float:
        """0: what runs on a CPU is recorded."""
        return 0.0

    device_time_total = self_device_time_total = self_cuda_time_total = cuda_time_total
    device_time = cuda_time = cuda_time_total

    @property
    def cpu_memory_usage(self) -> int:
        """Bytes of the tensors that were made."""
        return self.bytes

    self_cpu_memory_usage = cpu_memory_usage

    @property
    def cpu_time_total_str(self) -> str:
        """``cpu_time_total`` with its unit."""
        return _time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        """``self_cpu_time_total`` with its unit."""
        return _time(self.self_cpu_time_total)

    @property
    def cpu_time_str(self) -> str:
        """``cpu_time`` with its unit."""
        return _time(self.cpu_time)

    def add(self, other: FunctionEvent | KernelSum) -> KernelSum:
        """Count an event, or other sums, in.

        Args:
            other: what is added.

        Returns:
            The sums.
        """
        if self.key is None:
            self.key, self.named = other.key, other.named
        self.count += other.count
        self.bytes += other.bytes
        self.inside += other.cpu_time_total - other.self_cpu_time_total
        self.cpu_time_total += other.cpu_time_total
        return self


_SORTS = {"cpu_time_total": "cpu_time_total", "self_cpu_time_total": "self_cpu_time_total",
          "time": "cpu_time_total", "cpu_time": "cpu_time", "count": "count", "bytes": "bytes",
          "cpu_memory_usage": "bytes", "self_cpu_memory_usage": "bytes"}


class EventList(list[Any]):
    """Events in the order they began, or sums: one for each operator, scope or node."""

    def __init__(self, *args: Any, **facts: Any) -> None:
        super().__init__(*args)

    def _populate_cpu_children(self) -> None:
        """Find out which event ran inside which: one that ends later is not inside."""
        for event in self:
            event.cpu_children, event.cpu_parent = [], None
        within: list[FunctionEvent] = []
        for event in sorted(self, key=_began):
            while within and not _is_inside(event, within[-1]):
                within.pop()
            if within:
                within[-1].append_cpu_child(event)
                event.set_cpu_parent(within[-1])
            within.append(event)

    def key_averages(self, group_by_input_shape: bool = False, **facts: Any) -> EventList:
        """Sums of the events by name.

        Args:
            group_by_input_shape: by name and shapes of inputs.
            facts: accepted as in PyTorch.

        Returns:
            The sums.
        """
        sums: dict[tuple, KernelSum] = {}
        for event in self:
            shapes = str(event.input_shapes or "") if group_by_input_shape else ""
            key = (event.key, event.named, shapes)
            sums.setdefault(key, KernelSum(input_shapes=shapes)).add(event)
        return EventList(sums.values())

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events, each counted once."""
        return sum(row.self_cpu_time_total for row in self)

    def export_chrome_trace(self, path: str | Path,
                            metadata: dict[str, Any] | None = None) -> None:
        """Write the events for chrome://tracing or Perfetto.

        Args:
            path: the file, JSON; compressed where it ends in ``.gz``.
            metadata: what is written beside the events.
        """
        events = [{"name": e.name, "ph": "X", "ts": e.time_range.start, "dur": e.cpu_time_total,
                   "pid": os.getpid(), "tid": e.thread, "cat": _category(e),
                   "args": {"scope": e.scope, "bytes": e.bytes,
                            **({"node": e.node} if e.node else {}),
                            **({"shapes": str(e.input_shapes)} if e.input_shapes else {})}}
                  for e in self]
        text = json.dumps({**(metadata or {}), "traceEvents": events, "displayTimeUnit": "ms"})
        content = text.encode()
        Path(path).write_bytes(
            gzip.compress(content) if str(path).endswith(".gz") else content)

    def export_stacks(self, path: str | Path) -> None:
        """Write the time of each operator below the scopes it ran in, for flame graphs.

        Args:
            path: the file.
        """
        spent: dict[str, float] = {}
        for event in self:
            if not event.named:
                stack = ";".join([*filter(None, str(event.scope or "").split(".")), event.name])
                spent[stack] = spent.get(stack, 0.0) + event.self_cpu_time_total
        Path(path).write_text("".join(f"{stack} {round(time)}\n" for stack, time in spent.items()))

    def table(self, sort_by: str | None = "cpu_time_total", row_limit: int = 100,
              max_src_column_width: int = 75, max_name_column_width: int | None = None,
              max_shapes_column_width: int = 80, header: str | None = None,
              top_level_events_only: bool = False, **columns: Any) -> str:
        """The sums as a table.

        Args:
            sort_by: ``cpu_time_total``, ``self_cpu_time_total``, ``cpu_time``, ``count`` or
                ``bytes``; None for none.
            row_limit: how many lines at most; -1 for all.
            max_src_column_width: accepted as in PyTorch; there is no such column.
            max_name_column_width: letters of a name at most.
            max_shapes_column_width: letters of shapes at most.
            header: a line above the table.
            top_level_events_only: accepted as in PyTorch; operators have no others inside.
            columns: further settings of PyTorch's table, accepted.

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
        names = [_title(r, max_name_column_width, max_shapes_column_width) for r in rows]
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
                total.add(row)
        return total


def _began(event: FunctionEvent) -> tuple:
    """The order in a thread: a block stands before what runs inside it."""
    return event.thread, event.time_range.start, -event.time_range.end


def _is_inside(event: FunctionEvent, other: FunctionEvent) -> bool:
    return (event.thread == other.thread and event.time_range.start < other.time_range.end
            and event.time_range.end <= other.time_range.end)


def _category(event: FunctionEvent) -> str:
    if event.named:
        return "user_annotation"
    return "backward" if event.node else "forward"


def _title(row: Any, name_width: int | None, shapes_width: int) -> str:
    """A line's name, with the shapes where sums are by them."""
    name = row.key[:name_width]
    return f"{name} {str(row.input_shapes)[:shapes_width]}" if row.input_shapes else name


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
