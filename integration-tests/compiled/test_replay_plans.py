"""What the programs of replayed calls are made of: rows that run together, and memory."""

from __future__ import annotations

import pytest

import flambeau
import flambeau.nn.functional as F
from flambeau import nn, optim
from flambeau.core import memory_stats, reset_peak_memory_stats
from flambeau.jit.replay.call import Replayed
from flambeau.jit.replay.plan import with_borrowed

ROWS, WIDTH = 96, 512
CHAINS = {
    "norm": lambda x, y: F.gelu(F.layer_norm(x + y, (WIDTH,))) * 2,
    "softmax": lambda x, y: (x * 0.125 + y).softmax(-1) - y,
    "kept": lambda x, y: ((s := x + y), s.softmax(-1), s.sum(-1, keepdim=True) * x),
    "in place": lambda x, y: (x * y).add_(1).softmax(-1).mul_(y),
    "several": lambda x, y: (x.softmax(-1) @ y.t()).relu().log_softmax(-1) + 1,
    "views": lambda x, y: F.layer_norm((x * y)[8:], (WIDTH,)) + x[:-8],
    "casts": lambda x, y: (x.double() * y).softmax(-1).float() + x,
    "small beside large": lambda x, y: x * (x[:2] + 1).softmax(-1).sum() + y.sum(-1, keepdim=True),
}


def bits(value):
    return [each.tolist() for each in value] if isinstance(value, tuple) else value.tolist()


@pytest.mark.parametrize("name", CHAINS)
def test_rows_that_run_together(name):
    flambeau.manual_seed(0)
    fn = CHAINS[name]
    replayed = Replayed(fn, 0)
    for k in range(5):
        x, y = flambeau.randn(ROWS, WIDTH), flambeau.randn(ROWS, WIDTH)
        if k == 3:
            x[3, 7], y[5] = float("nan"), float("-inf")
        assert repr(bits(replayed(x, y))) == repr(bits(fn(x, y)))
    assert replayed.earned() == 3, replayed.explain()


REDUCTIONS = {
    "columns": lambda x, y: (x * y).tanh().sum(0),
    "columns, and what they are of": lambda x, y: ((s := (x * y).exp()), s.sum(0), s + 1),
    "all": lambda x, y: (x - y).square().mean(),
    "both": lambda x, y: ((s := (x - y).square()).sum(0), s.sum(), (x * 2).amax()),
    "softmax": lambda x, y: ((s := (x * y).softmax(-1)).sum(0), s.sum(), s),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_that_run_with_what_they_reduce(name):
    flambeau.manual_seed(0)
    fn = REDUCTIONS[name]
    replayed = Replayed(fn, 0)
    for k in range(5):
        x, y = flambeau.randn(4096, 256), flambeau.randn(4096, 256)
        if k == 3:
            x[3, 7], y[5] = float("nan"), float("-inf")
        wanted, found = ([each] if isinstance(each, flambeau.Tensor) else each
                         for each in (fn(x, y), replayed(x, y)))
        for one, other in zip(wanted, found, strict=True):
            assert flambeau.equal(one.nan_to_num(7.5), other.nan_to_num(7.5))
    assert replayed.earned() == 3, replayed.explain()


def test_rows_share_blocks():
    replayed = Replayed(CHAINS["norm"], 0)
    for _ in range(3):
        replayed(flambeau.randn(ROWS, WIDTH), flambeau.randn(ROWS, WIDTH))
    assert f"{ROWS} rows" in replayed.explain()


def test_memory_is_borrowed_for_as_long_as_it_is_needed():
    steps = [("run", 0), ("run", 1), ("run", 2)]
    made = with_borrowed(steps, [{0}, {0, 1}, {1, 2}], {0, 1})
    assert made == [("make", 0), ("run", 0), ("make", 1), ("run", 1), ("drop", 0), ("run", 2),
                    ("drop", 1)]


def test_replays_take_no_more_memory_than_python():
    model = nn.Sequential(*[nn.Sequential(nn.Linear(256, 256), nn.Tanh()) for _ in range(6)])
    optimizer, x = optim.SGD(model.parameters()), flambeau.randn(512, 256)

    def step():
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()

    peaks, other = [], Replayed(step, 0)
    for run in (step, other):
        for _ in range(4):
            run()
        reset_peak_memory_stats()
        run()
        peaks.append((memory_stats()["peak_live_bytes"], memory_stats()["live_bytes"]))
    assert other.earned() == 3, other.explain()
    (eager, eager_after), (replayed, replayed_after) = peaks
    assert replayed <= 1.05 * eager and replayed_after <= 1.05 * eager_after
