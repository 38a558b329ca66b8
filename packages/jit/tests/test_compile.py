"""Compiled functions do what the function does, whatever Python it contains."""

import gc
import threading

import pytest
from replay import leaves, same

import flambeau
from flambeau import jit
from flambeau.core import ops

X = flambeau.randn(4, 6)


def agrees(fn, *inputs, compiled=None):
    compiled = compiled or jit.compile(fn)
    mine, theirs = [x.clone() for x in inputs], [x.clone() for x in inputs]
    with jit.bridge.same_random_numbers():
        wanted = leaves(fn(*theirs))
    with jit.bridge.same_random_numbers():
        found = leaves(compiled(*mine))
    for one, other in zip([*found, *mine], [*wanted, *theirs], strict=True):
        assert same(one, other)
    return compiled


def block(x):
    return ops.gelu(x * 2 + 1).softmax(1), x.sum(0)


def test_functions_and_other_shapes():
    compiled = agrees(block, X)
    for n in (1, 2, 4):
        agrees(block, flambeau.randn(n, 6), compiled=compiled)
    assert len(compiled.plans.plans) == 3


def test_numbers_are_parameters():
    def step(x, rate):
        return (x * rate + 1).sub(x, alpha=rate)

    compiled = jit.compile(step)
    for rate in (0.1, 0.2, -3.5, 1e30):
        assert same(compiled(X, rate), step(X, rate))
    assert len(compiled.plans.plans) == 1
    assert same(compiled(X, 2), step(X, 2)), "an integer is another graph, not another number"
    assert len(compiled.plans.plans) == 2


def test_python_that_reads_values():
    def clip(x):
        norm = x.norm()
        if norm > 3:
            x = x * (3 / norm.item())
        for _ in range(int(x.abs().sum()) % 3 + 1):
            x = x + x.max()
        return x

    compiled = agrees(clip, X)
    agrees(clip, X * 100, compiled=compiled)
    assert "a graph ended for: bool()" in compiled.explain()


def test_shapes_that_depend_on_values():
    compiled = agrees(lambda x: x[x > 0].exp() * 2, X)
    assert "masked_select() gives depends on values" in compiled.explain()


def test_tensors_kept_in_python():
    kept = []

    def fn(x):
        y = x * 2
        kept.append(y[1:])
        return (y + 1).sum()

    agrees(fn, X)
    assert same(kept[0], kept[1])


def test_writing_in_place():
    state = [flambeau.zeros(6), flambeau.zeros(6)]

    def fn(x, into):
        into.add_(x.sum(0))
        x[:, 0] = 1
        into[2:] *= 2
        return into + 1

    compiled = jit.compile(fn)
    for _ in range(3):
        a, b = X.clone(), X.clone()
        assert same(compiled(a, state[0]), fn(b, state[1]))
        assert same(a, b)
        assert same(*state)


def test_views_of_captured_memory():
    """Not recorded as one memory: such writes run as they stand."""
    whole = [flambeau.zeros(3, 4), flambeau.zeros(3, 4)]
    parts = [w[1] for w in whole]

    def fn(x, number):
        y = whole[number] + x
        parts[number].add_(1)
        return y, whole[number] * 2

    compiled = jit.compile(fn)
    for _ in range(2):
        for one, other in zip(compiled(1, 0), fn(1, 1), strict=True):
            assert same(one, other)
    assert same(*whole)


def test_writing_after_reading():
    def fn(x):
        y = x + 1
        first = y[0]
        total = y.sum().item()
        first.mul_(total)
        y[:, 1] += first[1]
        return y

    agrees(fn, X)


def test_data_shares_memory():
    def fn(x):
        y = x * 2
        y.data.add_(1)
        return y * 3

    agrees(fn, X)


def test_random_numbers():
    agrees(lambda x: ops.dropout(x, 0.3, True) + flambeau.randn(4, 6), X)


def test_exceptions_leave_what_was_done():
    state = flambeau.zeros(3)

    @jit.compile
    def fails(x):
        state.add_(x)
        raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        fails(flambeau.ones(3))
    assert state.tolist() == [1.0, 1.0, 1.0]
    assert (state + 1).tolist() == [2.0, 2.0, 2.0]


def test_operators_errors_come_at_their_line():
    @jit.compile
    def fails(x):
        return x + flambeau.ones(5)

    with pytest.raises(RuntimeError, match="add"):
        fails(X)


def test_nested():
    inner = jit.compile(lambda x: x.exp() + 1)
    outer = agrees(lambda x: inner(x) * 2, X)
    assert "1 graph(s)" in outer.explain()


def test_structures_keywords_and_attributes():
    def fn(x, *, scale=1, more=()):
        return {"y": x * scale, "n": len(more)}

    fn.label = "mine"
    compiled = jit.compile(fn)
    result = compiled(X, scale=2.0, more=(1, 2))
    assert result["n"] == 2
    assert same(result["y"], X * 2.0)
    assert compiled.label == "mine"
    assert jit.compile()(fn).label == "mine"


def test_explain_needs_a_call():
    with pytest.raises(RuntimeError, match="call the compiled function once"):
        jit.compile(block).explain()


def test_plans_are_bounded():
    compiled = jit.compile(lambda x: x * 2 + 1)
    compiled.plans.size = 3
    for n in range(1, 9):
        compiled(flambeau.ones(n))
    assert len(compiled.plans.plans) == 3


def test_threads():
    compiled = jit.compile(block)
    wanted = [block(flambeau.full((n, 6), float(n))) for n in range(1, 5)]
    found = [None] * 4

    def work(number):
        for _ in range(20):
            found[number] = compiled(flambeau.full((number + 1, 6), float(number + 1)))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, other in zip(found, wanted, strict=True):
        assert all(map(same, one, other))


def test_memory_is_given_back():
    compiled = jit.compile(lambda x: (x * 2 + 1).sum(0))
    x = flambeau.ones(1000, 100)
    for _ in range(3):
        compiled(x)
    before = flambeau.core.memory_stats()["live_bytes"]
    gc.disable()
    try:
        for _ in range(20):
            compiled(x)
        assert flambeau.core.memory_stats()["live_bytes"] <= before + 1000
    finally:
        gc.enable()


def test_what_cannot_be_called_is_named():
    with pytest.raises(TypeError, match=r"jit.compile\(\): argument 'model' .*, not int"):
        jit.compile(3)
