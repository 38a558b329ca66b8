"""Compiled functions do what the function does, whatever Python it contains."""

import gc
import inspect
import signal
import sys
import threading

import numpy as np
import pytest
from replay import leaves, same

import flambeau
from flambeau import jit
from flambeau.core import ops
from flambeau.jit import bridge, compiling

X = flambeau.randn(4, 6)


def agrees(fn, *inputs, compiled=None):
    compiled = compiled or jit.compile(fn)
    mine, theirs = [x.clone() for x in inputs], [x.clone() for x in inputs]
    with bridge.same_random_numbers():
        wanted = leaves(fn(*theirs))
    with bridge.same_random_numbers():
        found = leaves(compiled(*mine))
    for one, other in zip([*found, *mine], [*wanted, *theirs], strict=True):
        assert same(one, other)
    return compiled


def block(x):
    return ops.gelu(x * 2 + 1).softmax(1), x.sum(0)


@pytest.fixture(autouse=True)
def small_kernels_wait():
    """As large ones do."""
    bridge.configure_deferral(compiling.make_plan, 1)
    yield
    bridge.configure_deferral(compiling.make_plan)


def test_functions_and_other_shapes():
    compiled = agrees(block, X)
    for n in (1, 2, 4):
        agrees(block, flambeau.randn(n, 6), compiled=compiled)


def loops(compiled):
    """What the last call ran, a line for each loop."""
    return [line.strip() for line in compiled.explain().splitlines() if line.startswith(" ")]


def test_a_chain_is_one_loop():
    compiled = agrees(lambda x: ((x * 2 + 1).tanh() - x).relu(), X)
    assert loops(compiled) == ["[4, 6]: mul add tanh sub relu; reads 1, writes 1"]


def test_what_is_held_is_written():
    kept = []

    def fn(x):
        kept.append(x * 2)
        return kept[-1] + 1

    assert loops(agrees(fn, X)) == ["[4, 6]: mul add; reads 1, writes 2"]
    assert same(kept[0], X * 2)


def test_numbers_are_parameters():
    def step(x, rate):
        return (x * rate + 1).sub(x, alpha=rate)

    compiled = jit.compile(step, replay=False)
    plans = set()
    for rate in (0.1, 0.2, -3.5, 1e30, 2):
        assert same(compiled(X, rate), step(X, rate))
        plans.add(compiled.report[0][0])
    assert len(plans) == 2, "one for floats, one for integers"


def test_writes_in_place_share_a_loop_where_indices_agree():
    def fn(x):
        x.mul_(2).add_(1)
        x[1:] += x[:1]
        return x.exp_()

    assert loops(agrees(fn, X)) == [
        "[4, 6]: mul add; reads 1, writes 1", "[3, 6]: add; reads 2, writes 1",
        "[4, 6]: exp; reads 1, writes 1"]


def test_powers_have_the_formula_of_their_exponent():
    def fn(x, p):
        return (x * 2) ** p + 1

    compiled = jit.compile(fn)
    for p in (2, 3, -1, -2, 0.5, -0.5, 2.5, 7, 2.0):
        assert same(compiled(X, p), fn(X, p)), p
    compiled(X, 3.0)
    assert loops(compiled) == ["[4, 6]: mul pow add; reads 1, writes 1"]


def test_rare_values_in_place():
    """A loop with rare cases computes a tile twice, and must not read what it wrote."""
    x = flambeau.tensor([1e30, 1.0, -1e5, 700.0, float("nan"), float("inf")]).repeat(500)
    agrees(lambda x: x.sin_().mul_(3).exp_(), x)
    agrees(lambda x: x.cos_().add_(x.tan()), x)


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
    assert "run for bool()" in compiled.explain()


def test_shapes_that_depend_on_values():
    compiled = agrees(lambda x: x[x > 0].exp() * 2, X)
    assert "run for nonzero" in compiled.explain()


def test_memory_that_others_may_write_to_is_read_at_once():
    array = np.ones((4, 6), np.float32)

    def fn(x):
        shared = flambeau.from_numpy(array)
        y = shared + x
        array[:] = 7
        return y

    found = jit.compile(fn)(X)
    assert same(found, X + 1)
    mine = X.clone()
    view = mine.numpy()

    def other(x):
        y = x * 2
        view[:] = 0
        return y

    assert same(jit.compile(other)(mine), X * 2)


def test_small_tensors_are_left_alone():
    bridge.configure_deferral(compiling.make_plan)
    compiled = agrees(lambda x: x * 2 + 1, X)
    assert compiled.explain() == "nothing waited: no tensor was large enough"


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


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("target", ["float64", "float32", "bfloat16", "int64", "complex64", "bool"])
def test_targets_of_other_dtypes(target):
    """Numbers are computed in the dtype of the operands, not in the target's."""
    dtype = getattr(flambeau, target)

    def fn(x, wide):
        outs = [flambeau.zeros(x.shape, dtype=dtype) for _ in range(3)]
        if dtype.is_floating_point or dtype.is_complex:
            flambeau.exp(x, out=outs[0])
            outs[1].mul_(wide).add_(x)
        flambeau.lt(x, wide, out=outs[2])
        return *outs, x.mul_(wide).div_(wide + 3)

    agrees(fn, X, flambeau.randn(4, 6, dtype=flambeau.float64))


@pytest.mark.parametrize("write", [
    lambda x: x.expand(2, 6).fill_(3), lambda x: x.unfold(0, 2, 1).fill_(2),
    lambda x: x.expand(2, 6).add_(1), lambda x: x.unfold(0, 2, 1).mul_(2),
    lambda x: x[1:].add_(x[:-1]), lambda x: x.as_strided((2, 2), (1, 1)).copy_(x[:2])])
def test_elements_that_share_memory(write):
    """They are filled or refused as in eager code, and what waited before is done."""
    def outcome(run):
        x = flambeau.arange(6.0)
        try:
            run(x)
        except RuntimeError as error:
            return str(error), x.tolist()
        return x.tolist()

    def fn(x):
        x.mul_(2).add_(1)
        write(x)
        x.sub_(3)

    assert outcome(jit.compile(fn)) == outcome(fn)


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
    assert loops(outer) == ["[4, 6]: exp add mul; reads 1, writes 1"]


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


def test_another_thread_reads_what_waits():
    found = []

    def fn(x):
        y = x * 2 + 1
        reader = threading.Thread(target=lambda: found.append((y - 1).sum().item()))
        reader.start()
        reader.join()
        return y

    agrees(fn, X)
    assert found[0] == found[1]


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


def test_signals_while_a_plan_is_made():
    """Its handler runs when the kernels have run: it reads what they compute, and may raise."""
    x, seen = flambeau.zeros(5), []

    def planner(*given):
        signal.raise_signal(signal.SIGINT)
        return compiling.make_plan(*given)

    def handle(*_):
        seen.append(x.tolist())
        raise KeyboardInterrupt

    jit.bridge.configure_deferral(planner, 1)
    before = signal.signal(signal.SIGINT, handle)
    try:
        with pytest.raises(KeyboardInterrupt):
            jit.compile(lambda: x.add_(2).mul_(3).tolist())()
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [x.tolist()] == [[6.0] * 5]


def test_plans_are_made_at_any_depth():
    def deep(levels):
        return deep(levels - 1) if levels else (X * 2.5 + 1).exp()

    depth = sys.getrecursionlimit() - len(inspect.stack()) - 20
    assert same(jit.compile(deep)(depth), deep(0))


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
