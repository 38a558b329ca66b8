"""Random programs that are called again and again over one world, replayed and as they are.

Fails by seed; ``print(Program(seed, table=QUIET).source())`` shows the program.
"""

from __future__ import annotations

import linecache
import os

import pytest
from random_programs import LINES, Program, differences, run, snapshot, world

import flambeau
from flambeau.jit.replay import automatic

COUNT = int(os.environ.get("RANDOM_PROGRAMS", "800")) // 8
FIRST = int(os.environ.get("FIRST_PROGRAM", "0"))
BATCH = -(-COUNT // 5)
#: Lines that may be replayed, most of them; a program with any other line hardly ever is.
QUIET = {kind: LINES[kind] for kind in ("pointwise", "reduce", "movement", "product", "view",
                                        "in place", "random", "dtype")}
QUIET["autograd"] = (2, (
    "(A * w.leaf).sum().backward()", "F.mse_loss(w.model(w.x), w.x[:, :2]).backward()",
    "w.optimizer.step()", "w.optimizer.zero_grad()", "N = w.model(w.x).detach()",
    "with flambeau.no_grad():\n    N = w.leaf * 2", "w.leaf.grad = None",
    "with flambeau.no_grad():\n    w.leaf.sub_(0.1)"))
QUIET["state"] = (1, ("N = A * w.p", "N = A[:w.count + 1]", "N = A + w.list[0] if w.list else A",
                      "for k in range(2):\n    A[k] = k", "N = sum(A.unbind(0))"))


def told(program: Program, number: int):
    """The function, with its source where everybody finds it."""
    name = f"<replayed program {number}>"
    text = program.source()
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    names = program.function().__globals__ | {"__name__": "programs"}
    exec(compile(text, name, "exec", dont_inherit=True), names)
    return names["program"]


def disturb(w, k: int) -> None:
    """What happens between calls, the same in both worlds."""
    if k == 3:
        w.p = 0.75
    elif k == 4:
        w.x.data = w.x.data * 0.5
    elif k == 5:
        w.count = 1
    elif k == 6:
        w.model.eval()
    elif k == 7:
        w.y = w.y.clone()
        w.list.append(w.y)
    elif k == 8:
        w.leaf.grad = flambeau.ones_like(w.leaf)


def go_back(ran) -> None:
    """A backward pass outside, through what a program returned."""
    wanted = [t for t in ran["results"].values()
              if isinstance(t, flambeau.Tensor) and t.requires_grad and t.numel()]
    try:
        if wanted:
            sum(t.abs().sum().double() for t in wanted).backward()
    except RuntimeError as error:
        ran["notes"].append(type(error).__name__)
    ran["world"].optimizer.zero_grad()


def by_itself(function):
    """Compiled without asking for replays, which come at once where they are proved."""
    compiled = flambeau.compile(function)
    compiled.start_replaying()
    return compiled.replayer


def asked(function):
    """With ``replay=True``."""
    return flambeau.compile(function, replay=True, check_every=6)


WAYS = {"asked": asked, "by itself": by_itself}


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """What replays by itself records the first call, and keeps replays whatever time they take."""
    for name, value in (("CALLS_BEFORE", 1), ("TRIALS", 0), ("MOST_TRIALS", 0),
                        ("MOST_OF_TIME", float("inf")), ("MOST_DOUBLINGS", 0)):
        monkeypatch.setattr(automatic, name, value)
    monkeypatch.setattr(automatic, "_kind", lambda args, kwargs: ("a world",))


def one_program(seed: int, table, way: str) -> int:
    """How many calls of a program were replayed."""
    program = Program(seed, lines=8, table=table)
    function = told(program, seed)
    replayed = WAYS[way](function)
    plain_world, other_world = world(seed, 3), world(seed, 3)
    states = [flambeau.get_rng_state()] * 2
    for k in range(11):
        shots = []
        for n, (fn, w) in enumerate(((function, plain_world), (replayed, other_world))):
            flambeau.set_rng_state(states[n])
            disturb(w, k)
            shots.append(snapshot(ran := run(fn, w)))
            if seed % 2:
                go_back(ran)
                shots[-1]["after"] = snapshot(ran)
            states[n] = flambeau.get_rng_state()
        assert not differences(*shots), (
            f"seed {seed}, call {k}: {differences(*shots)}\n{program.source()}\n"
            f"{replayed.explain()}")
    return int(replayed.earned())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, BATCH))
def test_quiet_programs(first, way):
    last = min(first + BATCH, FIRST + COUNT)
    replays = sum(one_program(seed, QUIET, way) for seed in range(first, last))
    assert replays, "nothing was replayed"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, BATCH))
def test_all_programs(first, way):
    for seed in range(first, min(first + BATCH, FIRST + COUNT)):
        one_program(seed, LINES, way)
