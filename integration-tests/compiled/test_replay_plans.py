"""What the programs of replayed calls are made of: rows that run together, and memory."""

from __future__ import annotations

import itertools
import random

import pytest

import flambeau
import flambeau.nn.functional as F
from flambeau import nn, optim
from flambeau.core import memory_stats, reset_peak_memory_stats
from flambeau.jit.replay import plan
from flambeau.jit.replay.call import Replayed

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
    made = plan.with_borrowed(steps, [{0}, {0, 1}, {1, 2}], {0, 1})
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


@pytest.mark.parametrize("seed", range(60))
def test_memories_in_use_at_once_lie_apart(seed):
    drawn = random.Random(seed)
    count = drawn.randint(1, 40)
    uses, sizes = [set() for _ in range(count)], {}
    for memory in range(drawn.randint(0, 40)):
        first = drawn.randrange(count)
        uses[first].add(memory)
        uses[drawn.randrange(first, min(first + 6, count))].add(memory)
        if drawn.random() < 0.9:
            sizes[memory] = drawn.choice([0, 1, 64, 100, 4096, drawn.randint(0, 9000)])
    offsets, total = plan.lay_out(uses, sizes)
    begin, end = plan.lifetimes(uses)
    assert offsets.keys() == sizes.keys()
    ends = {memory: offset + max(sizes[memory], 1) for memory, offset in offsets.items()}
    assert all(offset % 64 == 0 for offset in offsets.values())
    assert all(stop <= total for stop in ends.values())
    for a, b in itertools.combinations(offsets, 2):
        if begin[a] <= end[b] and begin[b] <= end[a]:
            assert ends[a] <= offsets[b] or ends[b] <= offsets[a]


def test_memory_is_used_again():
    """A chain of steps needs room for two results, however long it is."""
    uses = [{k, k + 1} for k in range(1000)]
    assert plan.lay_out(uses, dict.fromkeys(range(1001), 100))[1] == 2 * 128
