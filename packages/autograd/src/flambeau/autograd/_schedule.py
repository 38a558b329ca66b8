"""When a profiler records: steps of waiting, warming up and recording, in cycles."""
from __future__ import annotations

from collections.abc import Callable
from enum import Enum

__all__ = ["ProfilerAction", "schedule"]


class ProfilerAction(Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0,
             skip_first_wait: int = 0) -> Callable[[int], ProfilerAction]:
    """Cycles of steps for ``profile(schedule=...)``; call the profiler's ``step()`` after each.

    Args:
        wait: steps at the beginning of a cycle that are not recorded.
        warmup: steps after them that are not recorded either.
        active: steps that are recorded; after them ``on_trace_ready`` is called.
        repeat: how many cycles; 0 for no end.
        skip_first: steps before the first cycle.
        skip_first_wait: not 0: the first cycle does not wait.

    Returns:
        A function from the number of a step to what is done in it.

    Raises:
        ValueError: a number is negative, or nothing would be recorded.

    Example:
        >>> from flambeau.profiler import schedule
        >>> plan = schedule(wait=1, warmup=1, active=2)
        >>> [plan(step).name for step in range(5)]
        ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first, skip_first_wait) < 0 or active < 1:
        raise ValueError(f"schedule(): wait={wait}, warmup={warmup}, repeat={repeat} and "
                         f"skip_first={skip_first} must be at least 0 and active={active} at "
                         "least 1")
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise ValueError(f"schedule(): the number of a step must be at least 0, not {step}")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        if repeat and step // cycle >= repeat:
            return ProfilerAction.NONE
        index = step % cycle
        if index < wait:
            return ProfilerAction.NONE
        if index < wait + warmup:
            return ProfilerAction.WARMUP
        last = index == cycle - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    return action
