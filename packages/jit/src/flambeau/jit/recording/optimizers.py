"""Optimizers whose steps are recorded: the numbers they keep, which operators do not see.

The kernels of a step are nodes as all others. What an optimizer counts in Python is counted at each
run as it was in the recordings; where a count decides what is computed, these differ, and the trace
is refused. Options such as the learning rate are part of the program, and guarded.
"""

from __future__ import annotations

from typing import Any

from flambeau.jit import bridge
from flambeau.jit.errors import ProgramError, TraceError

_COUNTED = (int, float)


class Stepped:
    """An optimizer that took steps in what was recorded.

    Args:
        optimizer: the optimizer, before its first step.
        where: the line of that step.
    """

    def __init__(self, optimizer: Any, where: str) -> None:
        self.optimizer = optimizer
        self.where = where
        self.options = _options(optimizer)
        self.entries = _entries(optimizer)
        self.before = _counts(optimizer)
        self.state: list[Any] = []
        self.grown: list[float] = []

    @property
    def kind(self) -> str:
        """The name of the optimizer's class."""
        return type(self.optimizer).__name__

    def finish(self) -> None:
        """Note how far the counts went in this recording."""
        after = _counts(self.optimizer)
        if _names(_entries(self.optimizer)) != _names(self.entries):
            raise TraceError(f"{self.where}: the first step of {self.kind} makes its state; take "
                             "an optimizer's first step before tracing")
        if _options(self.optimizer) != self.options:
            raise TraceError(f"{self.where}: options of {self.kind} change beside its step, which "
                             "a program does not repeat; change them outside what is traced")
        self.grown = [new - old for (*_, new), (*_, old) in zip(after, self.before, strict=True)]
        self.state = _state(self.optimizer)

    def restore(self) -> None:
        """Set all back to what it was before the recording."""
        known = _names(self.entries)
        for state, name, _ in _entries(self.optimizer):
            if (id(state), name) not in known:
                del state[name]
        for of, key, value in (*self.entries, *self.before):
            of[key] = value

    def check(self) -> None:
        """Whether the optimizer is as it was recorded.

        Raises:
            ProgramError: its options are others, or its state was replaced.
        """
        if _options(self.optimizer) != self.options:
            raise ProgramError(
                f"{self.where}: options of {self.kind}, such as its learning rate, have changed "
                "since the function was traced, and are part of the program; trace it again")
        if _state(self.optimizer) != self.state:
            raise ProgramError(f"{self.where}: the state of {self.kind} was replaced since the "
                               "function was traced; trace it again")

    def count(self) -> None:
        """Count the steps of a run."""
        for (of, key, _), more in zip(self.before, self.grown, strict=True):
            of[key] += more


def _options(optimizer: Any) -> list[Any]:
    """The options of all groups as comparable values, tensors by identity."""
    return [sorted((name, _comparable(value)) for name, value in group.items())
            for group in optimizer.param_groups]


def _comparable(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"{type(value).__name__}{[_comparable(each) for each in value]}"
    return f"tensor {id(value)}" if bridge.is_tensor(value) else repr(value)


def _entries(optimizer: Any) -> list[tuple[dict[Any, Any], Any, Any]]:
    """All that an optimizer's state holds: where it stands, and what it is."""
    return [(state, name, value)
            for group in optimizer.param_groups for param in group["params"]
            for state in (optimizer.state.get(param, {}),) for name, value in state.items()]


def _names(entries: list[tuple[dict[Any, Any], Any, Any]]) -> list[tuple[int, Any]]:
    """Where they stand."""
    return [(id(state), name) for state, name, _ in entries]


def _counts(optimizer: Any) -> list[tuple[dict[Any, Any], Any, Any]]:
    """The numbers that a step may change."""
    numbers = [entry for entry in _entries(optimizer) if type(entry[2]) in _COUNTED]
    steps = optimizer.__dict__
    return [*numbers, (steps, "_step_count", steps.get("_step_count", 0))]


def _state(optimizer: Any) -> list[tuple[int, Any, int]]:
    """Which tensors it works on."""
    return [(id(state), name, id(value)) for state, name, value in _entries(optimizer)
            if bridge.is_tensor(value)]
