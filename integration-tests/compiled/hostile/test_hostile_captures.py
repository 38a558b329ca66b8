"""Tensors that a compiled function reaches in two ways, and others reach by none that it names."""

import functools
import types

from agreeing import agree, each_call, each_way, numbers

import flambeau
from flambeau import nn

USES = []


def use(program):
    USES.append(program)
    return program


class Holder(nn.Module):
    """Has one tensor under several names."""

    def __init__(self, x):
        super().__init__()
        self.weight = nn.Parameter(x)
        self.listed, self.nested, self.method = [self.weight], (1, (self.weight,)), self.weight.mul

    @property
    def same(self):
        """The weight."""
        return self.weight

    def forward(self, a):
        """A product with it."""
        return self.weight * a


#: How a function that is given a tensor comes to the same tensor a second time.
WAYS_TO_IT = {
    "variable": lambda x, m: lambda a: x * 2 + a,
    "default": lambda x, m: lambda a, k=x: k * 2 + a,
    "default_by_name": lambda x, m: lambda a, *, k=x: k * 2 + a,
    "list": lambda x, m: lambda a: [x][0] * 2 + m.listed[0] * a,
    "tuple": lambda x, m: lambda a: m.nested[1][0] * 2 + a,
    "unpacked": lambda x, m: lambda a: [p for _, (p,) in [m.nested]][0] * 2 + a,
    "dict": lambda x, m: lambda a: m._parameters["weight"] * 2 + a,
    "attribute": lambda x, m: lambda a: m.weight * 2 + a,
    "property": lambda x, m: lambda a: m.same * 2 + a,
    "called": lambda x, m: lambda a: m(a),
    "parameters": lambda x, m: lambda a: next(m.parameters()) * 2 + a,
    "named": lambda x, m: lambda a: dict(m.named_parameters())["weight"] * 2 + a,
    "state": lambda x, m: lambda a: m.state_dict()["weight"] * 2 + a,
    "partial": lambda x, m: functools.partial(lambda b, a: b * 2 + a, x),
    "partial_by_name": lambda x, m: functools.partial(lambda a, b: b * 2 + a, b=x),
    "method": lambda x, m: lambda a: m.method(a) + a,
    "bound": lambda x, m: x.mul,
    "bound_function": lambda x, m: types.MethodType(lambda b, a: b * 2 + a, x),
    "other_keywords": lambda x, m: lambda a, **more: x * 2 + a + more["b"],
}


def given(name):
    def program(compiled, rows):
        m = Holder(numbers(rows))
        x, y, z = m.weight, nn.Parameter(numbers(rows, 1)), nn.Parameter(numbers(rows, 2))
        work = compiled(WAYS_TO_IT[name](x, m))
        more = {"b": numbers(rows, 3)} if name == "other_keywords" else {}
        kept = []
        for a in (x, y, x, z, y):
            kept += [work(a, **more).detach() for _ in range(4)]
        return kept
    program.__name__ = f"given_{name}"
    return program


def changed(name):
    def program(compiled, rows):
        m = Holder(numbers(rows))
        x, a = m.weight, numbers(rows, 1)
        work = compiled(WAYS_TO_IT[name](x, m))
        more = {"b": numbers(rows, 3)} if name == "other_keywords" else {}

        def gradient():
            made = work(a, **more)
            if not made.requires_grad:
                return made
            made.sum().backward()
            found, x.grad = x.grad, None
            return made.detach(), found
        return each_call(gradient, [
            lambda: setattr(x, "data", numbers(rows, 4)), lambda: x.requires_grad_(False),
            lambda: x.set_(numbers(rows, 5)), lambda: x.requires_grad_(),
            lambda: x.register_hook(lambda g: g * 3)])
    program.__name__ = f"changed_{name}"
    return program


USES += [make(name) for name in WAYS_TO_IT for make in (given, changed)]


@use
def containers_are_given_that_are_captured(compiled, rows):
    x, y, z = (numbers(rows, k) for k in range(3))
    items, table, pair = [x, y], {"a": x, "b": [y]}, (x, (y,))
    others = {"list": [z, x], "dict": {"a": y, "b": [z]}, "tuple": (z, (x,))}
    works = {"list": compiled(lambda v: items[0] * 2 + v[0] - v[1]),
             "dict": compiled(lambda v: table["a"] * 2 + v["a"] - table["b"][0] * v["b"][0]),
             "tuple": compiled(lambda v: pair[0] * 2 + v[0] - pair[1][0] * v[1][0])}
    kept = []
    for name, mine in (("list", items), ("dict", table), ("tuple", pair)):
        for v in (mine, others[name], mine, others[name]):
            kept += [works[name](v) for _ in range(4)]
    return kept


@use
def lists_that_are_given_are_refilled(compiled, rows):
    x, y = numbers(rows), numbers(rows, 1)
    batch, named = [x, y], {"k": x}
    work = compiled(lambda items, table: items[0] * 2 + items[-1] - table["k"])

    def swap():
        batch.reverse()
        named["k"] = numbers(rows, 2)
    return each_call(lambda: work(batch, named), [swap, swap, lambda: batch.append(x)])


@use
def the_gradient_of_what_is_captured_is_given(compiled, rows):
    w, x = numbers(rows).requires_grad_(), numbers(rows, 1)
    w.grad = numbers(rows, 2)
    first, other = w.grad, numbers(rows, 3)

    @compiled
    def work(a):
        with flambeau.no_grad():
            return w.grad * 2 + a * x
    return [work(a) for a in (first, first, first, first, other, other, first)]


@each_way(USES)
def test_captures_agree(use, way):
    agree(use, way)


def test_keywords_are_no_reason_against_replays():
    """The dict of other keywords is made by each call, and may be changed in it."""
    def inner(*items, **more):
        more["c"] = items[0] * 2
        return more["b"] + more["c"]

    work = flambeau.compile(lambda *items, **more: inner(*items, **more), replay=True)
    for k in range(4):
        x, y = numbers(3, k), numbers(3, k + 1)
        assert (work(x, b=y) == x * 2 + y).all()
    assert work.explain().startswith("replayed"), work.explain()
