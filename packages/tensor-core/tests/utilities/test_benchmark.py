"""Timing statements, and tables of the results."""

from __future__ import annotations

import copy
import pickle

import pytest

import flambeau
from flambeau.utils.benchmark import (
    Compare,
    Measurement,
    TaskSpec,
    Timer,
    select_unit,
    trim_sigfig,
    unit_to_english,
)


class Clock:
    """A clock that goes on by what its statements say."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def pass_by(self, seconds):
        self.now += seconds


@pytest.fixture
def clock():
    return Clock()


def timed(clock, seconds, **words):
    return Timer(f"pass_by({seconds})", timer=clock, globals={"pass_by": clock.pass_by}, **words)


def test_one_time(clock):
    found = timed(clock, 0.25).timeit(8)
    assert (found.number_per_run, found.raw_times, found.times) == (8, [2.0], [0.25])
    assert (found.mean, found.median, found.iqr) == (0.25, 0.25, 0)
    assert "250.00 ms" in repr(found) and "1 measurement, 8 runs, 1 thread" in repr(found)


def test_blocks_fill_the_time(clock):
    seen = []
    found = timed(clock, 3e-6).blocked_autorange(lambda n, t: seen.append((n, t)), 0.1)
    assert found.number_per_run * 3e-6 >= 1e-4 and len(seen) == len(found.raw_times)
    assert 0.1 <= sum(found.raw_times) < 0.2
    assert found.median == pytest.approx(3e-6)


def test_steady_times_end_early_and_others_at_the_limit(clock):
    steady = timed(clock, 1e-3).adaptive_autorange(min_run_time=0.01, max_run_time=5.0)
    assert sum(steady.raw_times) < 0.1 and steady.meets_confidence()
    steps = iter(range(1_000_000))
    wild = Timer("pass_by(1e-3 if next(steps) % 2 else 1e-1)", timer=clock,
                 globals={"pass_by": clock.pass_by, "steps": steps})
    found = wild.adaptive_autorange(min_run_time=0.01, max_run_time=2.0)
    assert sum(found.raw_times) >= 2.0


def test_threads_are_those_asked_for_and_come_back():
    before, seen = flambeau.get_num_threads(), []
    Timer("f()", globals={"f": lambda: seen.append(flambeau.get_num_threads())},
          num_threads=3).timeit(1)
    assert set(seen) == {3} and flambeau.get_num_threads() == before


def test_moments_and_warnings():
    spec = TaskSpec("f()", "pass")
    found = Measurement(10, [10.0, 11, 12, 13, 30], spec)
    assert (found.median, found.iqr) == (pytest.approx(1.2), pytest.approx(0.2))
    assert found.has_warnings and "Interquartile range is 16.7%" in repr(found)
    assert not Measurement(1, [1.0, 1.0, 1.0], spec).has_warnings
    joined, = Measurement.merge([Measurement(1, [1.0], spec), Measurement(10, [20.0], spec)])
    assert joined.times == [1, 2]
    assert pickle.loads(pickle.dumps(copy.deepcopy(found))).times == found.times
    with pytest.raises(ValueError, match="no times"):
        Measurement(1, [], spec).median  # noqa: B018, the question is the test


def test_units_and_digits():
    units = [select_unit(t)[0] for t in (1e-10, 2e-9, 3e-6, 0.5, 20)]
    assert units == ["ns", "ns", "us", "ms", "s"]
    assert unit_to_english("us") == "microsecond"
    assert (trim_sigfig(0.0123456, 3), trim_sigfig(99.9, 2), trim_sigfig(0, 2)) == (
        pytest.approx(0.0123), 100, 0)


def results():
    return [Measurement(1, [t * 1e-3], TaskSpec("f()", "", label=label, sub_label=size,
                                                description=name, num_threads=threads, env=env))
            for label, size, name, threads, env, t in (
                ("a", "1", "x", 1, None, 1), ("a", "1", "y", 1, None, 20),
                ("a", "100", "x", 1, None, 300), ("a", "1", "x", 2, "other", 4),
                ("b", "1", "x", 1, None, 5))]


def test_tables():
    text = str(Compare(results()))
    rows = [" ".join(line.split()) for line in text.splitlines() if "|" in line]
    assert rows == ["| x | y", "1 | 1.0 | 20.0", "100 | 300.0 |", "1 | 4.0 |", "| x", "1 | 5.0"]
    assert text.count("Times are in milliseconds (ms).") == 2
    assert "2 threads (other): ---" in text and "[-" in text.splitlines()[0]
    colored = Compare(results())
    colored.colorize()
    assert "\033[92;1m" in str(colored) and "\033[31;1m" in str(colored)
    with pytest.raises(ValueError, match="got float"):
        Compare([1.0])


def test_what_is_refused():
    for make in (lambda: Timer("x", language="c++"), lambda: Timer().repeat(),
                 lambda: Timer().autorange(), lambda: Timer().collect_callgrind()):
        with pytest.raises(NotImplementedError):
            make()
    with pytest.raises(TypeError, match=r"Timer\('f\(\)', globals"):
        Timer(print)
    with pytest.raises(ValueError, match="use setup"):
        Timer("x", global_setup="y")
