"""Tensors that calls read and replace: buffers, hidden states, gradients."""

from __future__ import annotations

import pytest
from training import check_program, network, rows, weights

import flambeau
from flambeau import nn, optim
from flambeau.nn import functional as F

TARGETS = flambeau.arange(4) % 3


class Mean(nn.Module):
    """A running mean that is a new tensor at each call."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", flambeau.zeros(6))

    def forward(self, x):
        """Without the mean."""
        if self.training:
            self.mean = self.mean * 0.9 + x.mean(0) * 0.1
        return x - self.mean


def a_buffer(compiled):
    net, seen = Mean(), []
    run = compiled(net)

    def call(k):
        net.train(k % 6 < 4)
        found = run(rows(k))
        seen.append(net.mean)
        return found

    return call, lambda: [*seen, net.state_dict()["mean"].clone()]


def a_queue(compiled):
    held = {"queue": flambeau.zeros(8, 6), "count": 0}

    def step(x):
        found = x @ held["queue"].T
        held["queue"] = flambeau.cat([x, held["queue"][:-4]])
        held["count"] += 4
        return found

    run = compiled(step)
    return lambda k: run(rows(k)), lambda: [held["queue"], held["count"]]


def a_hidden_state(compiled):
    flambeau.manual_seed(0)
    cell = nn.GRU(6, 5)
    optimizer = optim.SGD(cell.parameters(), lr=0.1)
    state = flambeau.zeros(1, 1, 5)

    def step(x):
        nonlocal state
        optimizer.zero_grad()
        found, after = cell(x[:, None], state)
        loss = found.square().mean()
        loss.backward()
        optimizer.step()
        state = after.detach()
        return loss

    run = compiled(step)
    return lambda k: run(rows(k)), lambda: [state, *weights(cell)]


def added_up(compiled):
    """In every second call the gradients of the one before are added to."""
    net = network()
    optimizer, held = optim.SGD(net.parameters(), lr=0.1), {"step": 0}

    def step(x):
        loss = F.cross_entropy(net(x), TARGETS) / 2
        loss.backward()
        held["step"] += 1
        if held["step"] % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()
        return loss

    run = compiled(step)
    return lambda k: run(rows(k)), lambda: weights(net)


def added_up_forever(compiled):
    net = network()

    def step(x):
        loss = F.cross_entropy(net(x), TARGETS)
        loss.backward()
        return loss

    run = compiled(step)
    return lambda k: run(rows(k)), lambda: weights(net)


@pytest.mark.parametrize("make", [a_buffer, a_queue, a_hidden_state, added_up, added_up_forever],
                         ids=lambda make: make.__name__)
def test_calls_that_go_on_from_the_last_one_are_replayed(make):
    check_program(make, calls=16)


BEFORE = {
    "shape": lambda mean, x: flambeau.ones(1, 6),
    "dtype": lambda mean, x: mean.double(),
    "strides": lambda mean, x: flambeau.arange(12.0)[::2],
    "grad": lambda mean, x: mean.clone().requires_grad_(),
    "history": lambda mean, x: mean.clone().requires_grad_() * 2,
    "argument": lambda mean, x: x[0],
    "view": lambda mean, x: flambeau.arange(20.0)[3:9],
    "other": lambda mean, x: flambeau.full((6,), 3.0),
    "none": lambda mean, x: None,
    "number": lambda mean, x: 2.0,
    "subclass": lambda mean, x: nn.Parameter(mean.clone(), requires_grad=False),
    "expanded": lambda mean, x: flambeau.ones(1).expand(6),
}


@pytest.mark.parametrize("what", BEFORE)
def test_whatever_lies_there_before_a_call(what):
    """Somebody else has put it there, twice."""
    def make(compiled):
        held = {"mean": flambeau.zeros(6)}

        def step(x):
            mean = held["mean"]
            if mean is None:
                mean = flambeau.ones(6)
            held["mean"] = (mean * 0.5 + x.mean(0)).detach()
            return x - mean

        run = compiled(step)

        def call(k):
            x = rows(k)
            if k in (5, 6, 9):
                held["mean"] = BEFORE[what](held["mean"], x)
            return run(x)

        return call, lambda: [held["mean"]]

    check_program(make, least=0)


def test_a_tensor_that_is_also_an_argument():
    def make(compiled):
        held = {"last": rows(0)}

        def step(x):
            x.mul_(2)
            found = held["last"] + x
            held["last"] = x * 1
            return found

        run = compiled(step)
        return (lambda k: run(held["last"] if k in (4, 6, 7) else rows(k)),
                lambda: [held["last"]])

    check_program(make, least=0)


def test_two_names_of_one_tensor():
    def make(compiled):
        held = {"a": flambeau.zeros(6), "b": flambeau.ones(6)}

        def step(x):
            held["a"].add_(x[0])
            found = held["a"] * held["b"]
            held["a"] = found.exp().clamp(max=2)
            held["b"] = x[1] * 1
            return found

        run = compiled(step)

        def call(k):
            if k in (5, 8):
                held["a"] = held["b"]
            return run(rows(k))

        return call, lambda: [held["a"], held["b"]]

    check_program(make, least=0)


def test_a_tensor_that_is_written_to_and_then_replaced():
    """What the program kept of it was written to."""
    def make(compiled):
        held, seen = {"h": flambeau.zeros(6)}, []

        def step(x):
            held["h"].add_(x.sum(0))
            held["h"] = held["h"] * 0.5
            held["h"].mul_(2)
            return x * held["h"]

        run = compiled(step)

        def call(k):
            seen.append(held["h"])
            return run(rows(k))

        return call, lambda: [held["h"], held["h"]._version, *seen, *(h._version for h in seen)]

    check_program(make)


GRADS = {
    "one": lambda params: [flambeau.ones_like(p) for p in params],
    "flat": lambda params: [part.view(p.shape) for part, p in zip(
        flambeau.ones(sum(p.numel() for p in params)).split([p.numel() for p in params]), params,
        strict=True)],
    "transposed": lambda params: [flambeau.ones(p.T.shape).T for p in params],
    "none": lambda params: [None for _ in params],
    "some": lambda params: [None if p.ndim == 1 else flambeau.ones_like(p) for p in params],
    "weights": lambda params: [p.detach() for p in params],
}


@pytest.mark.parametrize("what", GRADS)
def test_whatever_gradients_are_added_to(what):
    def make(compiled):
        net = network()
        params = list(net.parameters())

        def step(x):
            loss = F.cross_entropy(net(x), TARGETS)
            loss.backward()
            return loss

        run = compiled(step)

        def call(k):
            if k in (5, 6, 9):
                for param, grad in zip(params, GRADS[what](params), strict=True):
                    param.grad = grad
            return run(rows(k))

        return call, lambda: weights(net)

    check_program(make, least=0)


def test_gradients_that_are_added_to_are_the_ones_that_somebody_holds():
    """In place, or not, as without ``compile``."""
    def make(compiled):
        net, kept = network(), []

        def step(x):
            loss = F.cross_entropy(net(x), TARGETS)
            loss.backward()
            return loss

        run = compiled(step)

        def call(k):
            if k % 4 == 3:
                kept.append(net[0].weight.grad)
            return run(rows(k))

        return call, lambda: [*weights(net), *kept]

    check_program(make, least=0)


def test_hooks_that_come_later_hear_of_gradients_that_are_added_to():
    heard = []

    def make(compiled):
        heard.clear()
        net = network()

        def step(x):
            loss = F.cross_entropy(net(x), TARGETS)
            loss.backward()
            return loss

        run = compiled(step)

        def call(k):
            if k == 6:
                net[0].weight.register_hook(lambda grad: heard.append(1))
            return run(rows(k))

        return call, lambda: [len(heard), *weights(net)]

    check_program(make, least=0)
