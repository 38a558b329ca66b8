"""Functions that read what changes behind a recording's back: replayed or not, never wrong."""

from __future__ import annotations

import os
import random
import time
from types import SimpleNamespace
from typing import Any

import pytest

import flambeau
from flambeau import nn

FACTOR = 2.0
TABLE = {"a": 1.0, "b": 2.0}
NUMBERS = [1.0, 2.0]
W = SimpleNamespace(scale=3.0, shift=flambeau.ones(3), inner=SimpleNamespace(deep=1.0), count=0)


def helper(x):
    return x * FACTOR


class Scaler:
    rate = 1.5

    def __init__(self) -> None:
        self.by = 2.0
        self._hidden = 3.0

    @property
    def hidden(self):
        return self._hidden

    def __getattr__(self, name):
        if name == "missing":
            return self.by * 10
        raise AttributeError(name)

    def apply(self, x):
        return x * self.by + self.rate

    @staticmethod
    def twice(x):
        return x * 2

    def __call__(self, x):
        return self.apply(x) - 1


class Child(Scaler):
    def apply(self, x):
        return super().apply(x) + 1


S, C = Scaler(), Child()


def set_factor(value):
    global FACTOR
    FACTOR = value


def make_closure():
    k = 1.0

    def get(x):
        return x + k

    def put(value):
        nonlocal k
        k = value

    return get, put


GET, PUT = make_closure()


def use_global(x):
    return helper(x) + 1


def use_table(x):
    return sum((x * v for v in TABLE.values()), x)


def use_key(x):
    return x * TABLE["a"] if "c" not in TABLE else x * TABLE["c"]


def use_list(x):
    y = x
    for k, v in enumerate(NUMBERS):
        y = y * v + k
    return y


def use_namespace(x):
    return x * W.scale + W.shift * W.inner.deep


def use_object(x):
    return S.apply(x) + S.hidden + S.missing + Scaler.twice(x)


def use_callable(x):
    return C(x)


def use_closure(x):
    return GET(x)


def use_default(x, by=None):
    return x * 2 if by is None else x * by


def use_shapes(x):
    rows = [x[k] * (k + 1) for k in range(x.shape[0])]
    return flambeau.stack(rows[::-1]) if len(rows) > 1 else rows[0]


def use_strings(x):
    name = f"{'add' if FACTOR > 1 else 'mul'}"
    return {"add": x + 1, "mul": x * 2}[name]


def recursive(x, depth=4):
    return x if depth == 0 else recursive(x * 1.5, depth - 1) + depth


def in_place(x):
    x.add_(1)
    y = x.clone()
    y[0] = 5
    y.mul_(FACTOR)
    return y, x.sum()


def views(x):
    y = x * 2
    return y[1:], y


def constants(x):
    return x + flambeau.tensor([1.0, 2.0, 3.0]) * flambeau.ones(3) + flambeau.zeros(3).add_(1)


def random_numbers(x):
    return x + flambeau.rand(3) + nn.functional.dropout(x, 0.5)


def writes_shift(x):
    W.shift.mul_(1.25)
    return x + W.shift


def nested(x):
    def inner(y, by=FACTOR):
        return y * by + x
    return [inner(x), (lambda z: z - 1)(x)], {"k": x * 3}


def no_gradients(x):
    with flambeau.no_grad():
        return x * W.scale


CHANGES = (
    lambda: set_factor(FACTOR + 1), lambda: TABLE.update(a=TABLE["a"] + 1),
    lambda: NUMBERS.append(3.0), lambda: NUMBERS.pop(0), lambda: setattr(W, "scale", W.scale + 1),
    lambda: setattr(W, "shift", W.shift * 2), lambda: setattr(W.inner, "deep", 7.0),
    lambda: setattr(W, "inner", SimpleNamespace(deep=9.0)), lambda: setattr(S, "by", S.by + 1),
    lambda: setattr(S, "_hidden", -1.0), lambda: setattr(Scaler, "rate", Scaler.rate + 1),
    lambda: setattr(C, "by", -2.0), lambda: PUT(5.0), lambda: TABLE.update(c=4.0),
    lambda: TABLE.pop("c"), lambda: W.shift.add_(1), lambda: setattr(W.shift, "data", W.shift + 1),
    lambda: S.__dict__.update(apply=lambda x: x * 100), lambda: S.__dict__.pop("apply"),
    lambda: setattr(Child, "apply", lambda self, x: x - 7), lambda: setattr(C, "__class__", Scaler),
    lambda: TABLE.update({"a": TABLE.pop("b"), "b": 5.0}), lambda: set_factor(0.5),
    lambda: setattr(S, "missing", 3.0), lambda: set_factor(2), lambda: set_factor(True),
)
REPLAYED = (use_global, use_table, use_key, use_list, use_namespace, use_object, use_callable,
            use_closure, use_default, use_shapes, use_strings, recursive, in_place, views,
            constants, random_numbers, writes_shift, nested, no_gradients)


