"""What calls write to objects that were there before: replays write it as well."""

from __future__ import annotations

import pytest
from kept import flat, same
from training import check_program, network, rows, weights

import flambeau
from flambeau import nn, optim
from flambeau.jit.replay import automatic
from flambeau.nn import functional as F

TOTAL = 0


class Meter:
    """A running mean, as training loops keep it."""

    def __init__(self):
        self.total, self.count, self.last = 0.0, 0, None

    def update(self, value, count=1):
        """One more value, of so many."""
        self.total += value * count
        self.count += count
        self.last = value

    @property
    def mean(self):
        """Of all of them."""
        return self.total / max(self.count, 1)

    @property
    def start(self):
        """The number of values that are left out."""
        return self.last

    @start.setter
    def start(self, value):
        self.last = value


def on_a_module(compiled):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.calls, self.seen = network(), 0, 0

        def forward(self, x):
            self.calls += 1
            self.seen = self.seen + x.shape[0]
            return self.inner(x)

    net = Net()
    run = compiled(net)
    return lambda k: run(rows(k)), lambda: [net.calls, net.seen]


def of_values(compiled):
    meter, net = Meter(), network()

    def step(x):
        loss = net(x).square().mean()
        meter.update(loss.item(), x.shape[0])
        return loss

    run = compiled(step)
    return lambda k: run(rows(k)), lambda: flat([meter.total, meter.count, meter.last, meter.mean])


def of_integers(compiled):
    right = {"count": 0, "seen": 0}

    def step(x):
        found = (x.argmax(1) == flambeau.arange(4) % 6).sum().item()
        right["count"] += found
        right["seen"] += len(x)
        return found, found / len(x), right["count"]

    run = compiled(step)
    return lambda k: run(rows(k).roll(k)), lambda: flat(right)


def of_outer_functions(compiled):
    count, total, last = 0, 0.0, None

    def step(x):
        nonlocal count, total, last
        count, before = count + 1, count
        total += (y := x.sum() * 2).item()
        last = y

        def inner():
            nonlocal count, before
            before += 1
            count += before - before + 1
            return before

        return x * 2, inner(), before

    run = compiled(step)
    return lambda k: run(rows(k)), lambda: flat([count, total, last])


def of_the_program(compiled):
    global TOTAL
    TOTAL = 0

    def step(x):
        global TOTAL
        TOTAL += 2
        return x * 2

    run = compiled(step)
    return lambda k: run(rows(k)), lambda: [TOTAL]


def twice_a_call(compiled):
    held = {"n": 1}

    def step(x):
        before = held["n"]
        held["n"] += 1
        middle = held["n"]
        held["n"] = held["n"] * 2 - before
        return x + 1, before, middle, held["n"]

    run = compiled(step)
    return lambda k: run(rows(k)), lambda: flat(held)


def that_decide(compiled):
    net = network()
    optimizer, held = optim.SGD(net.parameters(), lr=0.1), {"step": 0}

    def step(x):
        held["step"] += 1
        loss = net(x).square().mean()
        if held["step"] % 3 == 0:
            loss = loss * 2
        if not held["step"] % 4:
            loss = loss + 1
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    run = compiled(step)
    return lambda k: run(rows(k)), lambda: [*flat(held), *weights(net)]


def kept_tensors(compiled):
    seen, net = {"last": None}, network()

    def step(x):
        hidden = net[0](x)
        seen["last"] = hidden.detach()
        seen["norm"] = hidden.detach().norm()
        return net[2](hidden.relu()).sum()

    run = compiled(step)
    return lambda k: run(rows(k)), lambda: flat(seen)


def logs(compiled):
    losses, norms, firsts = [], [], []

    def step(x):
        losses.append((x * x).sum().item())
        norms.append(x.norm())
        firsts.append("step")
        return x * 2

    run = compiled(step)
    return lambda k: run(rows(k)), lambda: flat([losses, norms, firsts])


def a_rate(compiled):
    net = network()
    optimizer = optim.SGD(net.parameters(), lr=0.1)

    def step(x, rate):
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    run = compiled(step)
    return (lambda k: run(rows(k), 0.1 if k % 8 < 4 else 0.01),
            lambda: [optimizer.param_groups[0]["lr"], *weights(net)])


def by_a_setter(compiled):
    meter = Meter()

    def step(x):
        meter.start = 3
        meter.note = "seen"
        return x * meter.start

    def call(k):
        if k % 4 == 0:
            meter.last = k
        return run(rows(k))

    run = compiled(step)
    return call, lambda: flat(vars(meter))


@pytest.mark.parametrize("make", [
    on_a_module, of_values, of_integers, of_outer_functions, of_the_program, twice_a_call,
    that_decide, kept_tensors, logs, a_rate, by_a_setter], ids=lambda make: make.__name__)
def test_replays_write_what_calls_do(make):
    check_program(make, calls=16)


def test_a_class_that_begins_to_hear_of_writes():
    """Its ``__setattr__`` is called from then on."""
    heard = []

    class Held:
        n = 0

    held = Held()

    def step(x):
        held.n = 5
        return x * 2

    run = flambeau.compile(step, replay=True)
    for k in range(8):
        if k == 5:
            Held.__setattr__ = lambda self, name, value: heard.append((name, value))
        held.__dict__["n"] = k
        assert same(flat(run(rows(k))), flat(rows(k) * 2))
    assert heard == [("n", 5)] * 3


@pytest.mark.parametrize("kind", ["number", "tensor"])
def test_an_error_leaves_what_python_does(kind):
    """The kernel that fails comes after one write, and before another."""
    held, log, ids = {"before": 0, "after": 0}, [], flambeau.tensor([0, 1])
    table = flambeau.ones(3, 4)

    def step(x, ids):
        if kind == "tensor":
            log.append(x.sum())
        else:
            held["before"] += 1
        y = F.embedding(ids, table) + x
        held["after"] += 1
        return y

    run = flambeau.compile(step, replay=True)
    for _ in range(6):
        run(flambeau.ones(4), ids)
    with pytest.raises(IndexError):
        run(flambeau.ones(4), flambeau.tensor([0, 7]))
    assert (len(log) + held["before"], held["after"]) == (7, 6)


def test_writes_that_are_seen_to_change_are_replayed_unasked(monkeypatch):
    for name, value in (("CALLS_BEFORE", 1), ("MOST_TRIALS", 0), ("TRIALS", 0),
                        ("MOST_OF_TIME", float("inf"))):
        monkeypatch.setattr(automatic, name, value)
    held = {"n": 0}

    def step(x):
        held["n"] += 1
        return x * 2 if held["n"] % 4 else x * 3

    run = flambeau.compile(step)
    for k in range(1, 41):
        assert same(flat(run(flambeau.ones(3))), flat(flambeau.full((3,), 2.0 if k % 4 else 3.0)))
        assert held["n"] == k
    assert run.replayer.earned() > 4
