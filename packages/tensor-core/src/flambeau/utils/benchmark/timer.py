"""Timing statements: many executions at a time, with a number of threads of their own."""
from __future__ import annotations

import enum
import sys
import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, NoReturn

import flambeau
from flambeau.utils.benchmark.measurement import Measurement, TaskSpec

_ROUNDS_BEFORE = 2
_LEAST_BLOCK = 1e-4         # seconds that a block lasts, so that the clock hardly counts


class Language(enum.Enum):
    """What statements are written in."""

    PYTHON = 0
    CPP = 1


def timer() -> float:
    """Seconds of a clock, after the accelerator, if it was used, is done."""
    accelerator = flambeau.accelerator.current_accelerator()
    if accelerator is not None and flambeau.accelerator.is_available():
        flambeau.accelerator.synchronize()
    return perf_counter()


@contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Let operators use ``n`` threads for a block."""
    before = flambeau.get_num_threads()
    try:
        flambeau.set_num_threads(n)
        yield
    finally:
        flambeau.set_num_threads(before)


class Timer:
    """Times a statement.

    It runs with one thread unless told otherwise, and is executed a few times before it counts.

    Args:
        stmt: The statement.
        setup: What runs before it, and does not count.
        global_setup: For statements in C++, which are not timed here.
        timer: The clock.
        globals: Names that the statement knows.
        label: The name of the table of ``Compare``.
        sub_label: The name of the row.
        description: The name of the column.
        env: Tells runs in different environments apart.
        num_threads: How many threads operators may use.
        language: ``"py"``.

    Example:
        >>> import flambeau
        >>> from flambeau.utils.benchmark import Timer
        >>> timer = Timer("x @ x", globals={"x": flambeau.ones(8, 8)}, sub_label="8 x 8")
        >>> timer.blocked_autorange(min_run_time=0.01).median > 0
        True
    """

    _timer_cls: type[timeit.Timer] = timeit.Timer

    def __init__(self, stmt: str = "pass", setup: str = "pass", global_setup: str = "",
                 timer: Callable[[], float] = timer, globals: dict[str, Any] | None = None,
                 label: str | None = None, sub_label: str | None = None,
                 description: str | None = None, env: str | None = None, num_threads: int = 1,
                 language: Language | str = Language.PYTHON) -> None:
        if language not in (Language.PYTHON, "py", "python"):
            raise NotImplementedError("Timer(): statements in C++ are not timed here; write the "
                                      "statement in Python")
        if not isinstance(stmt, str) or not isinstance(setup, str):
            raise TypeError("Timer(): stmt and setup are texts; for a function write "
                            "Timer('f()', globals={'f': f})")
        if global_setup:
            raise ValueError("Timer(): global_setup is for statements in C++; use setup")
        self._globals = dict(globals or {})
        self._globals.setdefault("flambeau", flambeau)
        if sys.modules.get("torch") is flambeau:    # statements of PyTorch's know this name
            self._globals.setdefault("torch", flambeau)
        self._timer = self._timer_cls(_dedented(stmt), _dedented(setup), timer, self._globals)
        self._task_spec = TaskSpec(_dedented(stmt), _dedented(setup), "", label, sub_label,
                                   description, env, num_threads)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """Execute the statement ``number`` times, and time them together."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timer.timeit(number=max(number // 100, _ROUNDS_BEFORE))
            return Measurement(number, [self._timer.timeit(number=number)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> NoReturn:
        """Not made, as in PyTorch: ``blocked_autorange`` tells more."""
        raise NotImplementedError("Timer.repeat(): use Timer.blocked_autorange()")

    def autorange(self, callback: Callable[[int, float], None] | None = None) -> NoReturn:
        """Not made, as in PyTorch: ``blocked_autorange`` tells more."""
        raise NotImplementedError("Timer.autorange(): use Timer.blocked_autorange()")

    def blocked_autorange(self, callback: Callable[[int, float], NoReturn] | None = None,
                          min_run_time: float = 0.2) -> Measurement:
        """Time blocks of executions for at least so many seconds in all.

        A block lasts at least 0.1 ms, and a thousandth of the time at most where it can.

        Args:
            callback: Called with the number of executions and the seconds of each block.
            min_run_time: Seconds.
        """
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(min_run_time)
            times = self._blocks(number, min_run_time, callback)
        return Measurement(number, times, self._task_spec)

    def adaptive_autorange(self, threshold: float = 0.1, *, min_run_time: float = 0.01,
                           max_run_time: float = 10.0,
                           callback: Callable[[int, float], NoReturn] | None = None) -> Measurement:
        """Time blocks until the quartiles are near each other, or the time is over.

        Args:
            threshold: The share of the median that they may be apart.
            min_run_time: Seconds, at least.
            max_run_time: Seconds, at most.
            callback: As in ``blocked_autorange``.
        """
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(min_run_time)
            times: list[float] = []
            while sum(times) < max_run_time:
                times += self._blocks(number, min_run_time, callback)
                found = Measurement(number, times, self._task_spec)
                if found.meets_confidence(threshold):
                    break
        return Measurement(number, times, self._task_spec)

    def collect_callgrind(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not made: count instructions with ``valgrind --tool=callgrind python script.py``."""
        raise NotImplementedError("Timer.collect_callgrind(): run the script under "
                                  "valgrind --tool=callgrind instead")

    def _block_size(self, min_run_time: float) -> int:
        """How many executions last a thousandth of the time, and are not lost in the clock."""
        self._timer.timeit(number=_ROUNDS_BEFORE)
        number = 1
        while True:
            seconds = self._timer.timeit(number=number)
            if seconds >= max(_LEAST_BLOCK, min_run_time / 1000):
                return number
            number *= 10 if seconds < _LEAST_BLOCK / 10 else 2

    def _blocks(self, number: int, seconds: float,
                callback: Callable[[int, float], Any] | None) -> list[float]:
        times: list[float] = []
        while sum(times) < seconds or not times:
            times.append(self._timer.timeit(number=number))
            if callback is not None:
                callback(number, times[-1])
        return times


def _dedented(text: str) -> str:
    import textwrap

    return textwrap.dedent(text).strip()
