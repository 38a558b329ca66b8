"""What ran, how long, and how many bytes it made: ``profile`` and its table."""
from __future__ import annotations

import bisect
import functools
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from flambeau.autograd._engine import Recorder
from flambeau.autograd._profiled import EventList, FunctionEvent, KernelSum
from flambeau.autograd._schedule import ProfilerAction
from flambeau.core import _core, blocks, scope, scope_path

__all__ = ["EventList", "FunctionEvent", "KernelSum", "kineto_available", "profile",
           "record_function"]


_GROUPS: dict[str, Callable[[FunctionEvent], str]] = {
    "operator": lambda e: e.name,
    "scope": lambda e: e.scope or "(no scope)",
    "node": lambda e: e.node or "(forward)",
    "shape": lambda e: e.name,
}

#: Profiles that record now, by thread, and where their named blocks are noted.
_recording: dict[int, list[profile]] = {}
_RECORDED = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class profile:
    """Record the operators that this thread runs in a block.

    Times are those of the kernels and what lies directly around them; what Python does between
    the calls is not in them. Composite operators appear as the operators they are made of.
    Blocks named by ``record_function`` have rows of their own, with all of their time; percentages
    are of the operators' time. So have the loops of compiled calls, which run inside of the
    operator that needed their results.

    Args:
        enabled: False makes a block that records nothing.
        record_shapes: note the shapes of inputs, for ``key_averages(group_by_input_shape=True)``.
        activities: accepted as in ``torch.profiler``; the CPU is what is recorded.
        profile_memory: accepted as in PyTorch; bytes are always recorded.
        with_stack: accepted as in PyTorch; scopes replace stacks.
        use_cuda: accepted as in PyTorch's older profiler, as are the others of its arguments.
        use_device: see there.
        with_flops: see there.
        with_modules: see there.
        use_kineto: see there.
        use_cpu: see there.
        on_trace_ready: called with the profile when the block ends; with a schedule, each time
            the steps to record are over.
        schedule: from the number of a step to a ``ProfilerAction``, as
            ``flambeau.profiler.schedule`` makes them; ``step()`` goes to the next one. Without
            it every step is recorded.

    Example:
        >>> import flambeau
        >>> x = flambeau.ones(4, requires_grad=True)
        >>> with flambeau.autograd.profiler.profile() as prof:
        ...     (x * x).sum().backward()
        >>> [(row.key, row.count) for row in prof.key_averages() if row.key == "aten::sum"]
        [('aten::sum', 1)]
        >>> "CPU total" in prof.key_averages().table()
        True
    """

    def __init__(self, enabled: bool = True, *, record_shapes: bool = False,
                 activities: Iterable[Any] | None = None, profile_memory: bool = False,
                 with_stack: bool = False, use_cuda: bool = False,
                 use_device: str | None = None, with_flops: bool = False,
                 with_modules: bool = False, use_kineto: bool = False, use_cpu: bool = True,
                 on_trace_ready: Callable[[profile], None] | None = None,
                 schedule: Callable[[int], ProfilerAction] | None = None) -> None:
        self.enabled = enabled
        self.on_trace_ready = on_trace_ready
        self.schedule = schedule
        self.record_shapes = record_shapes
        self.step_num = 0
        self._recorder = Recorder(record_shapes)
        self._records = False
        self._events: EventList | None = None
        self._blocks: list[FunctionEvent] = []
        self._metadata: dict[str, Any] = {}
        self._step_began = self._thread = 0

    def __enter__(self) -> profile:
        self._thread = threading.get_native_id()
        if self.enabled and self._action() in _RECORDED:
            self._begin()
        return self

    def __exit__(self, *exception: object) -> None:
        unsaved = self._records or self.schedule is None
        if self._records:
            self._end()
        self._events = None
        if unsaved and self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _action(self) -> ProfilerAction:
        """What is done in this step."""
        return ProfilerAction.RECORD if self.schedule is None else self.schedule(self.step_num)

    def _begin(self) -> None:
        self._recorder = Recorder(self.record_shapes)
        self._events = None
        self._blocks = []
        self._recorder.__enter__()
        self._records = True
        self._step_began = time.monotonic_ns()
        _core.watch_runs(self._note_loops)
        if not _recording:
            blocks.watchers.append(_note_block)
        _recording.setdefault(self._thread, []).append(self)

    def _end(self) -> None:
        self._recorder.__exit__()
        self._records = False
        _core.watch_runs(None)
        _recording[self._thread].remove(self)
        if not _recording[self._thread]:
            del _recording[self._thread]
        if not _recording:
            blocks.watchers.remove(_note_block)

    def _note_loops(self, plan: Any, why: str, begin: int, end: int, *rest: Any) -> None:
        """Keep loops that ran in a compiled call, for kernels that had waited."""
        self._note(f"compiled: {'; '.join(plan.about)}", begin, end, scope_path())

    def _note(self, name: str, begin: int, end: int, where: str) -> None:
        """Keep a named block that began after this profile did."""
        start = self._recorder.start
        if begin >= start:
            self._blocks.append(self._event(name, begin - start, end - start, scope=where,
                                            named=True))

    def start(self) -> None:
        """Begin to record, as entering the block does."""
        self.__enter__()

    def stop(self) -> None:
        """Stop recording, as leaving the block does."""
        self.__exit__(None, None, None)

    def step(self) -> None:
        """Say that a step is over: the schedule decides what is done in the next one."""
        saves = self._action() is ProfilerAction.RECORD_AND_SAVE
        self.step_num += 1
        if not self.enabled or self.schedule is None:
            return
        if self._records:
            now = time.monotonic_ns()
            self._note(f"ProfilerStep#{self.step_num - 1}", self._step_began, now, "")
            self._step_began = now
        if self._records and (saves or self._action() not in _RECORDED):
            self._end()
        if saves and self.on_trace_ready is not None:
            self.on_trace_ready(self)
        if not self._records and self._action() in _RECORDED:
            self._begin()

    def _event(self, name: str, begin: int, end: int, **facts: Any) -> FunctionEvent:
        return FunctionEvent(-1, name, self._thread, begin / 1000, end / 1000, **facts)

    def events(self) -> EventList:
        """Everything that ran, in order."""
        if self._events is None:
            start = self._recorder.start
            found = [self._event(f"aten::{name}", begin - start, end - start, bytes=size,
                                 scope=where, node=node, input_shapes=shapes)
                     for name, begin, end, size, where, node, shapes in self._recorder.events()]
            self._events = EventList(sorted(found + self._blocks, key=_when))
            for number, event in enumerate(self._events):
                event.id = number
            self._events._populate_cpu_children()
        return self._events

    def key_averages(self, group_by_input_shape: bool = False, *,
                     by: str | None = None) -> EventList:
        """Sums by operator, or by something else.

        Args:
            group_by_input_shape: by operator and shapes of inputs.
            by: ``"operator"``, ``"scope"`` (module path), ``"node"`` (whose backward) or
                ``"shape"``.

        Returns:
            A list of sums with a method ``table``.

        Raises:
            ValueError: there is no such grouping.
        """
        by = by or ("shape" if group_by_input_shape else "operator")
        if by not in _GROUPS:
            raise ValueError(f"key_averages(): by must be one of {', '.join(_GROUPS)}, not {by!r}")
        sums: dict[tuple[str, bool, str], KernelSum] = {}
        inside = _Inside(self.events())
        for event in self.events():
            if event.named and by not in ("operator", "shape"):
                continue
            key = _GROUPS[by](event)
            shapes = str(event.input_shapes or "") if by == "shape" else ""
            row = sums.setdefault((key, event.named, shapes),
                                  KernelSum(key, named=event.named, input_shapes=shapes))
            if event.named:
                row.inside += inside(event) / 1000
            row.count += 1
            row.cpu_time_total += event.cpu_time_total
            row.bytes += event.bytes
        return EventList(sums.values())

    @property
    def function_events(self) -> EventList:
        """``events()``."""
        return self.events()

    def total_average(self) -> KernelSum:
        """``key_averages().total_average()``."""
        return self.key_averages().total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all operators."""
        return self.total_average().cpu_time_total

    def table(self, sort_by: str | None = "cpu_time_total", row_limit: int = 100,
              **columns: Any) -> str:
        """``key_averages().table()``."""
        return self.key_averages().table(sort_by, row_limit, **columns)

    def __str__(self) -> str:
        return self.table()

    def export_chrome_trace(self, path: str | Path) -> None:
        """Write the events for chrome://tracing or Perfetto.

        Args:
            path: the file, JSON; compressed where it ends in ``.gz``.
        """
        self.events().export_chrome_trace(path, self._metadata)

    def export_stacks(self, path: str | Path, metric: str = "self_cpu_time_total") -> None:
        """Write the time of each operator below the scopes it ran in, for flame graphs.

        Args:
            path: the file: lines of scopes and a name between semicolons, and microseconds.
            metric: accepted as in PyTorch; ``self_cpu_time_total`` is written.

        Raises:
            ValueError: the metric is of another device.
        """
        if metric != "self_cpu_time_total":
            raise ValueError(f"export_stacks(): metric={metric!r}: what runs on the CPU is "
                             "recorded; write self_cpu_time_total")
        self.events().export_stacks(path)

    def add_metadata(self, key: str, value: str) -> None:
        """Keep a string that is written into traces.

        Args:
            key: its name.
            value: the string.
        """
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Keep JSON that is written into traces.

        Args:
            key: its name.
            value: the JSON.
        """
        self._metadata[key] = json.loads(value)

    preset_metadata_json = add_metadata_json


