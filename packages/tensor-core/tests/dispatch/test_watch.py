"""What watches operators and reads belongs to one thread."""

from __future__ import annotations

import threading

import pytest

import flambeau
from flambeau.core import _core


def pass_on(op, args, outs):
    return _core.call(op, args, outs)


def test_reads_are_told_to_the_thread_that_reads():
    seen = []
    with _core.interpose("trace", pass_on, lambda tensor, what: seen.append(what)):
        other = threading.Thread(target=flambeau.ones(()).item)
        other.start()
        other.join()
        assert seen == []
        flambeau.ones(()).item()
    assert len(seen) == 1
    flambeau.ones(()).item()
    assert len(seen) == 1


def test_a_thread_that_ends_watching_leaves_others_their_hooks():
    started, ended = threading.Event(), threading.Event()
    early, late = [], []

    def first():
        with _core.interpose("trace", pass_on, lambda tensor, what: early.append(what)):
            started.set()
            flambeau.ones(()).item()
            assert ended.wait(10)       # the other starts meanwhile

    def second():
        assert started.wait(10)
        with _core.interpose("trace", pass_on, lambda tensor, what: late.append(what)):
            ended.set()
            one.join(10)
            assert not one.is_alive()
            flambeau.ones(()).item()

    one, two = threading.Thread(target=first), threading.Thread(target=second)
    one.start()
    two.start()
    two.join(20)
    assert len(early) == 1
    assert len(late) == 1


def test_nested_hooks_come_back():
    outer, inner = [], []
    with _core.interpose("trace", pass_on, lambda tensor, what: outer.append(what)):
        with _core.interpose("trace", pass_on, lambda tensor, what: inner.append(what)):
            flambeau.ones(()).item()
        flambeau.ones(()).item()
    assert (len(outer), len(inner)) == (1, 1)


@pytest.mark.parametrize("kind", ["profiler", "trace"])     # above the tape, and below it
@pytest.mark.parametrize("depth", [1, 2])
def test_calls_that_are_passed_on_are_recorded_once(kind, depth):
    graph = pytest.importorskip("flambeau.autograd.graph", reason="needs flambeau-autograd")
    x = flambeau.ones(2, 3, requires_grad=True)
    packed, watches = [], [_core.interpose(kind, pass_on) for _ in range(depth)]
    with graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        for watch in watches:
            watch.__enter__()
        y = x.sin()
        y.t().square_()
        for watch in watches[::-1]:
            watch.__exit__()
    assert len(packed) == 2
    y.sum().backward()
    assert flambeau.allclose(x.grad, 2 * x.detach().sin() * x.detach().cos())


def test_what_is_below_the_tape_has_no_history():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    seen = []

    def watch(op, args, outs):
        result = _core.call(op, args, outs)
        seen.append(result.requires_grad)
        return result

    x = flambeau.ones(3, requires_grad=True)
    with _core.interpose("trace", watch):
        y = x.exp()
    assert (seen, y.requires_grad) == ([False], True)
