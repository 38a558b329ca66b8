"""Gamma and Dirichlet samples, and their derivatives beside those of mpmath."""

import pytest

import flambeau
from flambeau.core import ops

N = 20000
F64 = flambeau.float64


@pytest.mark.parametrize("alpha", [0.1, 0.7, 1.0, 3.0, 200.0])
def test_gamma_samples(alpha):
    x = ops.standard_gamma(flambeau.full((N,), alpha, dtype=F64))
    assert (x > 0).all()
    # mean and variance are alpha; five standard errors
    assert abs(x.mean().item() - alpha) < 5 * (alpha / N) ** 0.5
    fourth = 3 * alpha**2 + 6 * alpha
    assert abs(x.var().item() - alpha) < 5 * ((fourth - alpha**2) / N) ** 0.5


def test_dirichlet_samples():
    alpha = flambeau.tensor([0.3, 1.0, 2.7], dtype=F64)
    x = ops.sample_dirichlet(alpha.expand(N, 3))
    assert flambeau.allclose(x.sum(-1), flambeau.ones(N, dtype=F64))
    assert flambeau.allclose(x.mean(0), alpha / 4, atol=0.01)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_samples_stay_inside_the_support(dtype):
    dtype = getattr(flambeau, dtype)
    alpha = flambeau.full((500, 2), 1e-3, dtype=dtype)
    for x in (ops.standard_gamma(alpha), ops.sample_dirichlet(alpha)):
        assert x.dtype == dtype
        assert (x > 0).all()
    assert (x < 1).all()
    assert 100 < (x[:, 0] > 0.5).sum() < 400


def test_elements_do_not_depend_on_their_neighbours():
    flambeau.manual_seed(3)
    x = ops.standard_gamma(flambeau.tensor([2.0, 0.5, 7.0]))
    flambeau.manual_seed(3)
    assert ops.standard_gamma(flambeau.tensor([9.0, 0.5, 0.1]))[1] == x[1]


def test_samples_of_bad_parameters():
    x = ops.standard_gamma(flambeau.tensor([-1.0, float("nan"), float("inf"), 0.0]))
    assert x.isnan().tolist() == [True, True, False, False]
    assert x[2].item() == float("inf")
    assert ops.sample_dirichlet(flambeau.empty(3, 0)).shape == (3, 0)
    assert ops.standard_gamma(flambeau.empty(0)).shape == (0,)
    with pytest.raises(RuntimeError, match="floating"):
        ops.standard_gamma(flambeau.tensor([1]))


#: alpha, sample, and minus dF/dalpha over the density, of 30 digits of mpmath.
GAMMA = [
    (0.01, 1e-05, 0.010952158246714487),
    (0.3, 0.1, 0.7894044031182723),
    (0.5, 3.0, 2.9129424164403646),
    (1.0, 1.0, 1.1735630272247268),
    (2.5, 0.2, 0.23139441752889156),
    (7.0, 9.0, 1.158184918071533),
    (40.0, 41.5, 1.0227742166445648),
    (300.0, 250.0, 0.912113824687291),
    (300.0, 400.0, 1.1513660660333094),
]
#: sample, alpha, total, and the same over 1 - sample.
BETA = [
    (0.3, 0.5, 1.0, 1.3220415512632513),
    (0.001, 0.05, 3.0, 0.11009215178304121),
    (0.9, 3.0, 3.5, 0.3415464687133535),
    (0.6, 3.0, 6.0, 0.20444030346891578),
    (0.05, 1.0, 9.0, 0.08681419357533393),
    (0.97, 300.0, 310.0, 0.003234841550168785),
    (0.45, 300.0, 600.0, 0.0015821415673238264),
]


@pytest.mark.parametrize(("alpha", "sample", "slope"), GAMMA)
def test_slopes_of_gamma_samples(alpha, sample, slope):
    args = [flambeau.tensor(v, dtype=F64) for v in (alpha, sample)]
    assert ops.standard_gamma_grad(*args).item() == pytest.approx(slope, rel=1e-12)
    narrow = ops.standard_gamma_grad(*(a.float() for a in args))
    assert narrow.dtype == flambeau.float32
    assert narrow.item() == pytest.approx(slope, rel=1e-4)


@pytest.mark.parametrize(("sample", "alpha", "total", "slope"), BETA)
def test_slopes_of_beta_samples(sample, alpha, total, slope):
    args = [flambeau.tensor(v, dtype=F64) for v in (sample, alpha, total)]
    assert ops.dirichlet_grad(*args).item() == pytest.approx(slope, rel=1e-10)


def test_slopes_broadcast_and_pass_on_nan():
    x = ops.dirichlet_grad(flambeau.full((3, 1), 0.5), flambeau.ones(2), flambeau.full((), 2.0))
    assert x.shape == (3, 2)
    assert ops.dirichlet_grad(*(flambeau.tensor(v) for v in (float("nan"), 1.0, 2.0))).isnan()
    assert ops.standard_gamma_grad(flambeau.tensor(-1.0), flambeau.tensor(1.0)).isnan()
    assert ops.standard_gamma_grad(flambeau.tensor(2.0), flambeau.tensor(0.0)).item() == 0
    with pytest.raises(RuntimeError, match="total"):
        ops.dirichlet_grad(flambeau.ones(1), flambeau.ones(1), flambeau.ones(1, dtype=F64))


def test_normal_numbers_do_not_move_with_their_parameters():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    mean = flambeau.tensor([1.0, float("inf")], requires_grad=True)
    std = flambeau.tensor([1.0, 2.0], requires_grad=True)
    flambeau.normal(mean, std).sum().backward()
    assert (mean.grad.tolist(), std.grad.tolist()) == ([0, 0], [0, 0])