def leaves(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [type(value), *(leaf for each in value for leaf in leaves(each))]
    if isinstance(value, dict):
        return [*value, *(leaf for each in value.values() for leaf in leaves(each))]
    if isinstance(value, flambeau.Tensor):
        return [value.tolist(), value.stride(), value.dtype, value._version,
                None if value._base is None else value._base.shape]
    return [value]


def twice(fn: Any, run: Any, x: Any) -> None:
    """The same call of a function and of its replay, from the same state."""
    state, shift = flambeau.get_rng_state(), W.shift.clone()
    a, b = x.clone(), x.clone()
    expected = leaves(fn(a))
    after = flambeau.get_rng_state(), W.shift.tolist(), a.tolist(), a._version
    flambeau.set_rng_state(state)
    with flambeau.no_grad():
        W.shift.copy_(shift)
    assert leaves(run(b)) == expected
    assert (flambeau.get_rng_state().tolist(), W.shift.tolist(), b.tolist(), b._version) == \
        (after[0].tolist(), *after[1:])


def test_what_is_read_is_guarded():
    compiled = {fn: flambeau.compile(fn, replay=True, check_every=5) for fn in REPLAYED}
    for fn, run in compiled.items():
        for _ in range(4):
            twice(fn, run, flambeau.randn(3))
        assert "kernels" in run.explain(), f"{fn.__name__}: {run.explain()}"
    for change in CHANGES:
        change()
        for fn, run in compiled.items():
            twice(fn, run, flambeau.randn(3))
            twice(fn, run, flambeau.randn(3))


def test_other_arguments_make_other_programs():
    for fn in (use_default, use_shapes, recursive):
        run = flambeau.compile(fn, replay=True)
        for _ in range(3):
            for x in (flambeau.randn(3), flambeau.randn(4, 2), flambeau.randn(2, 4).t(),
                      flambeau.randn(3).double(), flambeau.randn(6)[::2], flambeau.ones(1)):
                twice(fn, run, x)


def test_arguments_that_share_memory():
    def fn(x, y):
        x.add_(1)
        return x + y

    run = flambeau.compile(fn, replay=True)
    for _ in range(3):
        x, y = flambeau.randn(4), flambeau.randn(4)
        assert run(x.clone(), y).tolist() == fn(x.clone(), y).tolist()
    a, b = flambeau.randn(5), None
    b = a.clone()
    assert run(a[1:], a[:-1]).tolist() == fn(b[1:], b[:-1]).tolist()
    assert run(a, a).tolist() == fn(b, b).tolist()


class Clock:
    values = iter(range(1000))

    def __iter__(self):
        return self

    def __next__(self):
        return next(Clock.values)


ITERATOR = iter(range(10000))
LOG: list[Any] = []


def reads_clock(x):
    return x + time.perf_counter() * 0


def reads_random(x):
    return x + (random.random() >= 0)


def reads_environment(x):
    return x * float(os.environ.get("FLAMBEAU_FACTOR_OF_TEST", "1"))


def uses_up(x):
    return x + next(ITERATOR)


def appends(x):
    LOG.append(x.shape)
    return x + len(LOG)


def counts(x):
    W.count += 1
    return x + W.count


def counts_in_class(x):
    Scaler.rate = Scaler.rate + 1
    return x + Scaler.rate


def looks(x):
    return x * 2 if x.sum() > 0 else x - 1


def looks_inside(x):
    return x + x.sum().item()


def catches(x):
    try:
        return x[int(LIMIT)]
    except IndexError:
        return x


def seeds(x):
    flambeau.manual_seed(3)
    return x + flambeau.rand(3)


def shows(x):
    return x + len(repr(x)) * 0


def addresses(x):
    return x + (id(x) > 0)


def versions(x):
    return x + x._version


LIMIT = 1
HOSTILE = (reads_clock, reads_random, reads_environment, uses_up, appends, counts, counts_in_class,
           looks, looks_inside, catches, seeds, shows, addresses, versions)


@pytest.mark.parametrize("fn", HOSTILE, ids=lambda fn: fn.__name__)
def test_what_cannot_be_guarded_is_never_replayed(fn, monkeypatch):
    run = flambeau.compile(fn, replay=True)
    for k in range(7):
        monkeypatch.setenv("FLAMBEAU_FACTOR_OF_TEST", str(k))
        monkeypatch.setitem(globals(), "LIMIT", k)
        x = flambeau.randn(3)
        monkeypatch.setitem(globals(), "ITERATOR", iter(range(k, 100)))
        before = W.count, Scaler.rate, len(LOG)
        expected = fn(x)
        W.count, Scaler.rate = before[:2]
        del LOG[before[2]:]
        monkeypatch.setitem(globals(), "ITERATOR", iter(range(k, 100)))
        assert run(x).tolist() == expected.tolist()
    assert "not replayed" in run.explain() or fn is catches
