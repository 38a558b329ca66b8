"""Calls of replayed functions: errors, threads, calls within calls, comparisons with Python."""

from __future__ import annotations

import re
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import flambeau
from flambeau import nn
from flambeau.jit.errors import ReplayError
from flambeau.jit.replay.call import (
    FIRST_BUDGET,
    MOST_PROGRAMS,
    REPLAYS_FOR_RECORDING,
    Replayed,
)

FACTOR = 2.0
WEIGHT = flambeau.ones(3, requires_grad=True)


def test_errors_come_as_ever():
    def fn(x, k):
        return x.index_select(0, k) * 2

    run = flambeau.compile(fn, replay=True)
    x = flambeau.randn(3)
    for _ in range(4):
        run(x, flambeau.tensor([1, 2]))
    with pytest.raises(IndexError):
        run(x, flambeau.tensor([1, 7]))
    assert run(x, flambeau.tensor([0, 2])).tolist() == fn(x, flambeau.tensor([0, 2])).tolist()


def test_a_call_within_the_same_replay():
    def fn(x, again):
        y = x * 2 + 1
        return y if not again else run(y, False)

    run = flambeau.compile(fn, replay=True)
    x = flambeau.ones(3)
    for _ in range(5):
        assert run(x, True).tolist() == [7.0] * 3
        assert run(x, False).tolist() == [3.0] * 3


def test_the_watchdog_names_what_differs(monkeypatch):
    from flambeau.jit.replay import reads

    def fn(x):
        return x * FACTOR + 1

    monkeypatch.setattr(reads.Reads, "guard", lambda *_: None)     # as if reads were not seen
    run = flambeau.compile(fn, replay=True, check_every=3)
    x = flambeau.ones(3)
    for _ in range(3):
        run(x)
    monkeypatch.setitem(globals(), "FACTOR", 11.0)
    with pytest.raises(ReplayError, match=r"test_replay_calls\.py:\d+: kernel 0 was mul"):
        for _ in range(6):
            run(x)
    assert run(x).tolist() == [12.0] * 3


@pytest.mark.filterwarnings("ignore:Anomaly")
def test_modes_of_autograd_are_heard():
    def fn(x):
        y = (x * WEIGHT).sum()
        y.backward()
        return y.detach()

    run = flambeau.compile(fn, replay=True)
    x = flambeau.ones(3)
    for _ in range(4):
        WEIGHT.grad = None
        run(x)
    packed = []
    with flambeau.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        WEIGHT.grad = None
        run(x)
    assert packed
    with flambeau.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="nan"):
        WEIGHT.grad = None
        run(x * float("nan"))


def test_threads_call_the_same_function():
    def fn(x, y):
        for _ in range(3):
            x = (x @ y).tanh() + x
        return x

    run = flambeau.compile(fn, replay=True)
    inputs = [(flambeau.randn(192, 192), flambeau.randn(192, 192)) for _ in range(4)]
    wanted = [fn(*pair).tolist() for pair in inputs]
    for _ in range(3):
        run(*inputs[0])
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            assert [y.tolist() for y in pool.map(lambda pair: run(*pair), inputs)] == wanted


def test_comparisons_become_rarer_while_they_find_nothing():
    run, x = flambeau.compile(lambda x: x * 2 + 1, replay=True), flambeau.ones(3)
    for _ in range(4):
        run(x)
    run.left = 0
    run(x)
    assert run.every == run.left == 2000


def test_more_lengths_than_programs_are_seldom_recorded(monkeypatch):
    """A recording that takes another's place has to be earned by many replays."""
    recorded = []
    monkeypatch.setattr(Replayed, "_record", lambda self, args, kwargs, record=Replayed._record:
                        recorded.append(len(args[0])) or record(self, args, kwargs))
    replayed = Replayed(lambda x: x * 2 + 1, 0)
    turns, lengths = 24, range(1, 101)
    for turn in range(turns):
        for length in lengths:
            assert replayed(flambeau.full((length,), turn)).tolist() == [2 * turn + 1] * length
        assert len(recorded) <= FIRST_BUDGET + turn * len(recorded) // REPLAYS_FOR_RECORDING
    assert MOST_PROGRAMS <= len(recorded) <= MOST_PROGRAMS + turns // 2


def test_the_source_of_a_lambda_in_a_lambda():
    x = flambeau.ones(3)
    outer = lambda by: lambda x: x * by     # noqa: E731
    run = flambeau.compile(outer(3), replay=True)
    for _ in range(4):
        assert run(x).tolist() == [3, 3, 3]
    assert "not replayed" not in run.explain()


