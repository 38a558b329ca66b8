"""Random numbers: a function of seed, position and logical index alone."""

from __future__ import annotations

import numpy
import pytest
from checks import bits

import flambeau
from flambeau.core import ops

DRAWS = {
    "rand": lambda x: x.uniform_(), "uniform": lambda x: x.uniform_(-2, 5),
    "randn": lambda x: x.normal_(), "normal": lambda x: x.normal_(3, 0.5),
    "integers": lambda x: x.random_(-5, 100), "bernoulli": lambda x: x.bernoulli_(0.3),
}


def _draw(name, x, seed=7):
    flambeau.manual_seed(seed)
    return DRAWS[name](x)


@pytest.mark.parametrize("dtype", ("float32", "float64", "bfloat16"))
@pytest.mark.parametrize("name", DRAWS)
def test_same_seed_same_bits_whatever_the_strides(name, dtype):
    kind = getattr(flambeau, dtype)
    first = bits(_draw(name, flambeau.empty(6, 500, dtype=kind)))
    assert bits(_draw(name, flambeau.empty(500, 6, dtype=kind).t())) == first
    assert bits(_draw(name, flambeau.empty(12, 1000, dtype=kind)[::2, 1::2])) == first
    assert bits(_draw(name, flambeau.empty(6, 500, dtype=kind), seed=8)) != first


@pytest.mark.parametrize("name", DRAWS)
def test_same_bits_for_every_number_of_threads(name):
    before = flambeau.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            flambeau.set_num_threads(threads)
            results.append(bits(_draw(name, flambeau.empty(300_001))))
    finally:
        flambeau.set_num_threads(before)
    assert results[0] == results[1] == results[2]


def test_the_stream_goes_on_and_can_be_resumed():
    flambeau.manual_seed(3)
    flambeau.rand(5)
    state = flambeau.get_rng_state()
    a, b = flambeau.randn(7), flambeau.randn(7)
    assert bits(a) != bits(b)
    flambeau.set_rng_state(state)
    assert bits(flambeau.randn(7)) == bits(a)


def test_generators_are_independent():
    one, two = flambeau.Generator().manual_seed(5), flambeau.Generator().manual_seed(5)
    a = flambeau.empty(9).uniform_(generator=one)
    flambeau.rand(100)
    assert bits(flambeau.empty(9).uniform_(generator=two)) == bits(a)


def test_moments():
    flambeau.manual_seed(0)
    n = 200_000
    u, z = flambeau.rand(n).numpy(), flambeau.randn(n).numpy()
    assert abs(u.mean() - 0.5) < 5 * 0.2887 / n ** 0.5
    assert abs(u.var() - 1 / 12) < 1e-3
    assert 0 <= u.min() and u.max() < 1
    assert abs(z.mean()) < 5 / n ** 0.5
    assert abs(z.var() - 1) < 0.02
    assert abs((z ** 3).mean()) < 0.05
    assert abs((z ** 4).mean() - 3) < 0.1
    assert abs(numpy.corrcoef(z[:-1], z[1:])[0, 1]) < 0.01


def test_integers_are_uniform_over_their_range():
    flambeau.manual_seed(1)
    counts = numpy.bincount(flambeau.randint(0, 10, (100_000,)).numpy(), minlength=10)
    assert len(counts) == 10
    assert ((counts - 10_000) ** 2 / 10_000).sum() < 40


def test_bernoulli_and_dropout():
    flambeau.manual_seed(2)
    assert abs(flambeau.empty(100_000).bernoulli_(0.3).mean().item() - 0.3) < 0.01
    x = ops.dropout(flambeau.ones(100_000), 0.25)
    assert set(x.tolist()) == {0.0, flambeau.tensor(1 / 0.75).item()}
    assert abs(x.mean().item() - 1) < 0.02


@pytest.mark.parametrize("dtype", [flambeau.uint8, flambeau.int64, flambeau.bool])
def test_bernoulli_writes_to_any_dtype(dtype):
    drawn = flambeau.full((2, 3), 2).to(dtype)
    assert flambeau.bernoulli(flambeau.tensor([[0.0, 1, 1], [1, 0, 1]]), out=drawn) is drawn
    assert drawn.int().tolist() == [[0, 1, 1], [1, 0, 1]]


