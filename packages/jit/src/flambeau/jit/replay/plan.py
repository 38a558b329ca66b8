"""From a recording to the steps of a program: loops instead of formulas, and room for memory."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from flambeau.jit.cache.plans import find_plan
from flambeau.jit.itemsizes import SIZE

STATIC, OUTSIDE, SOURCE, FRESH, UNUSED = range(5)
_ALIGNMENT = 64
#: Formulas that are planned together.
_MOST = 256
#: Bytes of memory that the allocator lends for as long as it is needed.
LEAST_BORROWED = 1 << 16
#: Plans of stretches, the one used last at the end, and how many are kept.
_PLANS: dict[str, Any] = {}
MOST_PLANS = 2048


@dataclass
class Steps:
    """What runs, and which memory each step uses.

    Args:
        steps: for the core.
        uses: for each step its memories.
        about: for people, a line for each loop.
        kept: what the steps point to.
    """

    steps: list[tuple[Any, ...]] = field(default_factory=list)
    uses: list[set[int]] = field(default_factory=list)
    about: list[str] = field(default_factory=list)
    kept: list[Any] = field(default_factory=list)

    def add(self, step: tuple[Any, ...], uses: set[int]) -> None:
        """Add a step."""
        self.steps.append(step)
        self.uses.append(uses)


def is_extent(value: Any) -> bool:
    """Whether an argument is an extent of memory; lists of numbers are tuples, too."""
    return isinstance(value, tuple) and len(value) == 6 and isinstance(value[1], str)


def extents_of(run: Any) -> list[Any]:
    """The extents that a kernel uses."""
    found = []
    for value in (*run[1], *run[2]):
        if is_extent(value):
            found.append(value)
        elif isinstance(value, list):
            found += [each for each in value if is_extent(each)]
    return found


def written(runs: Sequence[Any]) -> set[int]:
    """The memories that kernels write to."""
    return {extent[0] for _, _, outs, _ in runs for extent in outs if is_extent(extent)}


def make_steps(runs: Sequence[Any], events: Sequence[Any], held: set[int], first: set[int],
               fresh: set[int]) -> Steps:
    """Steps for kernels and what happens between them.

    Args:
        runs: the kernels.
        events: ``(kernels before it, step)``.
        held: memories that somebody sees after the call, or before the next event.
        first: memories that begin with contents of their own.
        fresh: memories that leave the call.
    """
    made = Steps()
    last = {extent[0]: k for k, run in enumerate(runs) for extent in extents_of(run)}
    cuts = sorted({0, len(runs), *(count for count, _ in events)})
    begun: set[int] = set()
    todo = list(events)
    for start, end in zip(cuts, [*cuts[1:], len(runs)], strict=True):
        while todo and todo[0][0] == start:
            made.add(todo.pop(0)[1], set())
        k = start
        while k < end:
            stop = k
            while stop < end and runs[stop][3] and stop - k < _MOST:
                stop += 1
            stop = max(stop, k + 1)
            new = {p[0] for run in runs[k:stop] for p in extents_of(run)} - begun
            _begin(made, new, first, fresh)
            begun |= new
            _add_runs(made, runs, k, stop, held, last)
            k = stop
    _begin(made, fresh - begun, first, fresh)
    return made


def _begin(made: Steps, new: set[int], first: set[int], fresh: set[int]) -> None:
    for memory in sorted(new & fresh):
        made.add(("make", memory), set())
    for memory in sorted(new & first):
        made.add(("first", memory), {memory})


def _add_runs(made: Steps, runs: Sequence[Any], start: int, stop: int, held: set[int],
              last: dict[int, int]) -> None:
    if not runs[start][3]:
        made.add(("run", start), {extent[0] for extent in extents_of(runs[start])})
        return
    numbers: dict[int, int] = {}
    calls, values = [], []
    for key, args, outs, _ in runs[start:stop]:
        noted: list[list[Any]] = [[], []]
        for side, of in zip(noted, (args, outs), strict=True):
            for value in of:
                values.append(value)
                if is_extent(value):
                    memory = numbers.setdefault(value[0], len(numbers))
                    value = (memory, *value[1:5], SIZE.get(value[1], 16))
                side.append(value)
        calls.append((key, *noted))
    needed = bytes(memory in held or last[memory] >= stop for memory in numbers)
    plan = _planned(calls, needed)
    made.kept.append(plan)
    made.about += plan.about
    for step in plan.steps:
        if len(step) == 1:
            made.add(("run", start + step[0]),
                     {extent[0] for extent in extents_of(runs[start + step[0]])})
            continue
        if len(step) == 2:
            made.add(("rows", start, stop, step), _used_by_rows(step, runs[start:stop], values))
            continue
        address, total, operands, scalars, integers, words, moved, offsets = step
        chosen = [values[k] for k in operands]
        given = [_number(values[k], whole) for k, whole in zip(scalars, integers, strict=True)]
        numbered = tuple(extent[5] for extent in chosen)
        made.add(("loop", address, total, numbered, tuple(given), words, moved, offsets),
                 {extent[0] for extent in chosen})


def _planned(calls: list[Any], needed: bytes) -> Any:
    """The plan of a stretch; layers that are alike share one, and so do calls of other lengths."""
    key = repr((calls, needed))         # tells 1 from 1.0 and True
    plan = _PLANS.pop(key, None)
    if plan is None:
        plan = find_plan(f"replay {key}".encode(), lambda: _make(calls, needed))
    _PLANS[key] = plan
    if len(_PLANS) > MOST_PLANS:
        _PLANS.pop(next(iter(_PLANS)), None)
    return plan


def _make(calls: list[Any], needed: bytes) -> Any:
    from flambeau.jit.deferral import make_plan  # and definitions, where something is planned

    return make_plan(calls, needed, apart=True)


def forget_plans() -> None:
    """Let go of plans that were made in this process, and of their code."""
    _PLANS.clear()


def _used_by_rows(step: tuple[Any, ...], runs: Sequence[Any], values: list[Any]) -> set[int]:
    """The memories of a step of rows, but for those that threads have of their own."""
    used: set[int] = set()
    for item in step[1]:
        if len(item) == 2:                      # a reduction of rows, or of all
            run = runs[item[0][0]]
            given, in_memory = [*run[2]], [True] * len(run[2])
            for value in filter(is_extent, run[1]):
                given.append(value)
                in_memory.append(item[1][0] < 0)
        elif len(item) == 4:                    # code
            given = [values[k] for k in item[0][2]]
            in_memory = [scratch < 0 for scratch, _ in item[1]]
        else:                                   # a call
            given = [*runs[item[0]][1], *runs[item[0]][2]]
            in_memory = [part is not None and part[0][0] < 0 for part in item[1]]
        used |= {value[0] for value, is_there in zip(given, in_memory, strict=True) if is_there}
    return used


def _number(value: Any, is_integer: int) -> Any:
    if is_integer:
        whole = int(value)
        return (whole + (1 << 63)) % (1 << 64) - (1 << 63)
    return complex(value)


def lifetimes(uses: Sequence[set[int]]) -> tuple[dict[int, int], dict[int, int]]:
    """By memory the first and the last step that uses it."""
    begin: dict[int, int] = {}
    end: dict[int, int] = {}
    for k, memories in enumerate(uses):
        for memory in memories:
            begin.setdefault(memory, k)
            end[memory] = k
    return begin, end


def with_borrowed(steps: Sequence[tuple[Any, ...]], uses: Sequence[set[int]],
                  borrowed: set[int]) -> list[tuple[Any, ...]]:
    """Steps that take memory from the allocator before its first use, and give it back at once."""
    begin, end = lifetimes(uses)
    made: list[tuple[Any, ...]] = []
    for k, step in enumerate(steps):
        here = sorted(uses[k] & borrowed)
        made += [("make", memory) for memory in here if begin[memory] == k]
        made.append(step)
        made += [("drop", memory) for memory in reversed(here) if end[memory] == k]
    return made


def lay_out(uses: Sequence[set[int]], sizes: dict[int, int]) -> tuple[dict[int, int], int]:
    """Offsets in one block for memories, such that those in use at once lie apart.

    Args:
        uses: for each step its memories.
        sizes: bytes of those that are to be laid out.

    Returns:
        The offsets, and the block's bytes.
    """
    begin, end = lifetimes(uses)
    born: list[list[int]] = [[] for _ in uses]
    gone: list[list[int]] = [[] for _ in uses]
    room = {memory: -(-max(size, 1) // _ALIGNMENT) * _ALIGNMENT for memory, size in sizes.items()
            if memory in begin}
    for memory in sorted(room, key=lambda m: (-room[m], m)):
        born[begin[memory]].append(memory)
        gone[end[memory]].append(memory)
    block, offsets = _Block(), {}
    for new, old in zip(born, gone, strict=True):
        for memory in new:
            offsets[memory] = block.take(room[memory])
        for memory in old:
            block.give(offsets[memory], room[memory])
    return offsets, block.total


class _Block:
    """Memory of which stretches are taken and given back; it grows where none fits."""

    def __init__(self) -> None:
        self.total = 0
        self.free: list[tuple[int, int]] = []       # where they begin and end, in order

    def take(self, size: int) -> int:
        """The offset of a stretch of so many bytes: in the smallest one that holds it."""
        fitting = [(stop - start, k) for k, (start, stop) in enumerate(self.free)
                   if stop - start >= size]
        if not fitting:
            touches = bool(self.free) and self.free[-1][1] == self.total
            start = self.free.pop()[0] if touches else self.total
            self.total = start + size
            return start
        k = min(fitting)[1]
        start, stop = self.free[k]
        self.free[k:k + 1] = [(start + size, stop)] if start + size < stop else []
        return start

    def give(self, start: int, size: int) -> None:
        """Let a stretch be taken again, joined to its neighbours."""
        k, stop = bisect(self.free, (start,)), start + size
        if k < len(self.free) and self.free[k][0] == stop:
            stop = self.free.pop(k)[1]
        if k and self.free[k - 1][1] == start:
            k -= 1
            start = self.free.pop(k)[0]
        self.free.insert(k, (start, stop))