def test_what_is_never_replayed_is_called_at_once():
    run = flambeau.compile(lambda x: x.tolist()[0] + 3, replay=True)
    for _ in range(8):
        assert run(flambeau.ones(3)) == 4
    assert run.instead is run.ordinary and "not replayed" in run.explain()


def test_functions_that_are_shown_to_classes_are_followed():
    """Once a process has a class with ``__torch_function__``, functions are covered."""
    class Asks(flambeau.Tensor):
        @classmethod
        def __torch_function__(cls, fn, types, args=(), kwargs=None):
            return super().__torch_function__(fn, types, args, kwargs or {})

    def fn(x):
        return flambeau.einsum("i,i->i", x, flambeau.ones(3)) + flambeau.tensor([1.0, 2.0, 3.0])

    assert type(flambeau.tensor).__name__ == "Shown"
    run = flambeau.compile(fn, replay=True)
    x = flambeau.ones(3)
    assert [run(x).tolist() for _ in range(4)] == [[2.0, 3.0, 4.0]] * 4
    assert "kernels" in run.explain(), run.explain()
    assert type(run(x.as_subclass(Asks))) is Asks


def test_lines_are_traced():
    """A debugger stops where it would without ``compile``."""
    def fn(x):
        return x * 2

    run, x, lines = flambeau.compile(fn, replay=True), flambeau.ones(3), []

    def watch(frame, event, argument):
        if frame.f_code is fn.__code__:
            lines.append(event)
        return watch

    for _ in range(4):
        run(x)
    before = sys.gettrace()
    sys.settrace(watch)
    try:
        run(x)
    finally:
        sys.settrace(before)
    assert lines == ["call", "line", "return"]
    assert "kernels" in run.explain()


class Counting(nn.Module):
    """Counts its calls."""

    def __init__(self):
        super().__init__()
        self.calls = []
        self.scale = nn.Parameter(flambeau.ones(3))

    def forward(self, x):
        self.calls = [*self.calls, 1]
        return x * self.scale


def scaled_by_sum(x):
    return x * x.sum().item()


def of_its_sign(x):
    return x if x.sum() > 0 else -x


def imported(x):
    import math
    return x * math.pi


def handled(x):
    try:
        raise KeyError("missing")
    except KeyError as error:
        return x + len(error.args)


def picked(x):
    try:
        y = x.index_select(0, flambeau.tensor([0, 1]))
    finally:
        x = x * 2
    return x[:2] + y


SCALES = {"here": 2.0}


def noted(x):
    NOTES.extend([1])
    return x + 1


NOTES: list[int] = []


@pytest.mark.parametrize(("make", "why"), [
    (lambda: scaled_by_sum, r"item\(\) looks at values"),
    (lambda: of_its_sign, r"bool\(\) looks at values"),
    (lambda: imported, "'import' in a recorded function"),
    (lambda: handled, "an exception is handled"),
    (lambda: picked, "index_select may fail in a 'try' statement"),
    (lambda: noted, "a list that was there before is changed"),
    (lambda: Counting().forward, "an object of class list is kept")])
def test_what_is_not_replayed_says_where_and_why(make, why):
    """And runs as ever, with all that it changes."""
    fn, NOTES[:] = make(), []
    run, x = flambeau.compile(fn, replay=True), flambeau.ones(3)
    for _ in range(6):
        assert run(x).tolist() == fn(x).tolist()
    assert re.match(rf"not replayed: \S*test_replay_calls.py:\d+: .*{why}", run.explain())
    assert len(getattr(getattr(fn, "__self__", None), "calls", [1] * 12)) == 12
    assert len(NOTES) == (12 if fn is noted else 0)


def test_try_statements_in_which_nothing_can_fail():
    """What they read is guarded; an error that a handler would see is handled by Python."""
    def fn(x, names):
        total = x * 0
        for name in names:
            try:
                y = x * SCALES[name]
            except KeyError as error:
                total = total + len(error.args)
                continue
            else:
                total = total + y
            finally:
                total = total.mul_(2)
        return total

    run, x = flambeau.compile(fn, replay=True), flambeau.tensor([1.0, 2.0, 3.0])
    for names in ("here", "here"), ("here",), ("here", "missing"), ("here",), ("missing",):
        for scale in (2.0, 3.0, 2.0):
            SCALES["here"] = scale
            for _ in range(3):
                assert run(x, names).tolist() == fn(x, names).tolist(), (names, scale)
    SCALES["missing"] = 5.0
    assert [run(x, ("missing",)).tolist() for _ in range(4)] == [fn(x, ("missing",)).tolist()] * 4
    del SCALES["missing"]
    assert run(x, ("missing",)).tolist() == fn(x, ("missing",)).tolist()
    assert run.programs
