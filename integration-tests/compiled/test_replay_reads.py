"""Ways of looking at what changes that a recording may overlook: replayed or not, never wrong."""

from __future__ import annotations

import abc
import functools
import types
from types import SimpleNamespace

import pytest

import flambeau
import flambeau.nn.functional as F

CASES = []


def case(make):
    """A function that makes a function, and what changes what it looks at."""
    CASES.append(make)
    return make


class Falls:
    """Compares, adds and converts as ``FACTS`` say."""

    def __init__(self, by=1.0):
        self.by = by

    def __radd__(self, other):
        return other + FACTS["by"]

    def __lt__(self, other):
        return self.by * FACTS["by"] < other.by * FACTS["by"]

    __gt__ = __lt__

    def __eq__(self, other):
        return FACTS["by"] > 0

    def __hash__(self):
        return 7

    def __bool__(self):
        return FACTS["by"] > 0

    def __str__(self):
        return str(FACTS["by"])

    def __index__(self):
        return int(FACTS["by"] > 0)


FACTS = {"by": 1.0}
ONE, TWO = Falls(1.0), Falls(2.0)


def turn():
    """Have all of them say otherwise."""
    FACTS["by"] = -3.0


def falls(fn):
    """A case that depends on ``FACTS``."""
    CASES.append(lambda: (fn, turn))
    return fn


falls(lambda x: x * sum([ONE, TWO]))
falls(lambda x: x * sorted([ONE, TWO])[0].by)
falls(lambda x: x * max(ONE, TWO).by)
falls(lambda x: x * min([ONE, TWO]).by)
falls(lambda x: x * (2 if any([ONE, TWO]) else 3))
falls(lambda x: x * [ONE].count(TWO))
falls(lambda x: x * {ONE: 2.0}.get(TWO, 3.0))
falls(lambda x: x * len({ONE: 2.0, TWO: 3.0}))
falls(lambda x: x * len({ONE, TWO}))
falls(lambda x: x * len("{}".format(ONE)))      # noqa: UP032
falls(lambda x: x * len(f"{ONE}"))
falls(lambda x: x * [2.0, 3.0][ONE])
falls(lambda x: x * sum([2.0, 3.0][:ONE]))
falls(lambda x: x[ONE])


def list_case(fn):
    """A case that looks at a list of lists, which changes in place."""
    def make():
        numbers = [[1.0, 2.0], [3.0]]
        return functools.partial(fn, numbers=numbers), lambda: numbers[0].insert(0, 7.0)

    CASES.append(make)
    return fn


list_case(lambda x, numbers: x * max(numbers)[0])
list_case(lambda x, numbers: x * len(sum(numbers, [])))
list_case(lambda x, numbers: x * sorted(numbers)[0][0])
list_case(lambda x, numbers: x * list(numbers)[0][0])
list_case(lambda x, numbers: x * next(iter(numbers))[0])
list_case(lambda x, numbers: x * dict(a=numbers[0])["a"][0])    # noqa: C408
list_case(lambda x, numbers: x * max([], default=numbers[0])[0])
list_case(lambda x, numbers: x * len(sum([[2.0]], start=numbers[0])))
list_case(lambda x, numbers: x * len("{}".format(numbers)))     # noqa: UP032
list_case(lambda x, numbers: x * numbers.copy()[0][0])
list_case(lambda x, numbers: x * sum(a for b in numbers for a in b))


@list_case
def extended(x, numbers):
    made = []
    made.extend(numbers[0])
    return x * sum(made)


@list_case
def sliced(x, numbers):
    made = [1.0, 2.0]
    made[:1] = numbers[0]
    return x * sum(made)


@list_case
def collected(x, numbers):
    made = {2.0}
    made.update(numbers[0])
    return x * len(made)


@case
def a_dict_taken_in():
    table = {"a": 1.0}

    def fn(x):
        made = {}
        made.update(table)
        return x * made["a"]

    return fn, lambda: table.update(a=5.0)


@case
def text_of_an_attribute():
    w = SimpleNamespace(k=1)
    text = "{0.k}"
    return lambda x: x * len(text.format(w)), lambda: setattr(w, "k", 1000)


@case
def joined_names():
    names = ["a"]
    return lambda x: x * len(",".join(names)), lambda: names.append("bbb")


class Attributes(dict):
    """A dict whose items are attributes, which some have beside them."""

    def __getattr__(self, name):
        return self[name]


@case
def an_item_as_attribute():
    table = Attributes(k=2.0)
    return lambda x: x * table.k, lambda: table.update(k=3.0)


@case
def an_attribute_of_a_dict():
    table = Attributes()
    object.__setattr__(table, "k", 2.0)
    return lambda x: x * table.k, lambda: object.__setattr__(table, "k", 3.0)


@pytest.mark.parametrize("base", [list, int, str, tuple])
def test_subclasses_of_builtins(base):
    kind = type("Mine", (base,), {"k": 2.0, "get": lambda self: self.k})
    w = SimpleNamespace(made=kind())
    check(lambda x: x * w.made.k, lambda: setattr(w.made, "k", 3.0))
    check(lambda x: x * w.made.get(), lambda: setattr(w.made, "k", 5.0))


class Moody(float):
    """A number that multiplies by what ``FACTS`` say."""

    def __rmul__(self, other):
        return other * FACTS["by"]

    def __bool__(self):
        return FACTS["by"] > 0


