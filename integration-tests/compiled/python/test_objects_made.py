"""Objects and idioms of Python in replayed calls."""

from __future__ import annotations

import contextlib
import enum
import itertools
import operator
import typing
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field
from functools import partial, reduce

import numpy as np
import pytest
from kept import check_replayed, flat, replayed, same

import flambeau
from flambeau.nn import functional as F

WEIGHT = flambeau.arange(1.0, 5, requires_grad=True)
Pair = namedtuple("Pair", "a b", defaults=(None,))


class Named(typing.NamedTuple):
    """Two of anything."""

    first: object
    second: object = 2.0


@dataclass
class Output:
    """What a model gives."""

    loss: object
    scores: object = None
    parts: list = field(default_factory=list)
    scale: float = 0.5


class Kind(enum.Enum):
    """Two kinds."""

    ONE = 1
    TWO = 2


KIND = Kind.TWO


def named_tuples(x):
    pair, other = Pair(x * WEIGHT, b=x + 1), Named(x)
    a, b = pair
    return pair.a * pair.b + other.first * other.second + a - b


def data_classes(x):
    made = Output(x * WEIGHT, scores=x + 1)
    made.parts.append(made.loss * made.scale)
    made.scores = made.scores * 2
    return made.loss + made.scores + made.parts[0]


def dicts(x):
    ordered = OrderedDict(one=x * WEIGHT)
    ordered["two"] = x + 1
    lists = defaultdict(list)
    lists["a"].append(x * 3)
    lists["a"].append(ordered["two"])
    return sum(ordered.values()) * sum(lists["a"])


def called_for_each(x):
    scaled = partial(torch_mul, other=WEIGHT)
    total = reduce(operator.add, map(scaled, [x, x + 1]))
    kept = list(filter(lambda each: each is not None, [x, None]))
    total = reduce(lambda a, b: a * b, kept, total)
    return total + sum(itertools.chain([x], (x * WEIGHT,)), x)


def torch_mul(x, other):
    return x * other


def products(x):
    total = x
    for row, (k, each) in itertools.product([x, x * WEIGHT], enumerate([x + 1, WEIGHT])):
        total = total + row * each * k
    for a, b in itertools.zip_longest([x, WEIGHT], [x]):
        total = total + (a if b is None else a * b)
    return total


def enumerations(x):
    return x * 2 if KIND == Kind.TWO and KIND != Kind.ONE and KIND in (Kind.ONE, Kind.TWO) else x


def numbers(x):
    return x / np.sqrt(x.shape[0]) * np.exp(0.5) + (x if 0 < x.dim() < len(x.shape) + 1 else 1)


def stars(x):
    first, *rest = x.view(2, 2).shape
    *rows, last = [x, x * WEIGHT, x + 1]
    return x.view(first, *rest), sum(rows) * last


def contexts(x):
    with contextlib.nullcontext():
        return F.relu(x * WEIGHT)


@pytest.mark.parametrize("fn", [
    named_tuples, data_classes, dicts, products, enumerations, numbers, stars, contexts],
    ids=lambda fn: fn.__name__)
def test_what_a_call_makes_is_its_own(fn):
    check_replayed(fn, flambeau.arange(4.0))


def test_functions_are_called_for_each_item():
    run = flambeau.compile(called_for_each, replay=True)
    for k in range(6):
        x = flambeau.arange(4.0) + k
        assert same(flat(run(x)), flat(called_for_each(x)))


@pytest.mark.parametrize("fn", [
    lambda x: reduce(operator.add, []), lambda x: list(map(torch_mul)), lambda x: Pair(),
    lambda x: Output(x, wrong=1), lambda x: list(filter(torch_mul, [x]))])
def test_errors_are_pythons(fn):
    run = flambeau.compile(fn, replay=True)
    for _ in range(4):
        with pytest.raises(TypeError) as eager:
            fn(flambeau.ones(2))
        with pytest.raises(TypeError) as compiled:
            run(flambeau.ones(2))
        assert str(compiled.value) == str(eager.value)


def of_probabilities(x, y):
    return F.binary_cross_entropy(x * 1, y)


def test_probabilities_are_checked_in_replays():
    run = flambeau.compile(of_probabilities, replay=True)
    y = flambeau.tensor([0.0, 1.0])
    for value in (0.25, 0.5, 0.75, 1.0, 0.0):
        x = flambeau.tensor([0.25, value])
        assert run(x, y).equal(of_probabilities(x, y))
    assert run.explain().startswith("replayed")
    for value in (1.5, -0.25, float("nan")):
        with pytest.raises(RuntimeError, match=f"between 0 and 1, got {value:g} at position 1"):
            run(flambeau.tensor([0.25, value]), y)
    assert run(x, y).equal(of_probabilities(x, y))


SCALE = 2.0


def scaled(x):
    return x * SCALE


def reads_through_map(x):
    return sum(map(scaled, [x])) + reduce(lambda a, b: a + b * SCALE, [x, x])


def reads_through_partial(x):
    return partial(lambda y, k: y * k * SCALE, k=3.0)(x)


class Holder:
    """An object of outside that a dataclass gets."""

    weight = 1.0


HOLDER = Holder()


def reads_through_objects(x):
    made = Output(HOLDER, Pair(HOLDER))
    return x * made.loss.weight + x * made.scores.a.weight


@pytest.mark.parametrize("fn", [reads_through_map, reads_through_partial])
def test_names_that_called_functions_read_are_guarded(monkeypatch, fn):
    x = flambeau.ones(3)
    run = replayed(fn, x)
    monkeypatch.setitem(globals(), "SCALE", 7.0)
    assert same(flat(run(x)), flat(fn(x)))


def test_objects_of_outside_stay_so_in_objects_of_the_call(monkeypatch):
    run = flambeau.compile(reads_through_objects, replay=True)
    x = flambeau.ones(3)
    for _ in range(4):
        run(x)
    monkeypatch.setattr(HOLDER, "weight", 4.0)
    assert same(flat(run(x)), flat(reads_through_objects(x)))
    monkeypatch.undo()
    monkeypatch.setattr(Holder, "weight", 5.0)
    assert same(flat(run(x)), flat(reads_through_objects(x)))


def test_chains_of_comparisons_stop_early():
    seen = []

    def limit():
        seen.append(1)
        return 3

    def fn(x, k):
        return x * 2 if 5 < k < limit() else x

    run = flambeau.compile(fn, replay=True)
    x = flambeau.ones(3)
    for k in (1, 1, 1, 6, 7, 7, 7):
        seen.clear()
        assert same(flat(run(x, k)), flat(x * 2 if 5 < k < 3 else x))
        assert len(seen) == (k > 5)
