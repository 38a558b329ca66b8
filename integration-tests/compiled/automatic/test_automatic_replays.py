"""Which calls are replayed unasked: those that gain."""

from __future__ import annotations

import pytest
from surroundings import replayer
from worlds import World

import flambeau
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
