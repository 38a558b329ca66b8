"""Compiled functions whose arguments, closures, results and surroundings change."""

import collections
import dataclasses
import functools
import warnings

from agreeing import agree, each_way, numbers

import flambeau

USES = []


def use(program):
    USES.append(program)
    return program


Pair = collections.namedtuple("Pair", "first second")


@dataclasses.dataclass
class Held:
    one: object
    others: list


@use
def named_tuples_and_classes(compiled, rows):
    x = numbers(rows)

    @compiled
    def work(pair, held):
        top = pair.first.max(-1)
        held.others.append(top.values * 2)
        held.one = held.one + pair.second
        pair.first.mul_(0.5)
        fresh = Pair(top, pair._replace(second=top.indices + 1))
        return fresh, held, type(top).__name__, pair
    kept, held = [], Held(x * 1, [])
    for _ in range(4):
        a, b, c, d = work(Pair(x, x + 1), held)
        assert type(a) is Pair and type(a.second) is Pair and b is held
        kept += [a.first, tuple(a.first), a.second, c, d, held.one, list(held.others)]
    return kept, x


@use
def lists_and_dictionaries_change_inside(compiled, rows):
    x = numbers(rows)

    @compiled
    def work(items, table, *rest, **named):
        items.append(items.pop(0) * 2)
        table["sum"] = table.get("sum", 0) + sum(items)
        table[len(table)] = x + len(items)
        for key in list(table):
            if isinstance(key, int) and key % 2:
                table.pop(key).add_(1)
        named["last"].mul_(2)
        named["more"] = rest[0] if rest else x
        return items, dict(table), list(named), named
    items, table, kept = [x * 1, x + 1], {}, []
    for k in range(5):
        got, told, names, named = work(items, table, *([x] if k % 2 else []), last=x * 1,
                                       **({"k": k} if k > 2 else {}))
        assert got is items
        kept += [list(got), told, names, named]
        if k == 3:
            items.insert(0, x - 1)
    return kept, x


@use
def closures_and_globals_change(compiled, rows):
    x, scale, box = numbers(rows), 2.0, {"k": 1}
    shift = [3]

    def helper(a, by=1):
        return a * by

    @compiled
    def work(a, bias=0.0, *, also=1):
        return (helper(a) * scale + box["k"] + shift[-1] + bias) * also
    kept = [work(x), work(x)]
    scale = 3.0
    kept += [work(x), work(x)]
    box["k"] = 2
    kept += [work(x), work(x)]
    shift.append(flambeau.tensor(7.0))
    kept += [work(x), work(x)]
    shift[-1].add_(1)
    kept += [work(x)]
    shift[-1] = True
    kept += [work(x)]
    helper.__defaults__ = (5,)
    kept += [work(x), work(x)]
    before = helper.__code__
    helper.__code__ = (lambda a, by=1: a + by).__code__
    kept += [work(x), work(x)]
    helper.__code__ = before
    kept += [work(x)]
    scale = x[0] * 2
    kept += [work(x), work(x, also=2), work(x, 1), work(x, bias=-0.0), work(x * 0, 0.0)]
    return kept


@use
def arguments_become_aliases(compiled, rows):
    @compiled
    def work(a, b, c):
        y = a * 2
        b.add_(1)
        z = a + c
        c.mul_(b)
        return y, z, a * c
    kept = []
    for k in range(10):
        x, y, z = numbers(rows), numbers(rows, 1), numbers(rows, 2)
        three = [(x, y, z), (x, x, y), (x, x[:], x.view(-1).view(rows, 4)), (x, y, x),
                 (x, y, z), (x, y, y), (x.detach(), x, z), (x, x.data, y),
                 (x[1:], x[:-1], y[1:]), (x, y, z)][k]
        kept += [work(*three), x, y, z]
    return kept


@use
def results_that_are_arguments(compiled, rows):
    x = numbers(rows)

    @compiled
    def work(a):
        y = a * 2
        return a, y, y, a[:], (y, [a, y.view(-1)]), a.view(rows, 4), a.contiguous(), y.float()
    kept = []
    for _ in range(4):
        a, y, z, view, (w, (b, flat)), other, c, f = work(x)
        kept.append([a is x, y is z, w is y, b is x, view is x, c is x, f is y, other is x])
        y.add_(1)
        kept += [z, flat, f]
        view.mul_(2)
        kept += [x.clone(), view._version, x._version]
    return kept


