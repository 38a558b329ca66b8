"""Which calls are replayed unasked: those that gain."""

from __future__ import annotations

import pytest
from surroundings import replayer
from worlds import World

import flambeau
from flambeau.jit import compiling
from flambeau.jit.replay import automatic


def test_those_that_gain_are_replayed():
    """As calls are made, without anything set for a test."""
    world = World(0)
    world.net.eval()
    compiled, x = flambeau.compile(world.functions["predict"]), flambeau.randn(3, 4)
    for _ in range(40):
        with flambeau.no_grad():
            assert compiled(x).tolist() == world.functions["predict"](x).tolist()
    assert replayer(compiled).earned() > 10, compiled.explain()
    assert "replayed:" in compiled.explain()


def test_replay_false_never_replays():
    compiled = flambeau.compile(lambda x: x * 2 + 1, replay=False)
    for _ in range(30):
        compiled(flambeau.ones(3))
    assert compiled.replayer is None


def test_numbers_that_are_others_each_time_are_not_recorded():
    compiled, x = flambeau.compile(lambda x, k: x * k), flambeau.ones(3)
    for k in range(automatic.MOST_KINDS + 20):
        assert compiled(x, float(k)).tolist() == [float(k)] * 3
    assert compiled.replayer is None


def test_reads_that_change_each_time_are_given_up():
    state = {"k": 0.0}

    def fn(x):
        return x * state["k"]

    compiled, x = flambeau.compile(fn), flambeau.ones(3)
    for k in range(200):
        state["k"] = float(k)
        assert compiled(x).tolist() == [float(k)] * 3
    assert compiled.replayer is None


@pytest.mark.usefixtures("at_once")
def test_slower_replays_are_dropped(monkeypatch):
    monkeypatch.setattr(automatic, "MOST_OF_TIME", -1.0)
    compiled, x = flambeau.compile(lambda x: x * 2 + 1), flambeau.ones(3)
    for _ in range(20):
        assert compiled(x).tolist() == [3.0] * 3
    assert not replayer(compiled).programs


@pytest.fixture
def clock(monkeypatch):
    """Has replays and calls take as long as a test says, by the elements of their argument."""
    monkeypatch.setattr(compiling, "CALLS_BEFORE_REPLAYS", 1)
    tried, taken, now = automatic.Automatic.tried, {}, [0.0, 0.0]
    counted = []

    def note(self, program, args, kwargs):
        is_call = len(program.trial) // automatic.TURN % 2
        now[1] = taken["call" if is_call else "replay"](args[0].numel())
        counted.append(args[0].numel())
        return tried(self, program, args, kwargs)

    def read():
        now[0] += now[1]
        return now[0]

    monkeypatch.setattr(automatic.Automatic, "tried", note)
    monkeypatch.setattr(automatic, "perf_counter", read)
    taken["counted"] = counted
    return taken


def called_over(sizes, passes):
    """What makes the calls of a function that was called at all of some sizes, several times."""
    def fn(x):
        return x * 2 + 1

    compiled = flambeau.compile(fn)
    for _ in range(passes):
        for size in sizes:
            x = flambeau.randn(size)
            assert compiled(x).tolist() == fn(x).tolist()
    return replayer(compiled)


def test_some_sizes_are_tried_for_all(clock):
    clock |= {"replay": lambda n: 1.0, "call": lambda n: 2.0}
    sizes = range(10, 40)
    found = called_over(sizes, 10)
    assert len(found.programs) == len(sizes)
    assert all(program.trial is None for program in found.programs)
    assert len(clock["counted"]) < 4 * len(sizes)


@pytest.mark.parametrize("sizes", [[*range(10, 18), *range(1000, 1008)], [10, 500, 11, 510, 12]])
def test_sizes_that_differ_are_tried_by_themselves(clock, sizes):
    clock |= {"replay": lambda n: 1.0 if n < 100 else 3.0, "call": lambda n: 2.0}
    found = called_over(sizes, 60)
    replayed = {size for size in sizes
                if any(p.guards.take_again((flambeau.ones(size),), {}) for p in found.programs)}
    assert replayed == {size for size in sizes if size < 100}


def test_functions_whose_replays_are_slower_are_left_alone(clock):
    clock |= {"replay": lambda n: 3.0, "call": lambda n: 2.0}
    compiled, x = flambeau.compile(lambda x: x * 2 + 1), flambeau.ones(3)
    for _ in range(automatic.MOST_SLOWER + 100):
        assert compiled(x).tolist() == [3.0] * 3
    assert compiled.replayer is None
    assert "replays take as long as calls" in compiled.explain()


def test_a_slow_moment_decides_nothing(clock):
    calls = []
    clock |= {"replay": lambda n: 3.0 if len(calls) < 30 else 1.0, "call": lambda n: 2.0}
    compiled, x = flambeau.compile(lambda x: x * 2 + 1), flambeau.ones(3)
    for _ in range(100):
        calls.append(compiled(x))
    assert len(replayer(compiled).programs) == 1
    assert replayer(compiled).programs[0].trial is None


def test_recordings_that_are_never_replayed_are_few(monkeypatch):
    """Their guards fail at each call."""
    state, recorded, made = {"k": 0.0}, [], automatic.Automatic._make

    def make(self, *args):
        recorded.append(self)
        return made(self, *args)

    monkeypatch.setattr(automatic.Automatic, "_make", make)
    compiled, x = flambeau.compile(lambda x: x * state["k"] + 1), flambeau.ones(3)
    for k in range(40):
        state["k"] = float(k)
        assert compiled(x).tolist() == [k + 1.0] * 3
    assert 0 < len(recorded) <= 4


def test_calls_in_which_plans_are_tried_do_not_count(clock, monkeypatch):
    runs = iter(range(10**6))
    clock |= {"replay": lambda n: 1.0, "call": lambda n: 2.0}
    monkeypatch.setattr(automatic.bridge, "trial_runs", lambda: next(runs))
    compiled, x = flambeau.compile(lambda x: x * 2 + 1), flambeau.ones(3)
    for _ in range(automatic.MOST_UNSETTLED):
        compiled(x)
    assert replayer(compiled).programs[0].trial == []
    for _ in range(40):
        compiled(x)
    assert replayer(compiled).programs[0].trial is None


def test_a_family_that_is_not_clear_is_tried_one_by_one(clock):
    clock |= {"replay": lambda n: 1.9, "call": lambda n: 2.0}
    called_over(range(10, 20), 40)
    assert len(clock["counted"]) >= 10 * 2 * automatic.MOST_TRIALS
