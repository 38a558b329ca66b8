"""Random numbers drawn on the device: the bits that the CPU draws from the same seed."""
from __future__ import annotations

import pytest

import flambeau as fl
from flambeau.core import _core
from flambeau.cuda.coverage import ways

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"]
SHAPES = [(), (1,), (5,), (3, 7), (0, 4), (1025,)]


@pytest.fixture
def both(simulated):
    """Draws on the CPU and on the device, from the same seed, and compares all bits."""
    def compare(draw, seed=5):
        drawn = []
        for where in ("cpu", simulated.name):
            fl.manual_seed(seed)
            drawn.append([draw(where).cpu() for _ in range(2)])
        for want, got in zip(*drawn, strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape
            assert got.numpy(force=True).tobytes() == want.numpy(force=True).tobytes() \
                if want.dtype != fl.bfloat16 else got.float().tolist() == want.float().tolist()
    return compare


@pytest.mark.parametrize("dtype", [*FLOATS, "complex64", "complex128"])
def test_uniform_and_normal_numbers(both, dtype):
    kind = getattr(fl, dtype)
    for shape in SHAPES:
        both(lambda where, s=shape: fl.rand(s, dtype=kind, device=where))
        both(lambda where, s=shape: fl.randn(s, dtype=kind, device=where))
    both(lambda where: fl.empty(33, dtype=kind, device=where).normal_(3, 0.5))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_integers_and_coins(both, dtype):
    kind = getattr(fl, dtype)
    both(lambda where: fl.randint(0, 2, (101,), dtype=kind, device=where))
    both(lambda where: fl.empty(37, dtype=kind, device=where).random_())
    both(lambda where: fl.empty(37, dtype=kind, device=where).bernoulli_(0.3))
    both(lambda where: fl.empty(9, dtype=kind, device=where).bernoulli_(1.0))


def test_wide_ranges_of_integers(both):
    for low, high in ((-5, 7), (0, 1 << 40), (-(1 << 63), (1 << 63) - 1)):
        both(lambda where, low=low, high=high: fl.randint(low, high, (77,), device=where))


def test_distributions(both):
    for fill in (lambda x: x.uniform_(-2, 5), lambda x: x.exponential_(2.0),
                 lambda x: x.cauchy_(), lambda x: x.log_normal_(), lambda x: x.geometric_(0.25)):
        both(lambda where, fill=fill: fill(fl.empty(200, dtype=fl.float64, device=where)), seed=9)
    both(lambda where: fl.randperm(50, device=where))
    both(lambda where: fl.dropout(fl.ones(99, device=where), 0.4, True))


@pytest.mark.parametrize("dtype", FLOATS)
def test_parameters_that_are_tensors(both, dtype):
    kind = getattr(fl, dtype)
    chances = fl.linspace(0, 1, 60).reshape(6, 10).to(kind)
    rates = fl.linspace(0, 40, 60).to(kind)
    both(lambda where: fl.bernoulli(chances.to(where)))
    both(lambda where: fl.bernoulli(chances.t().to(where).t()))
    both(lambda where: fl.poisson(rates.to(where)))
    both(lambda where: fl.binomial(fl.full((60,), 30.0).to(kind).to(where),
                                   chances.flatten().to(where)))
    both(lambda where: _core.call("standard_gamma", [(rates / 4).to(where), None]))
    both(lambda where: _core.call("sample_dirichlet", [(chances + 0.1).to(where), None]))


def test_categories(both):
    weights = fl.tensor([[0.0, 1.0, 2.0, 0.5], [3.0, 0.0, 1.0, 1.0]])
    both(lambda where: fl.multinomial(weights.to(where), 300, replacement=True))
    both(lambda where: fl.multinomial(weights.to(where), 3))
    both(lambda where: fl.multinomial(weights[0].double().to(where), 2))


def test_wrong_parameters_raise_what_the_cpu_raises(simulated):
    for call, value in ((fl.bernoulli, 1.5), (fl.poisson, -1.0), (fl.bernoulli, float("nan"))):
        x = fl.tensor([0.5, value])
        with pytest.raises(RuntimeError) as here:
            call(x)
        with pytest.raises(RuntimeError) as there:
            call(x.to(simulated.name))
        assert str(there.value) == str(here.value)
    with pytest.raises(RuntimeError, match="sum of probabilities"):
        fl.multinomial(fl.zeros(3).to(simulated.name), 1)


def test_strided_targets(simulated):
    x = fl.zeros(6, 8, device=simulated.name)
    fl.manual_seed(1)
    x[::2, 1::3].normal_()
    want = fl.zeros(6, 8)
    fl.manual_seed(1)
    want[::2, 1::3].normal_()
    assert x.cpu().tolist() == want.tolist()


def test_generators_of_devices(simulated):
    where = simulated.name
    own = fl.Generator(where, algorithm="philox").manual_seed(3)
    other = fl.Generator(algorithm="philox").manual_seed(3)
    a = fl.rand(5, generator=own, device=where).cpu()
    assert a.tolist() == fl.rand(5, generator=other).tolist()
    fl.manual_seed(1)
    first = fl.rand(4, device=where).cpu().tolist()
    fl.rand(100)                            # the CPU's stream is another one
    second = fl.rand(4, device=where).cpu().tolist()
    fl.manual_seed(1)
    assert fl.rand(8).tolist() == first + second


def test_a_twister_draws_on_the_cpu(simulated):
    a = fl.Generator(algorithm="mt19937").manual_seed(0)
    b = fl.Generator(algorithm="mt19937").manual_seed(0)
    assert fl.rand(7, generator=a, device=simulated.name).cpu().tolist() == \
        fl.rand(7, generator=b).tolist()


def test_nothing_but_permutations_and_twisters_is_drawn_on_the_cpu():
    assert {key for key, way in ways().items() if way == "drawn on the CPU"} == \
        {"random_permutation", "random_distribution"}