def test_permutations():
    flambeau.manual_seed(4)
    seen = {tuple(flambeau.randperm(3).tolist()) for _ in range(200)}
    assert len(seen) == 6
    assert sorted(flambeau.randperm(1000).tolist()) == list(range(1000))
    assert flambeau.randperm(0).tolist() == []


def test_likes():
    x = flambeau.zeros(3, 4, dtype=flambeau.float64)
    assert flambeau.rand_like(x).dtype is flambeau.float64
    assert flambeau.randn_like(x).shape == (3, 4)


@pytest.mark.parametrize("algorithm", ["philox", "mt19937"])
@pytest.mark.parametrize(("like", "plain"), [
    (flambeau.rand_like, flambeau.rand), (flambeau.randn_like, flambeau.randn),
    (lambda x, **given: flambeau.randint_like(x, 9, **given),
     lambda *size, **given: flambeau.randint(9, size, **given)),
    (lambda x, **given: flambeau.randint_like(x, 2, 9, **given),
     lambda *size, **given: flambeau.randint(2, 9, size, **given))])
def test_generators_of_tensors_like_others(algorithm, like, plain):
    generator = flambeau.Generator(algorithm=algorithm).manual_seed(5)
    before = flambeau.get_rng_state()
    x = flambeau.zeros(3, 4, dtype=flambeau.float64)
    found = [like(x, generator=generator) for _ in range(2)]
    generator.manual_seed(5)
    for each in found:
        assert each.tolist() == plain(3, 4, dtype=x.dtype, generator=generator).tolist()
    assert found[0].tolist() != found[1].tolist()
    assert flambeau.get_rng_state().tolist() == before.tolist()
    assert like(x[:0], generator=generator).shape == (0, 4)



@pytest.mark.parametrize(("dtype", "low", "high"), [
    ("float32", -3e38, 3e38), ("float32", -1e39, 1e39), ("complex64", -3e38, 3e38),
    ("float16", -6e4, 6e4), ("float16", 0, 7e4), ("bfloat16", -3e38, 3e38),
    ("float64", -1.7e308, 1.7e308), ("float32", 0, float("inf")), ("float32", 0, float("nan")),
])
def test_uniform_intervals_that_the_dtype_cannot_hold_are_refused(dtype, low, high):
    with pytest.raises(RuntimeError, match="low="):
        flambeau.empty(3, dtype=getattr(flambeau, dtype)).uniform_(low, high)


def test_wide_uniform_intervals_are_covered():
    x = flambeau.empty(1000, dtype=flambeau.float64).uniform_(-3e38, 3e38)
    assert x.min() < -2.9e38 and x.max() > 2.9e38


@pytest.mark.parametrize("std", [-1.0, float("nan")])
def test_negative_deviations_are_refused(std):
    deviations = flambeau.tensor([1.0, std])
    for mean in (0.0, flambeau.zeros(2)):
        with pytest.raises(RuntimeError, match="std >= 0"):
            flambeau.normal(mean, deviations)


def test_random_integers_from_a_bound_to_all_that_fit():
    assert flambeau.empty(500, dtype=flambeau.int8).random_(100, None).min() >= 100
    assert flambeau.empty(500, dtype=flambeau.int64).random_(-2 ** 63, None).min() < -2 ** 60
    assert flambeau.empty(500, dtype=flambeau.int8).random_(3).max() < 3


# Philox 4x32-10: counter (0, 0, 0, 0), key (0, 0) gives 6627e8d5 e169c58d bc57ac4c 9b00dbd8
# (Salmon et al. 2011, known-answer tests of Random123).
PHILOX = (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)


def test_uniforms_come_from_the_published_philox():
    flambeau.manual_seed(0)
    given = flambeau.rand(4).tolist()
    expected = [(word >> 8) / 2 ** 24 for word in PHILOX]
    assert given == expected
