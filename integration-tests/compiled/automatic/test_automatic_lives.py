"""What calls that are replayed unasked hold, and who else writes or watches meanwhile."""

from __future__ import annotations

import copy
import inspect
import sys
import threading
import weakref
from functools import partial

import pytest
from surroundings import replayer

import flambeau
from flambeau import compiler, nn


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("setter", [sys.settrace, sys.setprofile])
def test_tracers_and_profilers_see_calls(setter):
    def fn(x):
        return x * 2 + 1

    compiled, x = flambeau.compile(fn), flambeau.ones(3)
    for _ in range(5):
        compiled(x)
    seen = []
    before = sys.gettrace() if setter is sys.settrace else sys.getprofile()
    setter(lambda frame, event, arg: seen.append(frame.f_code.co_name))
    try:
        compiled(x)
    finally:
        setter(before)
    assert "fn" in seen


def changing_partial():
    inside = partial(flambeau.add, 1)
    return lambda x: inside(x) * 2, lambda: inside.__setstate__((flambeau.sub, (1,), {}, None))


@pytest.mark.usefixtures("at_once")
def test_partials_that_change():
    (plain, change), (other, again) = changing_partial(), changing_partial()
    compiled, x = flambeau.compile(other), flambeau.randn(3)
    for k in range(8):
        if k == 4:
            change()
            again()
        assert compiled(x).tolist() == plain(x).tolist()


@pytest.mark.usefixtures("at_once")
def test_functions_may_call_themselves_as_deep_as_ever():
    def deep(x, levels):
        return deep(x, levels - 1) if levels else x + 1

    limit, x = sys.getrecursionlimit(), flambeau.ones(2)
    levels = limit - len(inspect.stack()) - 20
    for _ in range(3):
        assert flambeau.compile(deep)(x, levels).tolist() == deep(x, levels).tolist()
    assert sys.getrecursionlimit() == limit


@pytest.mark.usefixtures("at_once")
def test_limits_that_a_call_sets_stay():
    limit = sys.getrecursionlimit()
    try:
        flambeau.compile(lambda x: sys.setrecursionlimit(limit + 7) or x)(flambeau.ones(2))
        assert sys.getrecursionlimit() == limit + 7
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.usefixtures("at_once")
def test_disabled_functions_know_that_nothing_waits():
    asked = []

    @compiler.disable
    def aside(x):
        asked.append(compiler.is_compiling())
        return x

    def fn(x):
        asked.append(compiler.is_compiling())
        return aside(x) * 2

    compiled = flambeau.compile(fn)
    for _ in range(4):
        compiled(flambeau.ones(2))
    assert asked == [True, False] * 4


@pytest.mark.usefixtures("at_once")
def test_arguments_are_not_kept():
    class Box:
        def __init__(self):
            self.factor = 2.0

    compiled = flambeau.compile(lambda x, box: x * box.factor)
    box = Box()
    gone = weakref.ref(box)
    for _ in range(5):
        compiled(flambeau.ones(3), box)
    del box
    assert gone() is None


@pytest.mark.usefixtures("at_once")
def test_what_was_replaced_is_let_go_of_at_the_next_call():
    holder = {"w": flambeau.ones(3)}
    compiled = flambeau.compile(lambda x: x * holder["w"])
    for _ in range(5):
        compiled(flambeau.ones(3))
    gone = weakref.ref(holder["w"])
    holder["w"] = flambeau.zeros(3)
    assert compiled(flambeau.ones(3)).tolist() == [0.0] * 3
    assert gone() is None


@pytest.mark.usefixtures("at_once")
def test_functions_die_with_their_compiled_call():
    compiled = flambeau.compile(lambda x: x * 2 + 1)
    for _ in range(5):
        compiled(flambeau.ones(3))
    gone = weakref.ref(compiled.fn)
    del compiled
    assert gone() is None


@pytest.mark.usefixtures("at_once")
def test_other_threads_that_write():
    """No recording counts their writes as its own."""
    x, stop = flambeau.zeros(3), threading.Event()

    def write():
        while not stop.is_set():
            x.add_(0)

    compiled = flambeau.compile(lambda t: t.mul_(1))
    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(50):
            compiled(x)
    finally:
        stop.set()
        writer.join()
    version = x._version
    compiled(x)
    assert x._version == version + 1


@pytest.mark.usefixtures("at_once")
def test_copies_are_replayed_as_well():
    net = flambeau.compile(nn.Sequential(nn.Linear(3, 3), nn.GELU()).eval())
    twin, x = copy.deepcopy(net), flambeau.randn(2, 3)
    for module in (net, twin):
        for _ in range(6):
            with flambeau.no_grad():
                module(x)
        assert replayer(module).earned()


WAITED_FOR = {
    "an argument": lambda held: lambda x: x * 2 + 1,
    "an argument that is written": lambda held: lambda x: x.add_(1).clone(),
    "a tensor of outside": lambda held: lambda x: held + 1,
    "one that is written": lambda held: lambda x: held.add_(1).clone(),
}


@pytest.mark.parametrize("name", WAITED_FOR)
def test_what_another_thread_has_waiting_comes_first(name):
    held, other = flambeau.ones(200, 200), flambeau.ones(200, 200)
    fn, plain = WAITED_FOR[name](held), WAITED_FOR[name](other)
    compiled = flambeau.compile(fn, replay=True)
    for _ in range(4):
        assert compiled(held).tolist() == plain(other).tolist()
    waits, go = threading.Event(), threading.Event()

    def write():
        held.mul_(3)
        waits.set()
        go.wait(60)

    writer = threading.Thread(target=flambeau.compile(write))
    writer.start()
    waits.wait(60)
    try:
        other.mul_(3)
        assert compiled(held).tolist() == plain(other).tolist()
        assert held.tolist() == other.tolist()
    finally:
        go.set()
        writer.join()
    assert compiled(held).tolist() == plain(other).tolist()
