"""What of a recorded call anybody sees before its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.core import _core

from .numbers import Counter
from .plan import Steps


def generator_state() -> Any:
    """Where the generator is that is used where none is named."""
    return _core.get_rng_state().tolist()


def first_effect(steps: Steps, changed: set[int], runs: Sequence[Any], every: list[Any],
                 before: Any) -> int:
    """How many steps of a program come before the first that changes what is there afterwards.

    An error among them leaves all as it was, so that Python can run the call instead, whose error
    tells its line.

    Args:
        steps: the steps as they were planned.
        changed: memories of outside that are written to.
        runs: the kernels.
        every: the steps with those that make memory.
        before: ``generator_state()`` before the call.
    """
    named = any(type(value).__name__ == "Generator" for run in runs for value in run[1])
    if named or generator_state() != before:
        return 0
    for step, uses in zip(steps.steps, steps.uses, strict=True):
        if uses & changed or step[0] in ("grad", "give") \
                or step[0] == "call" and not _is_repeatable(step):
            return next(k for k, each in enumerate(every) if each is step)
    return len(every)


def _is_repeatable(step: tuple[Any, ...]) -> bool:
    """Whether a call may be made twice: gradients that were let go of are not there to be let go of
    again, and counters are only looked at."""
    fn = getattr(step[1], "fn", step[1])
    return getattr(fn, "__name__", "") == "zero_grad" \
        or getattr(fn, "__func__", None) is Counter.take
