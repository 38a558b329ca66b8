"""Compiled functions that use the language in uncommon ways, over what changes between calls."""

import contextlib
import enum
import functools
import itertools
import math
import operator
import types

from agreeing import agree, each_call, each_way, numbers

USES = []
SETTINGS = {"scale": 2, "names": ["a", "b"], "nested": {"deep": [1, 2, 3]}}
LEVEL = 1


def use(program):
    USES.append(program)
    return program


@use
def settings_in_dictionaries(compiled, rows):
    x = numbers(rows)
    SETTINGS.update(scale=2, names=["a", "b"], nested={"deep": [1, 2, 3]})

    @compiled
    def work():
        total = x * SETTINGS["scale"]
        for name in SETTINGS["names"]:
            total = total + len(name)
        for key, value in SETTINGS.items():
            total = total + len(key)
            if isinstance(value, dict) and "deep" in value:
                total = total * sum(value["deep"])
        return total, SETTINGS.get("missing", 3), [*SETTINGS], {**SETTINGS, "more": 1}["more"]
    return each_call(work, [
        lambda: SETTINGS.update(scale=2.0), lambda: SETTINGS["names"].append("ccc"),
        lambda: SETTINGS["nested"]["deep"].__setitem__(0, 9), lambda: SETTINGS.update(missing=5),
        lambda: SETTINGS.pop("missing"), lambda: SETTINGS["nested"].update(deep=(1,)),
        lambda: SETTINGS["names"].reverse(), lambda: SETTINGS["nested"].pop("deep"),
        lambda: SETTINGS.update(scale=True)])


@use
def globals_that_change(compiled, rows):
    x = numbers(rows)

    def change(name, value):
        globals()[name] = value

    @compiled
    def work():
        return x * LEVEL if LEVEL != 3 else x - LEVEL
    return each_call(work, [lambda: change("LEVEL", 2), lambda: change("LEVEL", 3),
                            lambda: change("LEVEL", x[0]), lambda: change("LEVEL", 1)])