def _note_block(name: str, begin: int, end: int) -> None:
    """Tell the profiles that record in this thread of a block."""
    for recorder in _recording.get(threading.get_native_id(), ()):
        recorder._note(name, begin, end, scope_path())


def _when(event: FunctionEvent) -> tuple[int, int]:
    """The order of events: a block stands before what runs inside it."""
    return event.start, -event.duration


def kineto_available() -> bool:
    """True: whatever PyTorch's newer profiler records is recorded here.

    Example:
        >>> from flambeau.profiler import kineto_available
        >>> kineto_available()
        True
    """
    return True


class _Inside:
    """Nanoseconds that the operators inside a block took."""

    def __init__(self, events: Iterable[FunctionEvent]) -> None:
        runs = [e for e in events if not e.named]
        self._starts = [e.start for e in runs]
        self._spent = list(itertools.accumulate((e.duration for e in runs), initial=0))

    def __call__(self, block: FunctionEvent) -> int:
        first = bisect.bisect_left(self._starts, block.start)
        last = bisect.bisect_left(self._starts, block.start + block.duration)
        return self._spent[last] - self._spent[first]


class record_function:
    """Name what runs in a block or a decorated function: a row of the profiler's table, and a part
    of the scope of what runs inside.

    Args:
        name: a word.

    Example:
        >>> import flambeau
        >>> with flambeau.autograd.profiler.profile() as prof:
        ...     with flambeau.autograd.profiler.record_function("head"):
        ...         y = flambeau.ones(2) + 1
        >>> {event.scope for event in prof.events()}
        {'head'}
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self._open: list[tuple[scope, int]] = []

    def __enter__(self) -> record_function:
        inner = scope(self.name)
        inner.__enter__()
        self._open.append((inner, time.monotonic_ns()))
        return self

    def __exit__(self, *exception: object) -> None:
        inner, begin = self._open.pop()
        end = time.monotonic_ns()
        if _recording:
            _note_block(self.name, begin, end)
        inner.__exit__(*exception)

    def __call__(self, function: Callable) -> Callable:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return function(*args, **kwargs)

        return run
