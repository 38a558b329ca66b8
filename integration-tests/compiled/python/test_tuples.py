"""Tuples that a replayed call makes: what is in them is the call's own, not of outside."""

from __future__ import annotations

import pytest
from kept import check_replayed, flat, replayed, same

import flambeau

WEIGHT = flambeau.arange(1.0, 13, requires_grad=True)
PAIRS = [(WEIGHT, flambeau.ones(12)), (flambeau.ones(12), WEIGHT)]
TWO = (WEIGHT, flambeau.full((12,), 2.0))


def pair(x):
    return x + 1, x * 2


def named_later(x):
    both = (x + 1, x * WEIGHT)
    a, b = both
    return a * b


def at_once(x):
    a, b = x + 1, x * WEIGHT
    return a * b


def returned(x):
    a, b = pair(x * WEIGHT)
    return a * b


def by_number(x):
    both = pair(x * WEIGHT)
    return both[0] * both[-1], both[:1][0]


def nested(x):
    (a, b), c = pair(x), WEIGHT * x
    return a * b * c


def zipped(x):
    total = x * 0
    for a, b in zip(pair(x * WEIGHT), pair(x), strict=True):
        total = total + a * b
    for both in zip(pair(x), [WEIGHT, x], strict=True):
        total = total + both[0] * both[1]
    return total


def numbered(x):
    return sum((a * b * k for k, (a, b) in enumerate([(x, WEIGHT), (WEIGHT, x * 2)])), x)


def of_items(x):
    return sum((each * len(name) for name, each in {"one": x * WEIGHT, "three": x}.items()), x)


def packed(x):
    def inner(*parts, **named):
        a, b = parts
        return a * b + named["c"]

    return inner(x * WEIGHT, x, c=x * 3), (lambda *parts: parts[0])(x * WEIGHT)


def made_by_tuple(x):
    a, b = tuple(each * WEIGHT for each in (x, x * 2))
    return a * b


def indexed(x):
    rows, first = x.view(3, 4), flambeau.tensor([2, 0])
    return rows[first * 1, 0], rows[:, first + 1]


def views(x):
    a, b = x[:6], x[6:]
    return a, a * b


def swapped(x):
    a, b = x * WEIGHT, x
    for _ in range(3):
        a, b = b, a + b
    return a, b


def of_outside(x):
    total = x
    for a, b in PAIRS:
        total = total + a * b
    a, b = TWO
    return total + a * b


@pytest.mark.parametrize("fn", [
    named_later, at_once, returned, by_number, nested, zipped, numbered, of_items, packed,
    made_by_tuple, indexed, views, swapped, of_outside], ids=lambda fn: fn.__name__)
def test_tuples_are_followed(fn):
    check_replayed(fn, flambeau.arange(12.0))


def test_views_in_tuples_are_new_at_each_call():
    base = flambeau.arange(4.0)

    def fn():
        a, b = base[:2], base[2:]
        return a, b

    run = flambeau.compile(fn, replay=True)
    for _ in range(5):
        run()
    one, other = run()[0], run()[0]
    assert one is not other
    assert one._base is base


@pytest.mark.parametrize("where", ["list", "name"])
def test_a_tuple_of_outside_is_guarded(monkeypatch, where):
    """It lies in a list or under a name, and another one comes into its place."""
    x = flambeau.ones(12)
    run = replayed(of_outside, x)
    other = (flambeau.full((12,), 5.0), WEIGHT * 1)
    before = PAIRS[0]
    if where == "list":
        PAIRS[0] = other
    else:
        monkeypatch.setitem(globals(), "TWO", other)
    assert same(flat(run(x)), flat(of_outside(x)))
    PAIRS[0] = before


def test_a_tensor_in_a_tuple_of_outside_is_guarded():
    held = {"both": (flambeau.ones(3), flambeau.zeros(3))}

    def fn(x):
        a, b = held["both"]
        return x * a + b

    run = flambeau.compile(fn, replay=True)
    x = flambeau.arange(3.0)
    for _ in range(4):
        run(x)
    held["both"][0].data = flambeau.full((3,), 7.0)
    assert same(flat(run(x)), flat(fn(x)))
    held["both"] = (flambeau.full((3,), 2.0), held["both"][1])
    assert same(flat(run(x)), flat(fn(x)))
