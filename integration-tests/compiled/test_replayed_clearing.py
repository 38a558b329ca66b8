"""Calls that take gradients away (``x.grad = None``): replayed whatever the gradients were."""

from __future__ import annotations

import pytest

import flambeau as fl
from flambeau import nn
from flambeau.jit.replay.call import Replayed


class World:
    """Leaves, and what a program does to them.

    Args:
        seed: of their numbers.
    """

    def __init__(self, seed: int) -> None:
        fl.manual_seed(seed)
        self.x = fl.randn(4, requires_grad=True)
        self.y = fl.randn(4, requires_grad=True)
        self.net = nn.Linear(4, 2)
        self.heard = []

    def state(self):
        leaves = [self.x, self.y, *self.net.parameters()]
        return [(each.tolist(), None if each.grad is None else each.grad.tolist(), each._version)
                for each in leaves], self.heard


def clear_all(w):
    for each in (w.x, w.y):
        each.grad = None
    (w.x * w.y).sum().backward()


def clear_one(w):
    w.x.grad = None
    (w.x * w.y * 2).sum().backward()
    return w.x.grad * 1


def clear_late(w):
    (w.x * w.y).sum().backward()
    kept = w.y.grad * 2
    w.y.grad = None
    return kept


def clear_twice(w):
    w.x.grad = None
    w.x.square().sum().backward()
    w.x.grad = None
    (w.x * 3).sum().backward()


def clear_only(w):
    w.x.grad = None
    return w.x * 2


def clear_after_a_look(w):
    seen = w.x.grad is None
    w.x.grad = None
    (w.x * 2).sum().backward()
    return w.x.grad + seen


def clear_parameters(w):
    for each in w.net.parameters():
        each.grad = None
    w.net(w.x.detach()).square().mean().backward()
    with fl.no_grad():
        for each in w.net.parameters():
            each -= 0.1 * each.grad


def clear_what_is_not_used(w):
    w.x.grad = None
    w.y.square().sum().backward()


PROGRAMS = (clear_all, clear_one, clear_late, clear_twice, clear_only, clear_after_a_look,
            clear_parameters, clear_what_is_not_used)


def _leave(w, k):
    """Between calls: what gradients are there at the next one."""
    if k % 4 == 1:
        w.x.grad = w.y.grad = None
    elif k % 4 == 2:
        w.x.grad = fl.full((4,), float(k))
    elif k % 4 == 3 and w.x.grad is not None:
        w.x.grad.mul_(2)


def _run(fn, w, calls):
    seen = []
    for k in range(calls):
        result = fn(w)
        seen.append((None if result is None else result.tolist(), w.state()))
        _leave(w, k)
    return repr(seen)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda fn: fn.__name__)
def test_gradients_are_those_of_python(program):
    replayed, calls = World(0), 14
    function = Replayed(lambda: program(replayed), 0)
    assert _run(lambda w: function(), replayed, calls) == _run(program, World(0), calls)
    if program in (clear_all, clear_only, clear_twice):
        assert function.earned() >= calls - 4, function.explain()


def test_a_hook_that_comes_later_is_heard():
    def run(function, w):
        for k in range(8):
            if k == 4:
                w.x.register_hook(lambda grad: w.heard.append(grad.tolist()))
            function(w)
        return repr(w.state())
    replayed = World(1)
    function = Replayed(lambda: clear_all(replayed), 0)
    assert run(lambda w: function(), replayed) == run(clear_all, World(1))
    assert len(replayed.heard) == 4


def test_gradients_that_somebody_keeps_stay():
    w, kept = World(2), []
    function = Replayed(lambda: clear_all(w), 0)
    for _ in range(6):
        function()
        kept.append(w.x.grad)
        with fl.no_grad():
            w.y += 1
    values = [each.tolist() for each in kept]
    assert len({id(each) for each in kept}) == 6 and len({repr(each) for each in values}) == 6
    assert all(a.tolist() == b for a, b in zip(kept, values, strict=True))


def test_graphs_of_devices_do_not_take_gradients_away():
    """They have kernels alone: a call that does more is left to Python."""
    from flambeau.jit import bridge
    from flambeau.jit.replay.reads import Reads

    reads = Reads(bridge.Recording(), bridge.Guards())
    x = fl.ones(2, requires_grad=True)
    reads.tensor(x)
    assert not reads.clear_grad(x) and len(reads.waiting) == 1
