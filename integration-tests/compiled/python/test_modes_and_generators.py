"""Functions in a mode, and generators, in replayed calls."""

from __future__ import annotations

import pytest
from kept import check_replayed, flat, replayed, same

import flambeau
from flambeau import nn

WEIGHT = flambeau.arange(1.0, 7, requires_grad=True)


@flambeau.no_grad()
def scaled(x, by=2.0):
    return x * WEIGHT * by


@flambeau.enable_grad()
def recorded(x):
    return x * WEIGHT


@flambeau.inference_mode()
def inferred(x):
    return (x * WEIGHT).sum()


@flambeau.set_grad_enabled(False)
def switched_off(x):
    return x * WEIGHT


@flambeau.autocast("cpu", dtype=flambeau.bfloat16)
def cast(x):
    return x.view(2, 3) @ x.view(3, 2)


class Holder:
    """Methods in modes."""

    def __init__(self):
        self.weight = flambeau.arange(6.0, requires_grad=True)

    @flambeau.no_grad()
    def quiet(self, x):
        """Without history."""
        return x * self.weight

    @classmethod
    @flambeau.no_grad()
    def of_class(cls, x):
        """The same of a class."""
        return x * WEIGHT

    @staticmethod
    @flambeau.no_grad
    def plain(x):
        """Without an object."""
        return x * WEIGHT


class Derived(Holder):
    """Calls the one above."""

    def quiet(self, x):
        """By ``super()``."""
        return super().quiet(x) + 1


HOLDER, DERIVED = Holder(), Derived()


def decorated(x):
    return scaled(x, by=3.0) + x, recorded(x)


def in_turn(x):
    with flambeau.no_grad():
        inner = recorded(x)
    return inner, scaled(x), inferred(x).item(), switched_off(x)


def in_half_precision(x):
    return cast(x), x.view(2, 3) @ x.view(3, 2)


def methods(x):
    return HOLDER.quiet(x), DERIVED.quiet(x), Holder.plain(x)


def chunks(x, size):
    for start in range(0, x.shape[0], size):
        yield x[start:start + size]


def numbered(x):
    index = 0
    while True:
        got = yield x + index
        if got is not None:
            return
        index += 1


def both(x):
    nothing = yield from chunks(x, 2)
    yield x if nothing is None else -x
    yield from (each * 2 for each in chunks(x, 3))
    yield from [x, x * WEIGHT]


def generated(x):
    return sum((each * 2).sum() for each in chunks(x, 2)), list(chunks(x, 4))


def delegated(x):
    return [each.exp() for each in both(x)]


def unfinished(x):
    made = numbered(x)
    return next(made) * next(made), [a * b for a, b in zip(numbered(x), chunks(x, 6), strict=False)]


def unpacked(x):
    first, second, third = chunks(x, 2)
    return first * second + third, flambeau.cat([*chunks(x, 2)])


@pytest.mark.parametrize("fn", [decorated, in_turn, in_half_precision, methods, generated,
                                delegated, unfinished, unpacked, scaled, switched_off, cast],
                         ids=lambda fn: getattr(fn, "__name__", "cast"))
def test_they_are_followed(fn):
    check_replayed(fn, flambeau.arange(6.0))


@pytest.mark.parametrize("kind", ["function", "defaults", "object"])
def test_what_decorated_functions_read_is_guarded(kind):
    held = {"by": 2.0}

    @flambeau.no_grad()
    def inner(x, more=1.0):
        return x * held["by"] + more

    def fn(x):
        return inner(x)

    x = flambeau.arange(6.0)
    run = replayed(fn, x)
    if kind == "object":
        held["by"] = 5.0
    elif kind == "defaults":
        inner.__wrapped__.__defaults__ = (7.0,)
    else:
        inner = flambeau.enable_grad()(lambda x: x * WEIGHT)
    assert same(flat(run(x)), flat(fn(x)))


def test_a_mode_of_a_program_is_not_taken_for_one_of_flambeau():
    entered = []

    class Counting(flambeau.no_grad):
        def __enter__(self):
            entered.append(1)
            return super().__enter__()

    @Counting()
    def inner(x):
        return x * 2

    run = flambeau.compile(lambda x: inner(x), replay=True)
    for k in range(6):
        run(flambeau.ones(3))
        assert len(entered) == k + 1


def test_a_generator_ends_where_python_lets_go_of_it():
    """What stands in ``finally`` runs before what comes after the loop."""
    total = flambeau.zeros(3)

    def counting(x):
        try:
            yield x * 2
            yield x * 3
        finally:
            total.add_(x)

    def fn(x):
        for each in counting(x):
            found = each
            break
        total.mul_(2)
        return found + total

    def ran(run):
        total.zero_()
        return [flat(run(flambeau.ones(3) * k)) for k in range(7)]

    wanted = ran(fn)
    for one, other in zip(ran(flambeau.compile(fn, replay=True)), wanted, strict=True):
        assert same(one, other)


def test_generators_of_outside_are_used_up():
    made = (k * 1.0 for k in range(100))

    def fn(x):
        return x * next(made)

    run = flambeau.compile(fn, replay=True)
    assert [run(flambeau.ones(1)).item() for _ in range(8)] == [float(k) for k in range(8)]


def test_a_training_step_in_a_method_that_is_decorated():
    """A momentum encoder, as it is written: its update is decorated."""
    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.student, self.teacher = nn.Linear(6, 6), nn.Linear(6, 6)

        @flambeau.no_grad()
        def update(self):
            for one, other in zip(self.student.parameters(), self.teacher.parameters(),
                                  strict=True):
                other.mul_(0.9).add_(one, alpha=0.1)

        def forward(self, x):
            self.update()
            return self.student(x) - self.teacher(x).detach()

    def ran(compiled):
        flambeau.manual_seed(2)
        net = Pair()
        run = compiled(net)
        return [flat([run(flambeau.ones(2, 6) * k), net.teacher.weight]) for k in range(8)], run

    (one, _), (other, run) = (ran(lambda net: net),
                              ran(lambda net: flambeau.compile(net, replay=True)))
    assert all(map(same, one, other))
    assert vars(run)["_compiled"].explain().startswith("replayed")
