"""Compiled functions skip Python by themselves, and nobody can tell: whatever changes is seen.

Worlds are changed in random orders between calls, the same changes in two of them, of which one is
compiled; fails by seed.
"""

from __future__ import annotations

import random

import pytest
from surroundings import AROUND, ran, replayer
from worlds import CHANGES, World

import flambeau
from flambeau.jit.replay import automatic


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("name", ["predict", "learn", "net"])
@pytest.mark.parametrize("seed", range(6))
def test_random_changes(name, seed):
    drawn = random.Random(seed)
    plain, other = World(seed), World(seed)
    compiled = flambeau.compile(other.functions[name])
    replays = 0
    for step in range(40):
        change = drawn.choice([*CHANGES, "none"])
        around = drawn.choice(["nothing", "nothing", *AROUND])
        around = "nothing" if name == "net" and around == "a call" else around  # it is one more
        x = flambeau.randn(drawn.choice([3, 3, 5]), 4)
        for world in (plain, other) if change != "none" else ():
            CHANGES[change](world)
        for world in (plain, other) if drawn.random() < 0.5 else ():    # or little is replayed
            CHANGES["no hooks"](world)
            CHANGES["forward again"](world)
        for _ in range(4):
            wanted = ran(plain, plain.functions[name], AROUND[around], x.clone())
            found = ran(other, compiled, AROUND[around], x.clone())
            assert wanted == found, f"seed {seed}, step {step}: {change} within {around}"
        if replayer(compiled) is not None:
            replays += replayer(compiled).earned()
            replayer(compiled).budget = automatic.MOST_BUDGET
    assert replays > 5


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["predict", "learn"])
def test_each_change(name, change):
    plain, other = World(1), World(1)
    compiled = flambeau.compile(other.functions[name])
    x = flambeau.randn(3, 4)
    for k in range(8):
        for world in (plain, other) if k == 4 else ():
            CHANGES[change](world)
        wanted = ran(plain, plain.functions[name], AROUND["nothing"], x)
        assert wanted == ran(other, compiled, AROUND["nothing"], x), k
        if k == 3:
            assert replayer(compiled).earned() >= 1, compiled.explain()


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("around", AROUND)
def test_each_surrounding(around):
    plain, other = World(2), World(2)
    compiled = flambeau.compile(other.functions["predict"])
    x = flambeau.randn(3, 4)
    for k in range(12):
        inside = AROUND[around if k % 6 > 2 else "nothing"]
        assert ran(plain, plain.functions["predict"], inside, x) \
            == ran(other, compiled, inside, x), k
