"""Timing of statements, and tables of the results.

Example:
    >>> from flambeau.utils.benchmark import Timer
    >>> timer = Timer("x + 1", globals={"x": 1}, label="addition")
    >>> timer.timeit(100).number_per_run
    100
"""
from __future__ import annotations

from flambeau.utils.benchmark.compare import Compare
from flambeau.utils.benchmark.measurement import (
    Measurement,
    TaskSpec,
    ordered_unique,
    select_unit,
    trim_sigfig,
    unit_to_english,
)
from flambeau.utils.benchmark.timer import Language, Timer, set_torch_threads, timer

__all__ = ["Compare", "Language", "Measurement", "TaskSpec", "Timer", "ordered_unique",
           "select_unit", "set_torch_threads", "timer", "trim_sigfig", "unit_to_english"]
