"""Replays read weights packed, with the bits of uncompiled calls, and see all writes to them.

Weights are written to in random orders and ways between calls; fails by seed.
"""

from __future__ import annotations

import gc
import random
import threading

import pytest
from random_programs import describe

import flambeau
import flambeau.nn.functional as F
from flambeau import nn
from flambeau.core import _core

NAN, INF = float("nan"), float("inf")
#: Calls until a weight is packed, and one that reads it.
CALLS = 8


def replayed(fn):
    return flambeau.compile(fn, replay=True)


@pytest.fixture(autouse=True)
def nothing_is_kept():
    """By programs of other tests."""
    flambeau.compiler.reset()
    gc.collect()
    assert _core.packed_weight_bytes() == 0
    yield
    flambeau.compiler.reset()


def layers(weight, bias):
    return lambda x: F.linear(x, weight, bias), lambda x: F.linear(x, weight).relu()


@pytest.mark.parametrize("rows", [0, 1, 2, 5, 13, 16, 17, 29, 40, 300])
@pytest.mark.parametrize("features", [(64, 64), (65, 37), (7, 100), (130, 257), (1, 1), (600, 3)])
def test_same_bits(rows, features):
    flambeau.manual_seed(rows)
    inside, outside = features
    wide = flambeau.randn(outside + 3, inside)
    wide[1, 0] = random.Random(rows).choice([NAN, INF, 0.0])
    weights = {
        "plain": wide[:outside].clone(), "a part": wide[2 : outside + 2], "turned":
        flambeau.randn(inside, outside).t(), "apart": flambeau.randn(outside, inside * 2)[:, ::2],
        "double": flambeau.randn(outside, inside, dtype=flambeau.float64),
    }
    for name, weight in weights.items():
        for fn in layers(weight, flambeau.randn(outside, dtype=weight.dtype)):
            compiled = replayed(fn)
            for _ in range(CALLS):
                x = flambeau.randn(2, rows, inside, dtype=weight.dtype)[rows % 2]
                assert describe(compiled(x)) == describe(fn(x)), name


IMAGES = [(1, 8, 8), (4, 4, 4), (2, 13, 7), (1, 30, 30), (3, 3, 3), (1, 5, 40), (0, 8, 8)]


def convolution(weight, bias=None, **options):
    return lambda x: F.conv2d(x, weight, bias, **options)


@pytest.mark.parametrize("images, height, width", IMAGES)
@pytest.mark.parametrize("inside, outside", [(16, 16), (64, 40), (130, 33), (16, 200), (5, 16)])
def test_same_bits_of_windows(images, height, width, inside, outside):
    flambeau.manual_seed(inside)
    weight, bias = flambeau.randn(outside, inside, 3, 3), flambeau.randn(outside)
    uneven = flambeau.randn(images, inside, height, width)
    uneven[:1, :1, :1, :1] = 1e30
    broken = weight.clone()
    broken[1, 0, 0] = INF
    turned = flambeau.randn(inside, outside, 3, 3).transpose(0, 1)
    functions = [convolution(each, bias, padding=1) for each in (weight, broken, turned)]
    functions += [convolution(weight[2:]), convolution(weight, padding=(0, 2)),
                  convolution(weight, padding=1, stride=2)]
    for fn in functions:
        compiled = replayed(fn)
        for k in range(CALLS):
            x = uneven if k % 3 == 2 else flambeau.randn(images, inside, height, width)
            assert describe(compiled(x)) == describe(fn(x))


def test_windows_are_packed_until_somebody_writes():
    weight, x = flambeau.randn(64, 64, 3, 3), flambeau.randn(2, 64, 6, 6)
    fn = convolution(weight, padding=1)
    compiled = replayed(fn)
    writes = {"none": lambda: None, "all": lambda: weight.add_(1),
              "some": lambda: weight[3].zero_(), "random": lambda: weight.uniform_(),
              "uncounted": lambda: weight.data.mul_(2)}
    for name, write in writes.items():
        for _ in range(3):
            write()
            for _ in range(CALLS):
                assert describe(compiled(x)) == describe(fn(x)), name
        assert (_core.packed_weight_bytes() > 0) == (name != "uncounted")


class World:
    """A layer, and what writes to its weight."""

    def __init__(self, seed):
        flambeau.manual_seed(seed)
        self.layer = nn.Linear(48, 40)
        self.weight = self.layer.weight
        self.other = nn.Linear(48, 40).state_dict()
        self.optimizer = flambeau.optim.AdamW(self.layer.parameters(), lr=0.1)
        self.double = flambeau.compile(lambda: self.weight.detach().mul_(1.5), replay=True)
        self.add = flambeau.compile(lambda: self.weight.detach().add_(0.25), replay=False)

    def predict(self, x):
        return self.layer(x)

    def large(self, x):
        """Two products, between which nothing looks at the weight."""
        return self.layer(x) + F.linear(x + 1, self.weight)


def _step(world):
    world.layer(flambeau.ones(2, 48)).sum().backward()
    world.optimizer.step()
    world.optimizer.zero_grad()


def _replace_data(world):
    world.weight.data = world.weight.detach() * 0.5


def _exchange(world):
    world.layer.weight = world.weight = nn.Parameter(world.weight.detach() + 1)
    world.optimizer.param_groups[0]["params"][0] = world.weight


