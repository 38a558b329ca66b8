"""A call that is measured: which loops and calls ran, where and why loops ended, how long it took.

The function is called once, with all that it does; nothing is repeated but kernels, over memory as
it was before them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from flambeau.core import _core, interpose
from flambeau.jit import bridge
from flambeau.jit.locations import caller

#: A call is added to what waits; a full queue runs first.
_FULL_QUEUE = 256


@dataclass
class Event:
    """Loops that ran together, or a call that ran as it stands.

    Args:
        title: what ran.
        lines: loops, or why a call did not wait.
        reason: what ended the loops; of a call nothing.
        where: file and line that did.
        seconds: how long it took.
        alone: how long the same calls take one by one; of a call the same.
        reads: storages.
        writes: storages.
    """

    title: str
    lines: list[str]
    reason: str
    where: str
    seconds: float
    alone: float
    reads: set[int] = field(default_factory=set)
    writes: set[int] = field(default_factory=set)

    @property
    def is_loop(self) -> bool:
        """Whether calls waited for it."""
        return self.title == "loops"


@dataclass
class Explanation:
    """What a measured call did; ``print`` shows it.

    Args:
        name: of the function.
        events: what ran, in order.
        breaks: reads of values by Python: what, and where.
        peak_bytes: the most memory that tensors took, more than before the call.
        result: what the function returned.
    """

    name: str
    events: list[Event] = field(default_factory=list)
    breaks: list[tuple[str, str]] = field(default_factory=list)
    peak_bytes: int = 0
    result: Any = None
    _last_run: float = field(default=0.0, repr=False)

    def __str__(self) -> str:
        lines = [f"{self.name}:"]
        for number, event in enumerate(self.events, 1):
            lines += [f"{number:>3} {line}" if k == 0 else f"    {line}"
                      for k, line in enumerate(_describe(event))]
        lines += [f"    {what} took values to Python at {where}" for what, where in self.breaks]
        loops = [event for event in self.events if event.is_loop]
        lines.append(f"{len(loops)} times loops ran, {_ms(sum(e.seconds for e in loops))}; call by "
                     f"call {_ms(sum(e.alone for e in loops))}. {len(self.events) - len(loops)} "
                     f"calls as they stand, "
                     f"{_ms(sum(e.seconds for e in self.events if not e.is_loop))}. "
                     f"Memory at most {self.peak_bytes / 2**20:.1f} MiB")
        return "\n".join(lines)

    def svg(self) -> str:
        """A picture: boxes for loops and calls, arrows for the memory between them."""
        from flambeau.jit.picture import draw

        return draw(self.events)

    _repr_svg_ = svg

    def table(self) -> list[tuple[str, float, float]]:
        """For each event what ran, its seconds, and those of the calls one by one."""
        return [("; ".join(event.lines) if event.is_loop else event.title, event.seconds,
                 event.alone) for event in self.events]


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"


def _describe(event: Event) -> Iterator[str]:
    if event.is_loop:
        yield f"loops, {_ms(event.seconds)}; call by call {_ms(event.alone)}"
        yield from (f"    {line}" for line in event.lines)
        yield f"    ended by {event.reason} at {event.where}"
    else:
        yield f"{event.title}, {_ms(event.seconds)} at {event.where}: {'; '.join(event.lines)}"


def measure(call: Callable[[], Any], name: str) -> Explanation:
    """Call a compiled function and note what runs.

    Args:
        call: the call.
        name: of the function.
    """
    made = Explanation(name)
    before = _core.memory_stats()["live_bytes"]
    _core.reset_peak_memory_stats()
    with _watched(made), interpose("trace", _Calls(made)), _core.hear_reads(
            lambda tensor, what: made.breaks.append((what, caller()))):
        made.result = call()
    made.peak_bytes = max(0, _core.memory_stats()["peak_live_bytes"] - before)
    return made


@contextmanager
def _watched(made: Explanation) -> Iterator[None]:
    def ran(plan: Any, why: str, begin: int, end: int, alone: int,
            memory: list[tuple[int, bool]]) -> None:
        event = Event("loops", list(plan.about), why or "the end of the call", caller(),
                      (end - begin) / 1e9, alone / 1e9)
        for storage, is_written in memory:
            (event.writes if is_written else event.reads).add(storage)
        made.events.append(event)
        made._last_run = time.perf_counter()

    _core.watch_runs(ran, True)
    try:
        yield
    finally:
        _core.watch_runs(None)


class _Calls:
    """Notes the calls that do not wait; those made of others are these others."""

    def __init__(self, made: Explanation) -> None:
        self.made = made
        self.count = 0

    def __call__(self, op: Any, args: list[Any], outs: list[Any] | None) -> Any:
        self.count += 1
        own, waiting = self.count, _core.waiting_calls()
        ran = len(self.made.events)
        begin = time.perf_counter()
        results = bridge.call_below(op, args, outs)
        spent = time.perf_counter() - max(begin, self.made._last_run)
        now = _core.waiting_calls()
        waits = now == waiting + 1 or (now == 1 and (ran < len(self.made.events)
                                                     or waiting >= _FULL_QUEUE))
        if own == self.count and not waits:
            self.note(str(op.key), args, results, spent)
        return results

    def note(self, key: str, args: list[Any], results: Any, spent: float) -> None:
        """Remember a call that ran as it stands."""
        outs = [each for each in results if isinstance(each, _core.Tensor)]
        ins = [each for each in args if isinstance(each, _core.Tensor)]
        why = why_not(key, outs)
        if why:
            shape = f" {list(outs[0].shape)}" if outs else ""
            self.made.events.append(Event(
                key + shape, [why], "", caller(), spent, spent,
                {_core.storage_id(t) for t in ins}, {_core.storage_id(t) for t in outs}))


def why_not(key: str, outs: list[Any]) -> str:
    """Why a call did not wait; nothing for views, which compute nothing."""
    from flambeau.jit.opset import find_opdef

    opdef = find_opdef(key)
    if opdef is None:
        return "an operator of the program's own"
    if opdef.category == "view":
        return ""
    if opdef.random and not opdef.rows:
        return "it draws random numbers"
    if opdef.epilogue:
        return "only products of floats that are too large for the caches wait"
    if opdef.category != "pointwise" and not opdef.rows:
        return "it is not computed element by element"
    if outs and outs[0].numel() < _core.least_waiting():
        return f"fewer than {_core.least_waiting()} elements: running it at once is faster"
    return "its memory is shared, on another device, or its kernel looks at values"
