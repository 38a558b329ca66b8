"""Under a budget, cheap results are computed again in backward, to the same bits."""

from __future__ import annotations

import pytest

import flambeau
from flambeau import Tensor
from flambeau.autograd import _engine, graph
from flambeau.core import memory_stats, ops

ROWS, WIDTH = 64, 256
SIZE = ROWS * WIDTH * 4


def within(part=0.0):
    return _engine.recompute_within(part, 1)


def leaf(*shape: int, seed: int = 0) -> Tensor:
    flambeau.manual_seed(seed)
    return flambeau.randn(*shape or (ROWS, WIDTH), requires_grad=True)


def both(function, *leaves):
    """Gradients of a function's sum, as it is and recomputed."""
    found = []
    for part in (1.0, 0.0):
        with within(part):
            result = function(*leaves)
        found.append(flambeau.autograd.grad(result.sum(), leaves))
    return found


def kept_bytes(function, *leaves, part=0.0):
    """What a graph holds, besides its leaves and its result."""
    before = memory_stats()["live_bytes"]
    with within(part):
        result = function(*leaves)
    return round((memory_stats()["live_bytes"] - before) / SIZE) - result.numel() * 4 // SIZE


FUNCTIONS = {
    "chain": lambda x, w: x.exp().sigmoid().tanh() * w,
    "views": lambda x, w: ((x * 2).T.reshape(-1, 4)[1:].exp() * 3).T @ w.reshape(-1, 4)[1:],
    "norm": lambda x, w: ops.native_layer_norm(x.exp(), 1, w[0], w[1], 1e-5)[0] @ w.T,
    "batch_norm": lambda x, w: ops.relu(ops.native_batch_norm(
        x @ w.T, None, None, None, None, True, 0.1, 1e-5)[0]) @ w[:, :3],
    "casts": lambda x, w: (x.double().exp() * w.double()).float().exp(),
    "softmax": lambda x, w: (x * w).softmax(-1) @ w.T,
    "mask": lambda x, w: flambeau.where(x > 0, x.exp(), w).exp() * (x * w),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_have_the_same_bits(name):
    kept, recomputed = both(FUNCTIONS[name], leaf(), leaf(seed=1))
    assert all(flambeau.equal(a, b) for a, b in zip(kept, recomputed, strict=True))


def test_what_can_be_computed_again_is_not_kept():
    def chain(x, w):
        return ((x * w).exp().tanh() @ w.T.contiguous()).sum(1)

    assert kept_bytes(chain, leaf(), leaf(seed=1), part=1.0) == 3
    assert kept_bytes(chain, leaf(), leaf(seed=1)) == 0


def test_half_a_budget_keeps_some():
    def chain(x, w):
        for _ in range(3):
            x = (x * w).exp()
        return x.sum(1)

    amounts = [kept_bytes(chain, leaf(), leaf(seed=1), part=part) for part in (0.0, 0.5, 1.0)]
    assert amounts[0] < amounts[1] < amounts[2]


def test_nothing_is_kept_for_a_recipe_alone():
    def add(x, w):
        return ((x @ w.T) + (w @ x.T)).exp().sum(1)

    assert kept_bytes(add, leaf(), leaf(seed=1)) <= kept_bytes(add, leaf(), leaf(seed=1), part=1.0)


def test_a_second_pass_computes_again():
    x = leaf()
    with within():
        y = x.exp().exp()
    first, = flambeau.autograd.grad(y.sum(), x, retain_graph=True)
    second, = flambeau.autograd.grad(y.sum(), x)
    assert flambeau.equal(first, second)
    with pytest.raises(RuntimeError, match="second time"):
        flambeau.autograd.grad(y.sum(), x)


def test_gradients_of_gradients():
    x = leaf(4, 8)
    found = []
    for part in (1.0, 0.0):
        with within(part):
            slope, = flambeau.autograd.grad((x.sin().exp() * x).sum(), x, create_graph=True)
            found.append(flambeau.autograd.grad((slope * slope).sum(), x)[0])
    assert flambeau.equal(*found)


def test_a_write_to_what_a_result_was_computed_from():
    x, other = leaf(), leaf(seed=1)
    base = x * 2
    with within():
        kept = base * base              # saves base
        y = (base + other).exp() * other
    with flambeau.no_grad():
        base.add_(1)
    with pytest.raises(RuntimeError, match=r"computes a result of (add|exp).*add_"):
        flambeau.autograd.grad(y.sum(), other)
    assert kept.requires_grad


def test_a_write_to_a_small_argument_changes_nothing():
    x, shift = leaf(), flambeau.ones(WIDTH)
    with within():
        y = ((x * x) + shift).exp() * x
    shift.zero_()
    again, = flambeau.autograd.grad(y.sum(), x)
    wanted, = flambeau.autograd.grad((((x * x) + 1).exp() * x).sum(), x)
    assert flambeau.equal(again, wanted)


@pytest.mark.parametrize("write", [lambda y: y.data.mul_(2), lambda y: y.detach().mul_(2),
                                   lambda y: y.mul_(2)])
def test_a_result_that_was_written_to_before_it_is_saved(write):
    x = leaf()
    with within():
        y = x * 2
        write(y)
        z = y * y
    found, = flambeau.autograd.grad(z, x, flambeau.ones(ROWS, WIDTH))
    assert found.isfinite().all()
    with within():
        y = x * 2
        write(y)
        saved = (y * x).grad_fn._saved_self
    assert flambeau.equal(saved, (x * 2) * 2)


def test_leaves_whose_memory_is_replaced():
    x, w = leaf(), leaf(seed=1)
    wanted, = flambeau.autograd.grad(((x + w * 1).exp() * w).sum(), x)
    with within():
        y = (x + w * 1).exp() * w.clone()
    x.data = flambeau.zeros(ROWS, WIDTH)
    assert flambeau.equal(flambeau.autograd.grad(y.sum(), x)[0], wanted)


def test_running_statistics_move_once():
    x, mean, var = leaf(), flambeau.zeros(WIDTH), flambeau.ones(WIDTH)
    with within():
        y, *_ = ops.native_batch_norm(x, None, None, mean, var, True, 0.5, 1e-5)
        z = ops.relu(y) * x
    moved = mean.clone()
    z.sum().backward()
    assert flambeau.equal(mean, moved)
    assert moved.abs().sum() > 0


def test_autocast_does_not_cast_what_is_computed_again():
    x, w = leaf(), leaf(seed=1)
    found = []
    for part in (1.0, 0.0):
        with within(part):
            y = ((x * w).double().softmax(-1) * w.double()).sum()
            with flambeau.autocast("cpu"):
                found.append(flambeau.autograd.grad(y, (x, w)))
    assert all(flambeau.equal(a, b) for a, b in zip(*found, strict=True))


def test_hooks_get_what_they_would():
    x, seen = leaf(), []
    with within(), graph.saved_tensors_hooks(lambda t: seen.append(t.shape) or t, lambda t: t):
        x.exp().tanh()
    assert len(seen) == 2
    with graph.saved_tensors_hooks(lambda t: seen.append(t.shape) or t, lambda t: t), within():
        x.exp().tanh()
    assert len(seen) == 4


def test_saved_tensors_can_be_asked_for_and_packed():
    x = leaf()
    with within():
        y = x.exp() * x
    assert flambeau.equal(y.grad_fn._saved_self, x.exp())
    seen = []
    y.grad_fn._raw_saved_self.register_hooks(lambda t: seen.append(t) or 2 * t, lambda t: t / 2)
    wanted, = flambeau.autograd.grad((x.exp() * x).sum(), x)
    assert flambeau.equal(flambeau.autograd.grad(y.sum(), x)[0], wanted)
    assert len(seen) == 1


def test_random_results_are_not_drawn_again():
    x = leaf()
    flambeau.manual_seed(3)
    with within():
        y = (x * flambeau.bernoulli(flambeau.full((ROWS, WIDTH), 0.5))).exp() * x
    state = flambeau.get_rng_state()
    y.sum().backward()
    assert flambeau.equal(flambeau.get_rng_state(), state)
