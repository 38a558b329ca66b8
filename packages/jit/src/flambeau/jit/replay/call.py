"""Functions that are replayed: Python runs once, and then only where a guard does not hold."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.compiling import Compiled, own_name
from flambeau.jit.errors import ReplayError

from . import plan, trust
from .record import Recorded, Recorder

#: Programs of a function, and those of them for the same arguments: more states than this keep too
#: much alive, while a program for each length of a text is worth having.
MOST_PROGRAMS = 64
MOST_STATES = 8
#: Recordings that may come to nothing, those that may be made on trust, replays that pay for
#: another, and what it costs where another program has to go.
MOST_FAILURES = 4
FIRST_BUDGET = 16
REPLAYS_FOR_RECORDING = 8
EXCHANGE = 8
#: Replays until a call is compared with Python, unless its number is given: at first, and at most.
FIRST_CHECK, LAST_CHECK = 1000, 64_000
#: Held while a function's programs change, and not while anything else runs.
_CHANGING = threading.Lock()
#: Results with a history that may be held at once.
MOST_NODES = 64
_EVERY: weakref.WeakSet[Replayed] = weakref.WeakSet()


class Replayed(bridge.ReplayedCall):
    """What ``compile(fn, replay=True)`` calls.

    Args:
        fn: the function.
        every: replays until a call is recorded again and compared; 0 for never, ``None`` for a
            number that grows.
        ordinary: makes the compiled function that runs Python.
    """

    def __init__(self, fn: Any, every: int | None,
                 ordinary: Callable[[Any], Any] = Compiled) -> None:
        super().__init__(fn, FIRST_CHECK if every is None else every)
        update_wrapper(self, fn, updated=())
        self.make_ordinary = ordinary
        self.ordinary = ordinary(fn)
        self.check_every = every
        self.records: dict[int, Recorded] = {}
        self.calls = self.failures = 0
        self.budget = FIRST_BUDGET
        self.refusal = "it was not called twice"
        self.failed: dict[str, int] = {}
        self.changing: set[tuple[int, Any]] = set()     # where calls change a number: see Recorder
        self.graphs: Any = None         # of calls on a device
        _EVERY.add(self)

    def missed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call for which there is no program: the first one runs, others are recorded."""
        self.calls += 1
        if self.calls > 1 and self._is_on_device(args, kwargs):
            return self.graphs.call(args, kwargs)
        if self.calls == 1 or not self._may_record(args, kwargs):
            return self.ordinary(*args, **kwargs)
        if self.programs and self.programs[0].guards.failed:
            self.refusal = f"guards fail: {_describe(self.programs[0].guards.failed)}"
        self.budget -= self._price(args, kwargs)
        recorded = self._record(args, kwargs)
        if recorded.program is None:
            self.failures += 1
            self.refusal = recorded.refusal
            if self.failures == MOST_FAILURES and not self.programs:
                self.instead = self.ordinary
            return recorded.result
        self.failures = 0
        self._keep(recorded, args, kwargs)
        return recorded.result

    def _keep(self, recorded: Recorded, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Have a program stand for calls; old ones go where there are too many."""
        with _CHANGING:
            too_many = [*self._alike(args, kwargs)[MOST_STATES - 1:],
                        *self.programs[MOST_PROGRAMS - 1:]]
            self.programs = [recorded.program,
                             *(each for each in self.programs if each not in too_many)]
            self.records[id(recorded.program)] = recorded
            dropped = [self.records.pop(id(each), None) for each in too_many]
        del too_many, dropped       # which may run finalizers

    def _alike(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The programs for the same arguments, of other states."""
        return [each for each in self.programs if each.guards.take_again(args, kwargs)]

    def _is_on_device(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether a call is a matter of a device's graphs."""
        from .device_graphs import DeviceGraphs

        if not DeviceGraphs.concern(args, kwargs):
            return False
        if self.graphs is None:
            self.graphs = DeviceGraphs(self.fn, self.ordinary)
        return True

    def _may_record(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        self.budget = min(self.budget + self.earned() // REPLAYS_FOR_RECORDING, FIRST_BUDGET)
        return self.failures < MOST_FAILURES and self.budget >= 1 \
            and self.budget >= self._price(args, kwargs) \
            and bridge.may_record() and getattr(sys, "_is_gil_enabled", lambda: True)()

    def _price(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
        """What a recording costs: more where another program has to go, which may be missed."""
        is_full = len(self.programs) >= MOST_PROGRAMS \
            or len(self._alike(args, kwargs)) >= MOST_STATES
        return EXCHANGE if is_full else 1

    def _record(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Recorded:
        known = self._last_record()
        return self.ordinary.guarded(lambda: Recorder(
            args, kwargs, known=known, changing=self.changing).run(self.fn))

    def _last_record(self) -> Recorded | None:
        """Of the program that was made last."""
        programs = self.programs
        return self.records.get(id(programs[0])) if programs else None

    def checked(self, program: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that a program stands for, recorded again."""
        known = self.records.get(id(program))
        if known is None:           # another thread has just had it go
            return self.ordinary(*args, **kwargs)
        recorded = self._record(args, kwargs)
        difference = _difference(known, recorded)
        if difference:
            self._drop(program)
            raise ReplayError(f"{getattr(self.fn, '__qualname__', self.fn)}: a replay would not "
                              f"have done what Python did: {difference}. Read what changes from "
                              "an argument, or compile without replay=True")
        if self.check_every is None:
            self.every = self.left = min(2 * self.every, LAST_CHECK)
        return recorded.result

    def without_room(self, program: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call while all histories of results are held by somebody: its own is one more."""
        result, known = self.ordinary(*args, **kwargs), self.records.get(id(program))
        if known is not None and program.nodes < MOST_NODES:
            for number, way in known.spent:
                found = result
                for key in way:
                    found = found[key]
                node = trust.spent_node(found)
                if node is not None:
                    program.add_node(number, node)
        return result

    def _drop(self, program: Any) -> None:
        """Have a program stand for no call any more."""
        with _CHANGING:
            self.programs = [each for each in self.programs if each is not program]
            self.records.pop(id(program), None)

    def raised(self, program: Any, error: BaseException) -> None:
        """Say which line an error belongs to, which a replay does not come by."""
        known = self.records.get(id(program))
        if known is not None and program.failed_run >= 0:
            error.add_note(f"in a replayed call, at {_where(known, program.failed_run)}")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.fn, name)

    def __repr__(self) -> str:
        return f"<replayed {self.fn!r}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return own_name(self) or (
            Replayed, (self.fn, self.check_every, self.make_ordinary))

    def measure(self, *args: Any, **kwargs: Any) -> Any:
        """A call that runs Python, and what ran in it; see ``Compiled.measure``."""
        return self.ordinary.measure(*args, **kwargs)

    def explain(self, *args: Any, **kwargs: Any) -> Any:
        """What is replayed, or why nothing is; with arguments what ``measure`` returns."""
        if args or kwargs:
            return self.measure(*args, **kwargs)
        if not self.programs and self.graphs is not None:
            return str(self.graphs.explain())
        if not self.programs:
            return f"not replayed: {self.refusal}\n{self.ordinary.explain()}"
        return "\n".join(self.told())

    def told(self) -> list[str]:
        """What is replayed, line by line."""
        lines = []
        for program in self.programs:
            known = self.records[id(program)]
            lines.append(f"replayed: {known.kernels} kernels, {known.guards} guards")
            lines += [f"    {line}" for line in known.about]
        return lines


def forget_programs() -> None:
    """Let go of what was recorded in this process."""
    for each in list(_EVERY):
        with _CHANGING:
            dropped, each.programs, each.records = each.records, [], {}
        del dropped                 # which may run finalizers
    plan.forget_plans()


def _describe(failed: tuple[str, Any, Any]) -> str:
    kind, of, key = failed
    what = of.__name__ if isinstance(of, type) else f"an object of class {type(of).__name__}"
    return f"{kind} {key if isinstance(key, str) else ''} of {what}"


def _difference(known: Recorded, recorded: Recorded) -> str:
    if recorded.program is None:
        return f"it could not be recorded again ({recorded.refusal})"
    for k, (old, new) in enumerate(zip(known.runs, recorded.runs, strict=False)):
        if old != new:
            return f"{_where(recorded, k)}: kernel {k} was {old[0]}, is {new[0]}" + (
                "" if old[0] != new[0] else f", of {_first_difference(old, new)}")
    if len(known.runs) != len(recorded.runs):
        k = min(len(known.runs), len(recorded.runs))
        return (f"{_where(recorded, k)}: there were {known.kernels} kernels, "
                f"there are {len(recorded.runs)}")
    return ""


def _first_difference(old: Any, new: Any) -> str:
    pairs = zip([*old[1], *old[2]], [*new[1], *new[2]], strict=False)
    return next((f"{a} now {b}" for a, b in pairs if a != b), "other operands")


def _where(recorded: Recorded, k: int) -> str:
    """The line at which a kernel was run."""
    before = [line for line in recorded.source_lines if line[0] <= k]
    return f"{before[-1][1]}:{before[-1][2]}" if before else "at the start"