@use
def operators_and_conditions(compiled, rows):
    x, box = numbers(rows), types.SimpleNamespace(a=3, b=5, c=None, d=[0])

    @compiled
    def work():
        a, b = box.a, box.b
        middle = 1 < a < b
        either = box.c or box.d and a
        both = a and b or 7
        power, rest = divmod(b * 7 + 1, a) if a else (0, 0)
        y = (x * (a ** 2) + b // 2 - (a << 1 | b & 3 ^ 1)) * (not box.c) + (-a + ~b)
        y = y @ x[:4].T if not (a > b) else y % 3
        text = f"{a!r:>4}|{b:03d}|{box.c}|{y.shape[0]:,}|{'x' * a:s}"
        return y, middle, either, both, power, rest, text, a is None, box.c is None, a in (3, 4), \
            (z := a + b) * 2, z, [a, b] < [b, a], ... is Ellipsis
    return each_call(work, [
        lambda: setattr(box, "a", 6), lambda: setattr(box, "c", 0), lambda: setattr(box, "c", "t"),
        lambda: box.d.pop(), lambda: setattr(box, "a", 0), lambda: setattr(box, "b", True),
        lambda: setattr(box, "a", 3.0), lambda: delattr(box, "c")])


@use
def loops_with_all_clauses(compiled, rows):
    x, items = numbers(rows), [1, 2, 3]

    @compiled
    def work():
        y = x
        for k in items:
            if k == 2:
                continue
            if k > 5:
                break
            y = y + k
        else:
            y = y * 10
        n = len(items)
        while n:
            n -= 1
            y = y - n
            if n == 4:
                break
        else:
            y = y.abs()
        for i, (k, other) in enumerate(zip(items, reversed(items), strict=True), start=1):
            y = y * 0.5 + i * k - other
        return y, k, n
    return each_call(work, [lambda: items.append(9), lambda: items.remove(9),
                            lambda: items.extend([4, 5]), items.clear, lambda: items.append(1)])


@use
def unpacking_and_stars(compiled, rows):
    x, parts = numbers(rows), [1, 2, 3, 4]

    def inner(a, /, b, *rest, key, other=2, **more):
        return a * b + sum(rest) * key - other + sum(more.values())

    @compiled
    def work():
        first, second, *_ = parts
        (p, q), r = (first, second), parts[-1]
        one = two = x * p
        two += q
        table = {"key": r, **{str(k): k for k in parts}}
        return inner(x, p, *parts[1:], **table), one, two, [*parts, *(1, 2)], {*parts}, \
            parts[1:None:2], x[..., 0], x[1:, ::2], x[None, :2], inner(x, b=1, key=0)
    return each_call(work, [lambda: parts.append(7), lambda: parts.__setitem__(0, 5),
                            lambda: parts.__delitem__(slice(1, 3)), parts.clear])


@use
def comprehensions_and_scopes(compiled, rows):
    x, items = numbers(rows), [1, 2, 3]

    @compiled
    def work():
        k = 100
        made = [x * k for k in items if k % 2]
        table = {k: v + 1 for k, v in zip("abc", items, strict=False)}
        some = {k // 2 for k in items}
        later = (k * j for k in items for j in range(k))
        funcs = [lambda a, k=k: a * k for k in items]
        late = [lambda a: a * k for _ in items]
        return made, table, some, sum(later), [f(x[0]) for f in funcs], [f(2) for f in late], k, \
            list(map(float, items)), sorted(items, key=lambda a: -a), \
            list(filter(None, items)), max(items, default=0), any(k > 2 for k in items)
    return each_call(work, [lambda: items.append(8), lambda: items.__setitem__(1, 0), items.clear])


@use
def tries_of_all_kinds(compiled, rows):
    x, table, log = numbers(rows), {"a": 1}, []

    def ends(how):
        try:
            if how == 1:
                return table["missing"]
            if how == 2:
                return x * 2
            if how == 3:
                raise ValueError("three")
        except KeyError as error:
            log.append(str(error))
            return x - 1
        except (ValueError, TypeError) as error:
            raise RuntimeError("other") from error
        else:
            return x + table["a"]
        finally:
            log.append(how)
        return None

    @compiled
    def work(how):
        with contextlib.suppress(RuntimeError):
            return ends(how)
        return "suppressed"
    kept = []
    for how in (0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 0):
        kept.append(work(how))
    table["a"] = 5
    return kept, work(0), work(0), log


class Colour(enum.Enum):
    RED = 1
    BLUE = 2.5


@use
def objects_of_all_kinds(compiled, rows):
    class Base:
        factor = 2

        def scaled(self, a):
            return a * self.factor

    class Slotted(Base):
        __slots__ = ("_hidden", "shift")

        def __init__(self):
            self.shift, self._hidden = 1, 3

        def scaled(self, a):
            return super().scaled(a) + self.shift

        @property
        def hidden(self):
            return self._hidden

        def __getattr__(self, name):
            if name.startswith("by_"):
                return int(name[3:])
            raise AttributeError(name)

        def __len__(self):
            return self.shift

        def __getitem__(self, key):
            return key * self._hidden

        def __iter__(self):
            return iter((self.shift, self._hidden))

        def __contains__(self, key):
            return key == self.shift

        def __eq__(self, other):
            return other == self._hidden

        def __hash__(self):
            return 1

        def __matmul__(self, other):
            return other * self._hidden

        def __rsub__(self, other):
            return other - self.shift

        def __enter__(self):
            return self.shift

        def __exit__(self, *_):
            self._hidden += 0

    x, obj, colour = numbers(rows), Slotted(), [Colour.RED]

    @compiled
    def work():
        y = obj.scaled(x) + obj.hidden + obj.by_4 + len(obj) + obj[2]
        for part in obj:
            y = y * part
        with obj as shift:
            y = y - shift
        picked = colour[0]
        y = y * picked.value if picked is Colour.RED else y + picked.value
        return y, 1 in obj, obj == 3, obj @ x, x[0].sum() * 0 - obj, bool(obj), picked.name, \
            getattr(obj, "missing", 5), hasattr(obj, "other")
    return each_call(work, [
        lambda: setattr(Base, "factor", 3), lambda: setattr(obj, "shift", 2),
        lambda: setattr(obj, "_hidden", 7), lambda: colour.__setitem__(0, Colour.BLUE),
        lambda: setattr(Base, "scaled", lambda self, a: a - 1),
        lambda: setattr(Slotted, "by_4", 9), lambda: setattr(Slotted, "hidden", 1),
        lambda: setattr(obj, "shift", 0)])


@use
def functions_with_state(compiled, rows):
    x, calls = numbers(rows), []

    @functools.lru_cache
    def cached(k):
        calls.append(k)
        return k * 2

    @functools.wraps(cached)
    def wrapped(k, *, by=1):
        return cached(k) * by

    def counter():
        counter.count += 1
        return counter.count
    counter.count = 0
    numbers_of = itertools.count(5)
    pick, name = operator.itemgetter(1), operator.attrgetter("count")

    @compiled
    def work():
        return (x * cached(2) + wrapped(3, by=2) + counter() + next(numbers_of)
                + pick((1, 2)) + name(counter) + math.sqrt(4) + round(2.567, 1))
    return each_call(work, [cached.cache_clear, lambda: setattr(counter, "count", 50)]), calls


@use
def names_are_deleted(compiled, rows):
    x, outer = numbers(rows), 3

    def unbind():
        nonlocal outer
        del outer

    def bind():
        nonlocal outer
        outer = 4

    names = globals()
    names["FACTOR"] = 2
    work = compiled(lambda: x * FACTOR + outer)     # noqa: F821
    return each_call(work, [lambda: names.pop("FACTOR"), lambda: names.update(FACTOR=3), unbind,
                            bind, lambda: names.pop("FACTOR")])


@each_way(USES)
def test_language_agrees(use, way):
    agree(use, way)