@use
def warnings_are_given_each_time(compiled, rows):
    x = numbers(rows)

    @compiled
    def work():
        out = flambeau.empty(2)
        flambeau.mul(x, 2, out=out)
        warnings.warn("mine", stacklevel=1)
        return out + 1
    kept = []
    for _ in range(4):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            kept.append(work())
        kept.append([(str(w.message)[:30], w.category.__name__) for w in told])
    return kept


@use
def iterators_are_consumed(compiled, rows):
    x = numbers(rows)

    @compiled
    def work(items, more):
        total = x * 0
        for k, item in zip(range(2), items):  # noqa: B905
            total = total + item * k
        return total, next(more, None), sorted([3, 1]), [*map(float, x[0])]
    items, more = iter([x * k for k in range(20)]), iter(range(3))
    return [work(items, more) for _ in range(5)], len(list(items))


@use
def defaults_are_kept(compiled, rows):
    x = numbers(rows)

    @compiled
    def work(a, seen=[]):  # noqa: B006
        seen.append(a * 2)
        a.add_(1)
        return sum(seen), len(seen)

    @compiled
    def counted(a, table={"n": 0}):  # noqa: B006
        table["n"] += 1
        return a * table["n"]
    return [work(x) for _ in range(5)], [counted(x) for _ in range(5)], x


@use
def attributes_of_tensors(compiled, rows):
    x = numbers(rows)

    @compiled
    def work(x):
        x.note = getattr(x, "note", 0) + 1
        y = x * x.note
        y.parent = x
        y.other = y.parent + 1
        x.add_(1)
        return y, y.other, x.note
    kept = [work(x) for _ in range(5)]
    return kept, x, x.note, kept[-1][0].parent is x


@use
def partials_and_methods(compiled, rows):
    class Part:
        scale = 2

        def __init__(self):
            self.count = 0
            self.items = [1]

        def __call__(self, a):
            self.count += 1
            return a * self.scale + self.count

        @property
        def twice(self):
            return self.scale * 2

        def work(self, a):
            self.items = [*self.items, len(self.items)]
            return a * self.twice + sum(self.items)

        @classmethod
        def made(cls, a):
            return a + cls.scale

        @staticmethod
        def plain(a):
            return a - 1

    x, part = numbers(rows), Part()
    one, two = compiled(part), compiled(part.work)
    three, four = compiled(Part.made), compiled(Part.plain)
    five = compiled(functools.partial(part.work, x))
    kept = []
    for k in range(6):
        kept += [one(x), two(x), three(x), four(x), five()]
        if k == 2:
            Part.scale = 3
        if k == 3:
            part.scale = 4.0
    return kept, part.count, part.items


@use
def compiled_in_compiled(compiled, rows):
    x = numbers(rows)
    inner = compiled(lambda a, k: (a * k).add_(1))
    other = flambeau.compile(lambda a: a.mul_(2).exp(), replay=True)
    third = flambeau.compile(lambda a: inner(a, 3) + a, fullgraph=False)

    @compiled
    def work(k):
        y = inner(x, k)
        x.add_(0.1)
        z = other(y * 0.1)
        y.sub_(1)
        return y, z, third(x), inner(y, 2)
    kept = [work(k) for k in (1, 1, 2, 2, 1)]
    kept.append(inner(x, 1))
    return kept, x


@use
def prints(compiled, rows):
    x = numbers(rows)[:2]

    @compiled
    def work(x):
        y = x * 2
        text = f"{y} {y.sum():.3f} {x!r}"
        x.add_(1)
        same = hash(y) == hash(y), y in [y]
        return text, f"{x.mean().item():.4f}", y.tolist(), list(y.shape), same, y.dim()
    return [work(x) for _ in range(3)], x


@use
def locals_and_frames(compiled, rows):
    x = numbers(rows)

    @compiled
    def work(a):
        b = a * 2
        seen = dict(locals())
        a.add_(1)
        c = seen["b"] + 1
        exec("seen['d'] = b * 3")
        return seen["d"], c, eval("a + c")
    return [work(x) for _ in range(4)], x


@each_way(USES)
def test_arguments_agree(use, way):
    agree(use, way)
