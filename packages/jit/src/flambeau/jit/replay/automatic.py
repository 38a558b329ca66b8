"""Compiled calls that are replayed unasked: where that is proved, and where it pays."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator
from time import perf_counter
from types import FunctionType, MethodType
from typing import Any

from flambeau.jit import bridge

from . import trust
from .call import REPLAYS_FOR_RECORDING, Replayed
from .decorated import is_decorated
from .families import Family, family_of, part_of
from .record import Recorded, Recorder

#: Calls of one kind until one is recorded, and how many kinds are distinguished.
CALLS_BEFORE = 2
MOST_KINDS = 256
#: Recordings that come to nothing until a function is left alone.
MOST_FAILURES = 2
#: Replays and calls are made by turns, so many of each in a row: the last one counts, which finds
#: its own memory in the caches, as it does where there are no turns.
TURN = 2
#: Such pairs: so many, and up to that many where it is not clear which take longer.
TRIALS, MOST_TRIALS = 3, 12
#: Such trials in a row until a kind is not replayed: what slows a machine for some microseconds
#: slows all pairs of short calls.
LOSSES = 3
#: Calls that do not count, as their plans are tried themselves.
MOST_UNSETTLED = 64
#: The part of a call's time that a replay may take.
MOST_OF_TIME = 1.02
#: What replays that turned out to be faster pay for: recordings, and the most that are paid for.
RECORDINGS_FOR_GAIN, MOST_BUDGET = 2, 64
#: Recordings of a kind that is not replayed in between cost twice as much each time, up to two to
#: this power.
MOST_DOUBLINGS = 6
#: Calls after recordings had to stop, none of them replayed, until a function is left alone.
MOST_MISSES = 64
#: Calls of kinds whose replays were slower, after which a function of no other kind is left alone.
MOST_SLOWER = 500
#: A kind of calls that is not replayed.
NEVER = -1


class Automatic(Replayed):
    """What makes the calls of a compiled function once it was called a few times.

    Nothing is compared with Python later: what is not proved is not replayed. Arguments are tensors
    and values, so that no program keeps objects alive that only a caller had. Calls on a device are
    left alone: they run beside the program, and its graphs replay them where it asks for that.

    Args:
        fn: the function.
        ordinary: the compiled function that runs Python.
        give_up: called once nothing will ever be replayed, with the reason.
    """

    def __init__(self, fn: Any, ordinary: Callable[[Any], Any],
                 give_up: Callable[[str], None]) -> None:
        super().__init__(fn, 0, ordinary)
        self.give_up = give_up
        self.kinds: dict[Any, int] = {}
        self.recorded: dict[Any, int] = {}      # how often, since something was replayed
        self.losses: dict[Any, int] = {}
        self.families: dict[Any, Family] = {}
        self.relatives: dict[Any, tuple[Family, int]] = {}
        self.credit = self.misses = self.slower = self.unsettled = 0

    def missed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call for which there is no program: those that come again are recorded."""
        kind = _kind(args, kwargs)
        count = self.kinds.get(kind, 0)
        if None in kind or count == NEVER or not bridge.may_record():
            if None in kind:
                self._fail("an argument is neither a tensor on the CPU nor a value")
            elif count == NEVER:
                self._stop_after(self.slower + 1)
            return self.ordinary(*args, **kwargs)
        if len(self.kinds) >= MOST_KINDS and not count:
            self._fail("arguments are others at each call")
            return self.ordinary(*args, **kwargs)
        self.kinds[kind] = count + 1
        gains = self._gains(kind)
        price = self._price_of(kind, gains)
        if count + 1 < CALLS_BEFORE or not self._can_pay(price):
            self._stop_where_nothing_is_gained(price)
            return self.ordinary(*args, **kwargs)
        self._forget_stale(args, kwargs)
        self.budget -= price
        self.recorded[kind] = self.recorded.get(kind, 0) + 1
        return self._make(args, kwargs, None if gains else [])

    def _family(self, kind: Any) -> tuple[Family, int]:
        """What is known of calls of this kind but for its sizes, and how many elements it has."""
        if kind not in self.relatives:
            shared, size = family_of(kind)
            self.relatives[kind] = self.families.setdefault(shared, Family()), size
        return self.relatives[kind]

    def _gains(self, kind: Any) -> bool:
        """Whether replays of such calls are known to be faster."""
        family, size = self._family(kind)
        return family.gains_at(size)

    def _price_of(self, kind: Any, gains: bool) -> int:
        """The first is paid by those like it; more of them without a replay come to nothing."""
        times = self.recorded.get(kind, 0)
        return 1 << min(times, MOST_DOUBLINGS) if times or not gains else 0

    def _make(self, args: tuple[Any, ...], kwargs: dict[str, Any], trial: list[float] | None
              ) -> Any:
        recorded = self._record(args, kwargs)
        if recorded.program is None:
            self._fail(recorded.refusal)
        else:
            self.failures = 0
            recorded.program.trial = trial
            self._keep(recorded, args, kwargs)
        return recorded.result

    def _record(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Recorded:
        return Recorder(args, kwargs, strict=True, known=self._last_record(),
                        changing=self.changing).run(self.fn)

    def _can_pay(self, price: int) -> bool:
        """Whether replays have paid for another recording."""
        replays = self.earned()
        if replays:
            self.misses = 0
            self.recorded = dict.fromkeys(self.recorded, 1)
        self.credit += replays
        self.budget = min(self.budget + self.credit // REPLAYS_FOR_RECORDING, MOST_BUDGET)
        self.credit %= REPLAYS_FOR_RECORDING
        return self.budget >= price and self.failures < MOST_FAILURES \
            and getattr(sys, "_is_gil_enabled", lambda: True)()

    def _stop_where_nothing_is_gained(self, price: int) -> None:
        self.misses += self.budget < price
        if self.misses > MOST_MISSES:
            self.programs, self.records = [], {}
            self._fail(f"{self.refusal}; too often to record each time")
            self._fail(self.refusal)

    def _stop_after(self, slower: int) -> None:
        """Look at arguments no more where no kind of calls is replayed, and so many were slower."""
        self.slower = slower
        if slower > MOST_SLOWER and not self.programs:
            self.failures = MOST_FAILURES
            self._fail(self.refusal)

    def _forget_stale(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Let go of programs for these arguments, which read what is there no more."""
        for program in self._alike(args, kwargs):
            failed = program.guards.failed
            if failed and failed[0] in ("answer", "slot"):
                continue            # what a program stands for may come again, as counters go on
            if failed:
                self.refusal = f"{program.guards.failed[0]} changes between calls"
            self._drop(program)

    def _fail(self, why: str) -> None:
        self.failures += 1
        self.refusal = why
        if self.failures >= MOST_FAILURES and not self.programs:
            self.instead = self.ordinary
            self.give_up(f"not replayed: {why}")

    def tried(self, program: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A replay, or a call that is compared with one, until it is known which takes longer."""
        trial, plans = program.trial, bridge.trial_runs()
        start = perf_counter()
        if len(trial) // TURN % 2:
            result = self.ordinary(*args, **kwargs)
        else:
            result = self.replay(program, args, kwargs)
        time = perf_counter() - start
        if bridge.trial_runs() != plans and self.unsettled < MOST_UNSETTLED:
            self.unsettled += 1         # by the slower of two ways, perhaps, and never again
            return result
        trial.append(time)
        if len(trial) % (2 * TURN) == 0:
            self._compare(program, trial, _kind(args, kwargs))
        return result

    def _compare(self, program: Any, trial: list[float], kind: Any) -> None:
        """Both had their turn: for the family, and perhaps enough for the program."""
        last = trial[TURN - 1::TURN]
        pairs = [replay / max(call, 1e-9)
                 for replay, call in zip(last[::2], last[1::2], strict=True)]
        family, size = self._family(kind)
        family.note(size, pairs[-1])
        if family.gains_at(size):
            self._keep_for_good(program)
        elif len(pairs) >= TRIALS:
            self._decide(program, pairs, kind)

    def _decide(self, program: Any, pairs: list[float], kind: Any) -> None:
        part, is_clear = part_of(pairs)
        if not is_clear and len(pairs) < MOST_TRIALS:
            return
        if part <= MOST_OF_TIME:
            self._keep_for_good(program)
            return
        losses = self.losses[kind] = self.losses.get(kind, 0) + 1
        if losses < LOSSES:
            program.trial = []
            return
        program.trial = None
        self.refusal = "replays take as long as calls"
        self.kinds[kind] = NEVER
        self._drop(program)

    def _keep_for_good(self, program: Any) -> None:
        program.trial = None
        self.budget = min(self.budget + RECORDINGS_FOR_GAIN, MOST_BUDGET)


def _kind(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """What calls share that one program may stand for; it has a ``None`` where none may."""
    return (bridge.is_grad_enabled(), bridge.is_inference_mode(), *_tokens((args, kwargs)))


def _tokens(value: Any) -> Iterator[Any]:
    """What tells kinds of calls apart; ``None`` for what is neither a tensor nor a value."""
    kind = type(value)
    if trust.is_tensor(value):
        yield (tuple(value.shape), value.dtype, value.requires_grad) if value.is_cpu else None
    elif kind is tuple or kind is list:
        yield (kind, len(value))
        for each in value:
            yield from _tokens(each)
    elif kind is slice:         # which has no hash before Python 3.12
        yield kind
        yield from _tokens((value.start, value.stop, value.step))
    elif kind is dict:
        yield (kind, *value) if all(type(key) is str for key in value) else None
        for each in value.values():
            yield from _tokens(each)
    elif trust.is_value(value) or trust.is_constant(value) and trust.hashes_plainly(value):
        yield (kind, value)
    else:
        yield None


def may_replay(fn: Any) -> bool:
    """Whether calls of a function may ever be replayed without being asked to."""
    return isinstance(fn, FunctionType | MethodType) or is_decorated(fn) or trust.is_module(fn)


def start(compiled: Any, ordinary: Callable[[Any], Any]) -> Any:
    """What makes the calls of a compiled function from now on."""
    owner = weakref.ref(compiled)

    def give_up(why: str) -> None:
        found = owner()
        if found is not None:
            found.replayer, found.refusal = None, why

    return Automatic(compiled.fn, ordinary, give_up)