def _learn_replayed(world):
    def learn(x):
        world.optimizer.zero_grad()
        world.layer(x).sum().backward()
        world.optimizer.step()

    compiled = replayed(learn)
    for _ in range(5):
        compiled(flambeau.ones(2, 48))


WRITES = {
    "in place": lambda w: w.weight.detach().add_(1),
    "a view": lambda w: w.weight.detach()[3:9].mul_(-2),
    "one element": lambda w: w.weight.detach()[0].fill_(NAN),
    "no NaN": lambda w: w.weight.detach().nan_to_num_(0.5),
    "an item": lambda w: w.weight.detach().__setitem__((2, 3), 7.0),
    "copied": lambda w: w.layer.load_state_dict(w.other),
    "data": lambda w: w.weight.data.add_(0.5),
    "an array": lambda w: w.weight.detach().numpy().__setitem__((1, 1), 5.0),
    "a step": _step,
    "steps that are replayed": _learn_replayed,
    "data replaced": _replace_data,
    "replaced": _exchange,
    "random": lambda w: w.weight.detach().uniform_(),
    "replayed": lambda w: [w.double() for _ in range(4)],
    "compiled": lambda w: w.add(),
    "given as out": lambda w: flambeau.mul(w.weight.detach(), 2, out=w.weight.detach()),
    "scattered": lambda w: w.weight.detach().index_fill_(0, flambeau.tensor([4]), 3.0),
    "nothing": lambda w: None,
}


@pytest.mark.parametrize("name", ["predict", "large"])
@pytest.mark.parametrize("seed", range(8))
def test_random_writes(name, seed):
    drawn = random.Random(seed)
    plain, other = World(seed), World(seed)
    compiled = replayed(getattr(other, name))
    writes = [each for each in WRITES if each not in ("data", "an array") or seed % 2]
    most = 0
    for step in range(30):
        write = drawn.choice(writes)
        for world in (plain, other):
            flambeau.manual_seed(step)
            WRITES[write](world)
        x = flambeau.randn(drawn.choice([3, 17, 17, 33]), 48)
        for _ in range(drawn.choice([1, 2, CALLS])):
            with flambeau.no_grad():
                wanted = getattr(plain, name)(x)
                assert describe(compiled(x)) == describe(wanted), f"step {step}, after {write}"
        most = max(most, _core.packed_weight_bytes())
    assert most > 0 or seed % 2


@pytest.mark.parametrize("write", WRITES)
def test_each_write(write):
    plain, other = World(3), World(3)
    compiled, x = replayed(other.predict), flambeau.randn(20, 48)
    with flambeau.no_grad():
        for _ in range(CALLS):
            compiled(x)
    assert _core.packed_weight_bytes() > 0
    for _ in range(3):
        for world in (plain, other):
            flambeau.manual_seed(1)
            WRITES[write](world)
        with flambeau.no_grad():
            for _ in range(CALLS):
                assert describe(compiled(x)) == describe(plain.predict(x))


def test_programs_share_a_copy_and_let_go_of_it():
    weight = flambeau.randn(64, 64)
    first, second = (replayed(lambda x: F.linear(x, weight)),
                     replayed(lambda x: F.linear(x, weight).relu()))
    for _ in range(CALLS):
        for rows in (20, 30):
            first(flambeau.randn(rows, 64))
            second(flambeau.randn(rows, 64))
    assert _core.packed_weight_bytes() == 64 * 64 * 4
    del first
    gc.collect()
    assert _core.packed_weight_bytes() == 64 * 64 * 4
    weight.add_(1)
    second(flambeau.randn(20, 64))
    assert _core.packed_weight_bytes() == 0
    for _ in range(CALLS):
        second(flambeau.randn(20, 64))
    assert _core.packed_weight_bytes() == 64 * 64 * 4
    del second
    gc.collect()
    assert _core.packed_weight_bytes() == 0


def test_a_write_that_waits():
    """It is counted when it is called, and made when the outer compiled call ends."""
    weight, x = flambeau.ones(200, 200), flambeau.randn(30, 200)
    inner = replayed(lambda: F.linear(x, weight))
    for _ in range(CALLS):
        inner()

    def outer():
        weight.mul_(2)
        return [inner() for _ in range(CALLS)]

    found = flambeau.compile(outer)()
    wanted = F.linear(x, flambeau.full((200, 200), 2.0))
    for each in (*found, *(inner() for _ in range(CALLS))):
        assert each.tolist() == wanted.tolist()


def test_a_write_that_waits_in_another_thread():
    weight, x = flambeau.ones(200, 200), flambeau.randn(30, 200)
    inner = replayed(lambda: F.linear(x, weight))
    for _ in range(CALLS):
        inner()
    waits, go = threading.Event(), threading.Event()

    def outer():
        weight.mul_(2)
        waits.set()
        go.wait(60)

    writer = threading.Thread(target=flambeau.compile(outer))
    writer.start()
    waits.wait(60)
    wanted = F.linear(x, flambeau.full((200, 200), 2.0))
    found = [inner() for _ in range(CALLS)]
    go.set()
    writer.join()
    for each in (*found, *(inner() for _ in range(CALLS))):
        assert each.tolist() == wanted.tolist()


def test_training_packs_nothing():
    world = World(0)
    for _ in range(4):
        _learn_replayed(world)
    assert _core.packed_weight_bytes() == 0
