"""Writes to objects of outside that replays may not follow: what is there is what Python writes."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque

import pytest
from kept import flat
from training import check_program, network, rows

import flambeau
from flambeau import nn


def in_a_kernel(compiled):
    held = {"n": 1, "scale": 0.5}

    def step(x):
        held["n"] += 1
        held["scale"] *= 0.9
        return x * held["scale"] + held["n"]

    run = compiled(step)
    return lambda k: run(rows(k)), lambda: flat(held)


def as_an_index(compiled):
    held, queue = {"at": 0}, flambeau.zeros(8, 6)

    def step(x):
        queue[held["at"]:held["at"] + 4] = x
        held["at"] = (held["at"] + 4) % 8
        return queue * 1

    run = compiled(step)
    return lambda k: run(rows(k)), lambda: flat(held)


def read_whole(compiled):
    held = {"n": 0}

    def step(x):
        held["n"] += 1
        return [x * v for v in held.values()]

    run = compiled(step)
    return lambda k: run(rows(k)), lambda: flat(held)


def read_whole_before(compiled):
    held = {"n": 0, "m": 5}

    def step(x):
        total = sum(held.values())
        held["n"] = 7 - held["n"]
        return x * total

    run = compiled(step)
    return lambda k: run(rows(k)), lambda: flat(held)


def list_is_read(compiled):
    log = []

    def step(x):
        log.append(1.0)
        return x * len(log)

    run = compiled(step)
    return lambda k: run(rows(k)), lambda: flat(log)


def list_was_read(compiled):
    log = []

    def step(x):
        count = len(log)
        log.append(1.0)
        return x * count

    run = compiled(step)
    return lambda k: run(rows(k)), lambda: flat(log)


def an_argument(compiled):
    """The next call's dict may be another one with the same contents."""
    made = [{"n": 0} for _ in range(4)]

    def step(x, held):
        held["n"] = 5
        return x * 2

    run = compiled(step)

    def call(k):
        made[k % 4]["n"] = 0
        return run(rows(k), made[k % 4])

    return call, lambda: flat(made)


def an_argument_before(compiled):
    """It is the caller's, who has changed it since."""
    one, other = {"n": 5}, {"n": 5}

    def step(x, held):
        held["n"] = 5
        return x * 2

    run = compiled(step)

    def call(k):
        if k == 5:
            one["n"] = 9
        return run(rows(k), one if k < 5 else other)

    return call, lambda: flat([one, other])


def a_list_that_is_an_argument(compiled):
    made = [[] for _ in range(12)]

    def step(x, log):
        log.append(1.0)
        return x * 2

    run = compiled(step)
    return lambda k: run(rows(k), made[k]), lambda: flat(made)


def of_a_tensor_that_decides(compiled):
    held = {"total": 0.0}

    def step(x):
        held["total"] += x.sum().item()
        return x * 2 if held["total"] > 3 else x

    run = compiled(step)
    return lambda k: run(rows(k) * (-1) ** k), lambda: flat(held)


def of_changing_kinds(compiled):
    held = {"n": 0}

    def step(x):
        held["n"] += 1
        return x * 2

    run = compiled(step)

    def call(k):
        if k == 6:
            held["n"] = 0.5
        if k == 9:
            held["n"] = True
        return run(rows(k))

    return call, lambda: flat(held)


def tensors_with_a_history(compiled):
    net, held = network(), {}

    def step(x):
        held["y"] = net(x)
        return held["y"] * 2

    run = compiled(step)
    return lambda k: run(rows(k)), lambda: flat(held)


def a_buffer(compiled):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", flambeau.zeros(6))

        def forward(self, x):
            self.mean = self.mean * 0.9 + x.mean(0) * 0.1
            return x - self.mean

    net = Net()
    run = compiled(net)
    return lambda k: run(rows(k)), lambda: flat([net.mean, net.state_dict()["mean"]])


def removed_in_between(compiled):
    held = {"n": 0}

    def step(x):
        held["n"] = held.get("n", 10) + 1
        held["new"] = 1
        return x * 2

    run = compiled(step)

    def call(k):
        if k in (5, 8):
            held.clear()
        return run(rows(k))

    return call, lambda: [*held, *flat(held)]


def a_default(compiled):
    held, ordered = defaultdict(int), OrderedDict()

    def step(x):
        held["n"] += 1
        ordered["a"] = 1
        return x * 2

    def call(k):
        if k == 6:
            ordered.clear()
            ordered["b"] = 2
        return run(rows(k))

    run = compiled(step)
    return call, lambda: [*flat(held), *ordered]


def by_number(compiled):
    """Integers that are equal are one object, but only one of them is a counter."""
    held = {"n": 0}

    def step(x):
        one = 1
        held["n"] += one
        two = held["n"]
        return x * one, two is held["n"], two == 3, [one, two].index(two)

    run = compiled(step)
    return lambda k: run(rows(k)), lambda: flat(held)


def a_window(compiled):
    window = deque(maxlen=3)

    def step(x):
        window.append(x.sum().item())
        return x * 2

    run = compiled(step)
    return lambda k: run(rows(k)), lambda: flat(list(window))


@pytest.mark.parametrize("make", [
    in_a_kernel, as_an_index, read_whole, read_whole_before, list_is_read, list_was_read,
    an_argument, an_argument_before, a_list_that_is_an_argument, of_a_tensor_that_decides,
    of_changing_kinds,
    tensors_with_a_history, a_buffer, removed_in_between, a_default, by_number, a_window],
    ids=lambda make: make.__name__)
def test_whatever_is_written_is_what_python_writes(make):
    check_program(make, least=0)
