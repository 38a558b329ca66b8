"""Distributions have the right moments and shapes, whatever the strides and threads."""

from __future__ import annotations

import math
import pickle
from types import SimpleNamespace

import numpy
import pytest
from checks import bits

import flambeau
from flambeau.core import namespaces

functional = SimpleNamespace(**namespaces["nn.functional"])
N = 200_000


def _draws(make, seed=3):
    flambeau.manual_seed(seed)
    return make().double().numpy()


def _empty(n=N, dtype="float32"):
    return flambeau.empty(n, dtype=getattr(flambeau, dtype))


#: name -> how to draw, mean, variance (None where there is none)
MOMENTS = {
    "exponential": (lambda: _empty().exponential_(2.0), 0.5, 0.25),
    "log_normal": (lambda: _empty(dtype="float64").log_normal_(0.5, 0.25),
                   math.exp(0.53125), math.expm1(0.0625) * math.exp(1.0625)),
    "geometric": (lambda: _empty().geometric_(0.3), 1 / 0.3, 0.7 / 0.09),
    "geometric of integers": (lambda: _empty(dtype="int64").geometric_(0.3), 1 / 0.3, 0.7 / 0.09),
    "poisson of small rates": (lambda: flambeau.poisson(flambeau.full((N,), 1.7)), 1.7, 1.7),
    "poisson of great rates": (lambda: flambeau.poisson(flambeau.full((N,), 37.0)), 37, 37),
    "binomial by gaps": (lambda: flambeau.binomial(flambeau.full((N,), 20.0),
                                                   flambeau.full((N,), 0.2)), 4, 3.2),
    "binomial by rejection": (lambda: flambeau.binomial(flambeau.full((N,), 100.0),
                                                        flambeau.full((N,), 0.7)), 70, 21),
    "bernoulli of tensors": (lambda: flambeau.bernoulli(flambeau.full((N,), 0.2)), 0.2, 0.16),
    "bernoulli of a number": (lambda: flambeau.bernoulli(_empty(), 0.7), 0.7, 0.21),
    "bernoulli_ of tensors": (lambda: _empty(dtype="int64").bernoulli_(
        flambeau.full((N,), 0.25)), 0.25, 0.1875),
    "normal of tensors": (lambda: flambeau.normal(flambeau.full((N,), 2.0),
                                                  flambeau.full((N,), 0.5)), 2, 0.25),
    "normal of a mean": (lambda: flambeau.normal(flambeau.full((N,), 2.0), 3.0), 2, 9),
    "normal of deviations": (lambda: flambeau.normal(1.0, flambeau.full((N,), 2.0)), 1, 4),
    "normal of a size": (lambda: flambeau.normal(-1.0, 2.0, (N,)), -1, 4),
    "randint_like": (lambda: flambeau.randint_like(_empty(), 2, 6), 3.5, 1.25),
    "random_ of bytes": (lambda: _empty(dtype="uint8").random_(), 127.5, (256 ** 2 - 1) / 12),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_moments(name):
    make, mean, variance = MOMENTS[name]
    x = _draws(make)
    assert abs(x.mean() - mean) < 5 * math.sqrt(variance / N)
    assert abs(x.var() / variance - 1) < 0.04


def _distance(x, distribution):
    """The greatest distance of the empirical distribution from the true one."""
    x = numpy.sort(x)
    ranks = numpy.arange(1, len(x) + 1) / len(x)
    return abs(distribution(x) - ranks).max()


@pytest.mark.parametrize(("make", "distribution"), [
    (lambda: _empty().exponential_(1.5), lambda x: 1 - numpy.exp(-1.5 * x)),
    (lambda: _empty().cauchy_(1.0, 2.0), lambda x: 0.5 + numpy.arctan((x - 1) / 2) / math.pi),
    (lambda: _empty(dtype="float64").cauchy_(), lambda x: 0.5 + numpy.arctan(x) / math.pi),
    (lambda: _empty().uniform_(-2, 3), lambda x: (x + 2) / 5)])
def test_distributions(make, distribution):
    assert _distance(_draws(make), distribution) < 1.95 / math.sqrt(N)


@pytest.mark.parametrize("rate", (2.5, 14.0))
def test_poisson_probabilities(rate):
    counts = numpy.bincount(_draws(lambda: flambeau.poisson(flambeau.full((N,), rate))).astype(int))
    for k in range(int(rate * 2)):
        p = math.exp(k * math.log(rate) - rate - math.lgamma(k + 1))
        assert abs(counts[k] / N - p) < 5 * math.sqrt(p * (1 - p) / N)


@pytest.mark.parametrize(("count", "p"), [(7, 0.3), (60, 0.4), (60, 0.9)])
def test_binomial_probabilities(count, p):
    drawn = _draws(lambda: flambeau.binomial(flambeau.full((N,), float(count)),
                                             flambeau.full((N,), p)))
    counts = numpy.bincount(drawn.astype(int), minlength=count + 1)
    for k in range(count + 1):
        exact = math.comb(count, k) * p ** k * (1 - p) ** (count - k)
        assert abs(counts[k] / N - exact) < 5 * math.sqrt(exact * (1 - exact) / N) + 1e-9


def test_multinomial_with_replacement_follows_the_weights():
    weights = flambeau.tensor([[1.0, 0.0, 3.0, 4.0], [0.0, 1.0, 1.0, 0.0]])
    x = _draws(lambda: weights.multinomial(N, replacement=True)).astype(int)
    for row, expected in zip(x, ((1 / 8, 0, 3 / 8, 1 / 2), (0, 0.5, 0.5, 0)), strict=True):
        found = numpy.bincount(row, minlength=4) / N
        assert abs(found - expected).max() < 5 * math.sqrt(0.25 / N)


def test_multinomial_without_replacement_draws_each_once():
    weights = flambeau.tensor([1.0, 2.0, 0.0, 5.0])
    rows = weights.expand(20_000, 4).multinomial(3)
    assert (rows.sort(1)[0] == flambeau.tensor([0, 1, 3])).all()
    first = numpy.bincount(rows[:, 0].numpy(), minlength=4) / 20_000
    assert abs(first - [1 / 8, 2 / 8, 0, 5 / 8]).max() < 0.02


@pytest.mark.parametrize(("weights", "count", "text"), [
    ([-1.0, 2.0], 1, "element < 0"), ([0.0, 0.0], 1, "sum of probabilities"),
    ([1.0, 0.0], 2, "without replacement"), ([1.0], 2, "categories"), ([1.0], 0, "n_sample")])
def test_bad_weights_are_refused(weights, count, text):
    with pytest.raises(RuntimeError, match=text):
        flambeau.tensor(weights).multinomial(count)


@pytest.mark.parametrize("call", [
    lambda: flambeau.ones(2).exponential_(-1), lambda: flambeau.ones(2).cauchy_(0, 0),
    lambda: flambeau.ones(2).geometric_(1.5), lambda: flambeau.ones(2).log_normal_(0, -1),
    lambda: flambeau.bernoulli(flambeau.full((2,), 1.5)), lambda: flambeau.poisson(
        flambeau.full((2,), -1.0)), lambda: flambeau.normal(0.0, -1.0, (2,)),
    lambda: flambeau.ones(2, dtype=flambeau.int64).exponential_()])
def test_bad_parameters_are_refused(call):
    with pytest.raises(RuntimeError):
        call()


LOGICAL = {
    "exponential": lambda x: x.exponential_(), "cauchy": lambda x: x.cauchy_(),
    "geometric": lambda x: x.geometric_(0.4), "log_normal": lambda x: x.log_normal_(),
    "bernoulli": lambda x: x.bernoulli_(flambeau.full(x.shape, 0.5)),
    "poisson": lambda x: x.copy_(flambeau.poisson(x.fill_(20.0))),
}


@pytest.mark.parametrize("name", LOGICAL)
def test_an_element_depends_on_its_logical_index_alone(name):
    def draw(x):
        flambeau.manual_seed(5)
        return bits(LOGICAL[name](x))

    first = draw(flambeau.empty(60, 500))
    assert draw(flambeau.empty(500, 60).t()) == first
    before = flambeau.get_num_threads()
    try:
        flambeau.set_num_threads(1 if before > 1 else 3)
        assert draw(flambeau.empty(60, 500)) == first
    finally:
        flambeau.set_num_threads(before)


# ---- generators


def test_the_default_generator_is_a_generator():
    g = flambeau.default_generator
    assert isinstance(g, flambeau.Generator) and g.device == flambeau.device("cpu")
    flambeau.manual_seed(11)
    assert g.initial_seed() == flambeau.initial_seed() == 11
    a = flambeau.rand(3, generator=g)
    assert g.manual_seed(11) is g
    assert bits(flambeau.rand(3)) == bits(a)
    assert flambeau.seed() == g.initial_seed() != 11


def test_states_copy_and_travel():
    g = flambeau.Generator().manual_seed(4)
    flambeau.rand(5, generator=g)
    twins = [g.clone_state(), pickle.loads(pickle.dumps(g)),
             flambeau.Generator().set_state(g.get_state())]
    expected = bits(flambeau.randn(9, generator=g))
    for twin in twins:
        assert bits(flambeau.randn(9, generator=twin)) == expected


def test_fork_rng_restores():
    flambeau.manual_seed(2)
    expected = bits(flambeau.rand(3))
    flambeau.manual_seed(2)
    with flambeau.random.fork_rng():
        flambeau.rand(50)
    assert bits(flambeau.rand(3)) == expected


# ---- dropout


@pytest.mark.parametrize(("name", "shape"), [
    ("dropout2d", (2, 3)), ("dropout2d", (2, 3, 4)), ("dropout2d", (1,) * 5),
    ("dropout3d", (2, 3, 4)), ("dropout3d", (1,) * 6)])
def test_planes_and_volumes_of_other_dimensions_are_warned_of(name, shape):
    with pytest.warns(UserWarning, match=f"{name}: Received a {len(shape)}-D input to {name}"):
        getattr(functional, name)(flambeau.ones(shape))


@pytest.mark.parametrize(("name", "shape"), [
    ("dropout1d", (40, 50, 6)), ("dropout1d", (500, 6)), ("dropout2d", (40, 50, 3, 2)),
    ("dropout3d", (40, 50, 3, 2, 2)), ("dropout3d", (900, 3, 2, 2))])
def test_channels_are_dropped_whole(name, shape):
    flambeau.manual_seed(1)
    drop = getattr(functional, name)
    x = drop(flambeau.ones(shape), 0.25)
    batched = len(shape) == int(name[-2]) + 2
    channels = x.reshape(-1, math.prod(shape[2 if batched else 1:])).numpy()
    assert set(numpy.unique(channels)) == {0, numpy.float32(1 / 0.75)}
    assert (channels == channels[:, :1]).all()
    assert 0.15 < (channels[:, 0] == 0).mean() < 0.35
    assert drop(x, 0.25, False) is x
    assert float(drop(x, 1.0).abs().sum()) == 0


@pytest.mark.parametrize("name", ("alpha_dropout", "feature_alpha_dropout"))
def test_alpha_dropout_keeps_mean_and_variance(name):
    flambeau.manual_seed(1)
    x = flambeau.randn(1000, 100)
    y = getattr(functional, name)(x, 0.3, True)
    assert abs(float(y.mean() - x.mean())) < 0.03
    assert abs(float(y.var() / x.var()) - 1) < 0.06
    assert getattr(functional, name)(x, 0.3) is x
    z = x.clone()
    assert getattr(functional, name)(z, 1.0, True, True) is z
    assert float(z.abs().sum()) == 0


def test_gradients_pass_where_nothing_was_dropped():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    flambeau.manual_seed(1)
    x = flambeau.ones(20, 5, 3, requires_grad=True)
    y = functional.dropout1d(x, 0.5)
    y.sum().backward()
    assert bits(x.grad) == bits(y.detach())