MOODY = Moody(2.0)
falls(lambda x: x * (2.0 * MOODY))
falls(lambda x: x * (2 if MOODY else 3))


@case
def items_of_a_tuple_of_ones_own():
    kind = type("Mine", (tuple,), {"__iter__": lambda self: iter([FACTS["by"], 2.0])})
    numbers = kind([1.0, 2.0])

    def fn(x):
        a, b = numbers
        for each in numbers:
            x = x * each
        return x * a * b

    return fn, turn


@case
def objects_in_a_copy():
    many = [SimpleNamespace(k=1.0), SimpleNamespace(k=2.0)]

    def fn(x):
        for each in list(many):
            x = x * each.k
        return x

    return fn, lambda: setattr(many[0], "k", 5.0)


@case
def what_is_set_to_what_it_is():
    w = SimpleNamespace(mode="a")

    def fn(x):
        w.mode = "a"
        return x * 2

    return fn, lambda: setattr(w, "mode", "b"), lambda: w.mode


class Base:
    """What ``super()`` finds."""

    @property
    def k(self):
        return FACTS["by"]


class Child(Base):
    """Asks for it, and sets a property of its own."""

    def __init__(self):
        self.own = 2.0

    @property
    def own(self):
        return self._own

    @own.setter
    def own(self, value):
        self._own = value * FACTS["by"]

    def get(self):
        return super().k


CHILD = Child()
falls(lambda x: x * CHILD.get())
falls(lambda x: x * Child().own)


class Computed:
    """A descriptor."""

    def __get__(self, obj, cls):
        return FACTS["by"]


class Meta(type):
    """A class of classes, with a property and rules for instances."""

    k = property(lambda cls: FACTS["by"])

    def __instancecheck__(cls, obj):
        return FACTS["by"] > 0


class Odd(metaclass=Meta):
    """Its attributes are not what it holds."""

    given = Computed()


falls(lambda x: x * Odd.given)
falls(lambda x: x * Odd.k)
falls(lambda x: x * (2 if isinstance(x, Odd) else 3))


@case
def what_is_registered_later():
    kind = abc.ABCMeta("Abstract", (), {})
    w = SimpleNamespace()
    return (lambda x: x * (2 if isinstance(w, kind) else 3),
            lambda: kind.register(SimpleNamespace))


@case
def bases():
    one, other = type("A", (), {}), type("B", (), {})
    kind = type("C", (one,), {})
    return (lambda x: x * (2 if issubclass(kind, one) else 3),
            lambda: setattr(kind, "__bases__", (other,)))


@case
def what_may_be_called():
    kind = type("C", (), {})
    w = kind()
    return (lambda x: x * (2 if callable(w) else 3),
            lambda: setattr(kind, "__call__", lambda self: 1))


@case
def an_attribute_of_a_method():
    kind = type("C", (), {"get": lambda self: 1})
    kind.get.k = 2.0
    w = kind()
    return lambda x: x * w.get.k, lambda: setattr(kind.get, "k", 3.0)


@case
def a_name_that_a_module_gets():
    module = types.ModuleType("made")
    return lambda x: x * (2 if hasattr(module, "k") else 3), lambda: setattr(module, "k", 1)


@case
def defaults():
    def scaled(x, by=2.0):
        return x * by

    return lambda x: scaled(x), lambda: setattr(scaled, "__defaults__", (3.0,))


@case
def defaults_of_keywords():
    def scaled(x, *, by=2.0):
        return x * by

    return lambda x: scaled(x), lambda: scaled.__kwdefaults__.update(by=3.0)


@case
def other_code():
    def scaled(x):
        return x * 2

    def other(x):
        return x * 3

    return lambda x: scaled(x), lambda: setattr(scaled, "__code__", other.__code__)


@pytest.mark.parametrize("wrapped", [F.relu, flambeau.detach, flambeau.add])
def test_wrappers_of_flambeaus_functions(wrapped):
    by = [2.0]

    @functools.wraps(wrapped)
    def wrapper(x):
        return x * by[0]

    check(lambda x: wrapper(x), lambda: by.append(by.pop() + 1))


def check(fn, change, look=lambda: None):
    """Call a function and its replay, before and after a change."""
    run = flambeau.compile(fn, replay=True, check_every=0)
    x = flambeau.tensor([1.0, 2.0, 3.0])
    for _ in range(4):
        assert run(x).tolist() == fn(x).tolist()
    change()
    for _ in range(3):
        found = run(x).tolist(), look()
        assert found == (fn(x).tolist(), look())


@pytest.mark.parametrize("make", CASES)
def test_what_is_looked_at(make, monkeypatch):
    monkeypatch.setitem(FACTS, "by", 1.0)
    check(*make())


def test_what_most_programs_ask_is_replayed():
    """Guards that refuse everything would be right, too."""
    numbers, table = [[1.0, 2.0], [3.0]], Attributes(k=2.0)
    many = [SimpleNamespace(k=1.0), SimpleNamespace(k=2.0)]

    def fn(x):
        made = [each.k for each in list(many)]
        made.extend(numbers[0])
        largest = flambeau.max(x, 0)
        return x * sum(made) * max(numbers[1]) * table.k + largest.values * len(sorted(numbers))

    run = flambeau.compile(fn, replay=True, check_every=0)
    for _ in range(6):
        run(flambeau.ones(3))
    assert run.earned() > 3, run.explain()
