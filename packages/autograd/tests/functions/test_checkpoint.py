"""Checkpoints: the same gradients bit for bit, from less memory."""

import pytest
from numbers_for_tests import reals

import flambeau
from flambeau.autograd import grad
from flambeau.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    noop_context_fn,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)


def block(x, w):
    return (x @ w).tanh() * x.exp()


def noisy(x):
    """Draws random numbers."""
    return x * (flambeau.rand(x.shape, dtype=x.dtype) < 0.5) + x.tanh()


def same(left, right):
    return all(flambeau.equal(a, b) for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize("early", [True, False])
def test_gradients_are_equal_to_the_bit(early):
    x, w = reals(3, 3), reals(3, 3, seed=1)
    with set_checkpoint_early_stop(early):
        y = checkpoint(block, checkpoint(block, x, w), w, use_reentrant=False)
        assert same(grad(y.sum(), (x, w)), grad(block(block(x, w), w).sum(), (x, w)))


def test_random_numbers_are_drawn_again():
    x = reals(50)
    flambeau.manual_seed(3)
    plain = grad((noisy(x) * noisy(x)).sum(), x)
    after = flambeau.rand(1)
    flambeau.manual_seed(3)
    y = (checkpoint(noisy, x) * checkpoint(noisy, x)).sum()
    flambeau.rand(7)
    state = flambeau.get_rng_state()
    assert same(grad(y, x), plain)
    assert flambeau.equal(flambeau.get_rng_state(), state)
    flambeau.manual_seed(3)
    noisy(x), noisy(x)
    assert flambeau.equal(flambeau.rand(1), after)


def test_nested_twice_differentiated_and_walked_again():
    x, w = reals(3, 3), reals(3, 3, seed=1)

    def nested(x, w):
        return checkpoint(lambda x: checkpoint(block, x, w).sin(), x).pow(2)

    def derivatives(fn):
        y = fn(x, w).sum()
        first = grad(y, (x, w), create_graph=True)
        second = grad(sum((g * g).sum() for g in first), (x, w), retain_graph=True)
        return [*first, *second, *grad(y, (x, w))]

    plain = derivatives(lambda x, w: block(x, w).sin().pow(2))
    for kept, expected in zip(derivatives(nested), plain, strict=True):
        assert flambeau.allclose(kept, expected, rtol=1e-12)


def test_runs_once_more_per_pass():
    runs = []

    def fn(x):
        runs.append(1)
        return x.exp().sin()

    x = reals(3)
    y = checkpoint(fn, x).sum()
    assert len(runs) == 1
    y.backward(retain_graph=True)
    assert len(runs) == 2
    y.backward()
    assert len(runs) == 3


def test_nothing_is_kept_between_the_passes():
    x = flambeau.ones(1000, requires_grad=True)

    def fn(x):
        for _ in range(10):
            x = x.sin().exp()
        return x

    def bytes_kept(run):
        before = flambeau.core.memory_stats()["live_bytes"]
        y = run()
        return flambeau.core.memory_stats()["live_bytes"] - before, y

    plain, _ = bytes_kept(lambda: fn(x))
    kept, _ = bytes_kept(lambda: checkpoint(fn, x))
    assert plain >= 40_000 and kept < 10_000


def test_an_input_written_to_is_an_error():
    x = reals(3)
    h = x * 1
    y = checkpoint(lambda h: h.exp(), h)
    h.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        y.sum().backward()


def test_other_runs_are_told_apart():
    state = [0]

    def longer(x):
        state[0] += 1
        return x.exp().sin() if state[0] > 1 else x.exp()

    def shorter(x):
        state[0] += 1
        return x.exp().sin() if state[0] == 1 else x * 2

    def other_shape(x):
        state[0] += 1
        return x[:state[0]].exp().sum()

    x = reals(5)
    for fn, text in ((shorter, "fewer tensors"), (other_shape, "different metadata")):
        state[0] = 0
        with pytest.raises(CheckpointError, match=text):
            checkpoint(fn, x).sum().backward()
    state[0] = 0
    with pytest.raises(CheckpointError, match="more tensors"):
        checkpoint(longer, x, early_stop=False).sum().backward()


def test_autocast_is_the_same_in_the_second_run():
    w = flambeau.ones(2, 2, requires_grad=True)
    seen = []

    def fn(w):
        y = w @ w
        seen.append(y.dtype)
        return y.float().exp()

    with flambeau.autocast("cpu"):
        y = checkpoint(fn, w)
    y.sum().backward()
    assert seen == [flambeau.bfloat16] * 2
    seen.clear()
    y = checkpoint(fn, w)
    with flambeau.autocast("cpu"):
        y.sum().backward()
    assert seen == [flambeau.float32] * 2


def test_a_gradient_taken_inside():
    x = reals(3)

    def penalty(x):
        inner, = grad((x ** 3).sum(), x, create_graph=True)
        return (inner * inner).sum()

    assert same(grad(checkpoint(penalty, x), x), grad(penalty(x), x))


def test_without_grad_and_contexts():
    x = reals(3)
    with flambeau.no_grad():
        assert not checkpoint(lambda x: x.exp(), x).requires_grad
    order = []

    class Note:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            order.append(self.name)

        def __exit__(self, *exception):
            pass

    y = checkpoint(lambda x: x.exp(), x, context_fn=lambda: (Note("first"), Note("second")))
    y.sum().backward()
    assert order == ["first", "second"]
    with pytest.raises(ValueError, match="determinism_check"):
        checkpoint(lambda x: x, x, determinism_check="some")


@pytest.mark.parametrize("segments", [1, 2, 3, 5])
def test_sequential(segments):
    steps = [lambda x: x.sin(), lambda x: x.exp(), lambda x: x * x, lambda x: x.tanh(),
             lambda x: x.cos()]
    x = reals(4)
    y = x
    for step in steps:
        y = step(y)
    z = checkpoint_sequential(steps, segments, x, use_reentrant=False)
    assert flambeau.equal(y, z)
    assert same(grad(z.sum(), x), grad(y.sum(), x))
    with pytest.raises(ValueError, match="segments"):
        checkpoint_sequential(steps, 6, x)


def test_debug_lists_what_both_runs_executed():
    state = [0]

    def fn(x):
        state[0] += 1
        return (x.sin() * 2).exp() if state[0] == 1 else x[:1].sin().exp()

    with pytest.raises(CheckpointError, match="passed `debug=True` to checkpoint") as error:
        checkpoint(fn, reals(2), debug=True).sum().backward()
    first, second = str(error.value).split("Operators of the second run:")
    assert "mul" in first and "mul" not in second and "sin([[1]])" in second
    with pytest.raises(ValueError, match="incompatible with non-default context_fn"):
        checkpoint(fn, reals(2), debug=True, context_fn=lambda: noop_context_fn())
    state[0] = 0
    with set_checkpoint_debug_enabled(True), pytest.raises(CheckpointError, match="debug=True"):
        checkpoint(fn, reals(2)).sum().backward()


def test_saved_values_outside_of_a_pass_are_not_kept():
    runs = []
    y = checkpoint(lambda x: runs.append(1) or (x * x).exp(), reals(3))
    for count in (2, 3):
        assert flambeau.equal(y.grad_fn._saved_result, y)
        assert len(runs) == count
    y.sum().backward()
    assert len(runs) == 4


def test_a_checkpoint_without_gradients_is_told_of_with_use_reentrant():
    constant = flambeau.ones(3)

    def fn(x):
        return constant

    x = flambeau.ones(3, requires_grad=True)
    y = checkpoint(fn, x, use_reentrant=True)
    with pytest.raises(RuntimeError, match="none of output has requires_grad=True"):
        (y + x).sum().backward()
    assert not constant.requires_grad
    x.grad = None
    (checkpoint(fn, x, use_reentrant=False) + x).sum().backward()
    assert x.grad.tolist() == [1, 1, 1]
    assert not checkpoint(fn, x.detach(), use_reentrant=True).requires_grad


@pytest.mark.parametrize("reads_again", [False, True])
def test_a_custom_function_reads_what_it_saved_once(reads_again):
    class Twice(flambeau.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            _, y = ctx.saved_tensors
            if reads_again:
                with pytest.raises(CheckpointError, match="already unpacked once"):
                    ctx.saved_tensors  # noqa: B018
            return g * y

    x = reals(3)
    y = checkpoint(lambda x: Twice.apply(x * 2), x, use_reentrant=False)
    for _ in range(2):
        assert same(grad(y.sum(), (x,), retain_graph=True), ((x * 2).exp() * 2,))
