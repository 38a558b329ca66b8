"""Calls that gained nothing by waiting do not wait any more, at their place in their function."""

import pytest

import flambeau
from flambeau import compiler, jit
from flambeau.core._core import memory_stats, reset_peak_memory_stats, waiting_calls

X = flambeau.linspace(-2, 2, 12).reshape(3, 4)


@pytest.fixture(autouse=True)
def nothing_is_known(small_kernels_wait):
    compiler.reset()


def noting(*steps):
    """A compiled function of steps, and how many calls waited after each of them."""
    counts = []

    def fn(x, last=None):
        for step in steps[:last]:
            x = step(x)
            counts.append(waiting_calls())
        return x

    def waited(*args):
        counts.clear()
        wanted = X
        for step in steps[: args[0] if args else None]:
            wanted = step(wanted)
        assert flambeau.equal(compiled(X, *args), wanted)
        return list(counts)
    compiled = jit.compile(fn, replay=False)
    return compiled, waited


def double(x):
    return x * 2


def relu(x):
    return x.relu()


def order(x):
    return x.sort(0).values


def test_one_that_shares_no_loop_stops_waiting():
    _, waited = noting(relu, order)
    assert [waited()[0] for _ in range(5)] == [1, 1, 1, 0, 0]


def test_those_that_share_one_go_on():
    _, waited = noting(double, relu, order)
    assert [waited()[:2] for _ in range(6)] == [[1, 2]] * 6


#: Fewest and most runs by code and by the core's kernel, in turn, until one is known to be faster.
TRIED, MOST_TRIED = 10, 40


@pytest.mark.parametrize("formula", [
    flambeau.sigmoid, flambeau.log, flambeau.erf, flambeau.sin])
def test_long_formulas_are_tried_by_code_and_kernel_to_the_same_bits(formula):
    def fn(x):
        y = formula(x)
        counts.append(waiting_calls())
        return y

    counts, compiled = [], jit.compile(fn, replay=False)
    for _ in range(MOST_TRIED + 8):
        wanted, found = fn(X.clone()), compiled(X.clone())
        assert wanted.numpy().tobytes() == found.numpy().tobytes()
    waited = counts[1::2]
    assert all(waited[:TRIED]) and len(set(waited[MOST_TRIED + 3:])) == 1


@pytest.mark.parametrize("x", [flambeau.linspace(-2, 2, 24).reshape(3, 8)[:, ::2],
                               flambeau.linspace(-2, 2, 12).reshape(4, 3).t()])
def test_loops_over_elements_apart_are_tried_and_have_habits_then(x):
    """Code for them has no vectors, and was up to six times as slow as the core's kernels."""
    def fn(x, y):
        found = (x * 2 + y).tanh().add_(y)
        counts.append(waiting_calls())
        return found, (x + 1).relu().sum(-1)

    counts, compiled, y = [], jit.compile(fn, replay=False), X.clone()
    for _ in range(MOST_TRIED + 8):
        wanted, found = fn(x, y), compiled(x, y)
        assert all(a.numpy().tobytes() == b.numpy().tobytes()
                   for a, b in zip(wanted, found, strict=True))
    waited = counts[1::2]
    assert all(waited[:TRIED]) and len(set(waited[MOST_TRIED + 4:])) == 1


def test_what_is_tried_has_no_habit_yet():
    """Only what follows decides, so that one that shares a loop later goes on waiting."""
    _, waited = noting(flambeau.sigmoid, double)
    for _ in range(TRIED - 1):
        waited(1)
    assert [waited() for _ in range(TRIED + 4)] == [[1, 2]] * (TRIED + 4)
    assert [waited(1) for _ in range(TRIED + 4)] == [[1]] * (TRIED + 4)


def test_what_waits_is_not_run_for_one_that_shares_nothing():
    """The sum of columns reads what waits, which something else may join."""
    _, waited = noting(lambda x: x.exp(), lambda x: x.sum(0))
    assert [waited()[1] for _ in range(6)] == [2] * 6


def test_another_way_through_the_function_has_other_places():
    _, waited = noting(relu, order, double, relu)
    for _ in range(5):
        waited(1)
    assert waited(1) == [0]
    assert waited() == [0, 0, 1, 2]
    for _ in range(4):
        waited()
    assert waited() == [0, 0, 1, 2]


def test_one_that_gained_once_goes_on():
    """The first call alone shares a loop; the place is the same."""
    _, waited = noting(double, relu)
    assert waited() == [1, 2]
    assert [waited(1) for _ in range(6)] == [[1]] * 6


def test_functions_have_places_of_their_own_and_reset_forgets():
    _, waited = noting(relu)
    _, other = noting(relu)
    for _ in range(4):
        waited()
    assert waited() == [0] and other() == [1]
    compiler.reset()
    assert waited() == [1]


def test_explain_shows_what_could_wait():
    compiled, waited = noting(relu)
    for _ in range(5):
        waited()
    assert [event.lines for event in compiled.explain(X).events if event.is_loop] == [
        ["[3, 4]: relu; reads 1, writes 1"]]


def test_batch_norm_alone_is_that_of_uncompiled_calls():
    image = flambeau.randn(4, 3, 5, 5)
    ones, zeros = flambeau.ones(3), flambeau.zeros(3)

    def fn(x):
        y = flambeau.nn.functional.batch_norm(x, None, None, ones, zeros, True)
        counts.append(waiting_calls())
        return y
    counts, compiled = [], jit.compile(fn, replay=False)
    for _ in range(6):
        assert flambeau.equal(compiled(image), fn(image))
    assert counts[::2] == [1, 1, 1, 0, 0, 0]


def peak(call, x):
    before = memory_stats()["live_bytes"]
    reset_peak_memory_stats()
    call(x)
    return memory_stats()["peak_live_bytes"] - before


def test_results_take_the_memory_that_what_waits_lets_go_of():
    """It runs before they are made, as it does uncompiled."""
    def fn(x):
        return x.mul(2).add(1).gather(0, index)
    x, compiled = flambeau.randn(100_000), jit.compile(fn, replay=False)
    index = flambeau.arange(100_000).repeat(2)
    compiled(x)
    assert peak(compiled, x) <= peak(fn, x)
