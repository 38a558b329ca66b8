"""Distributions beside SciPy's, and what hand calculation says."""

import copy
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest

import flambeau
from flambeau import distributions as D
from flambeau.distributions import constraints

stats = pytest.importorskip("scipy.stats")
X = np.array([0.2, 0.9, 2.5])
F64 = flambeau.float64


def _t(*values):
    return flambeau.tensor(values, dtype=F64)


#: A distribution, and SciPy's.
CONTINUOUS = {
    "Beta": (lambda: D.Beta(_t(2.0), _t(0.7)), stats.beta(2.0, 0.7), X / 3),
    "Cauchy": (lambda: D.Cauchy(_t(0.5), _t(2.0)), stats.cauchy(0.5, 2.0), X),
    "Exponential": (lambda: D.Exponential(_t(1.5)), stats.expon(scale=1 / 1.5), X),
    "FisherSnedecor": (lambda: D.FisherSnedecor(_t(3.0), _t(9.0)), stats.f(3, 9), X),
    "Gamma": (lambda: D.Gamma(_t(2.5), _t(3.0)), stats.gamma(2.5, scale=1 / 3), X),
    "GeneralizedPareto": (lambda: D.GeneralizedPareto(_t(0.1), _t(2.0), _t(0.3)),
                          stats.genpareto(0.3, 0.1, 2.0), X),
    "Gumbel": (lambda: D.Gumbel(_t(0.5), _t(2.0)), stats.gumbel_r(0.5, 2.0), X),
    "HalfCauchy": (lambda: D.HalfCauchy(_t(2.0)), stats.halfcauchy(scale=2.0), X),
    "HalfNormal": (lambda: D.HalfNormal(_t(2.0)), stats.halfnorm(scale=2.0), X),
    "InverseGamma": (lambda: D.InverseGamma(_t(3.5), _t(2.0)), stats.invgamma(3.5, scale=2.0), X),
    "Laplace": (lambda: D.Laplace(_t(0.5), _t(2.0)), stats.laplace(0.5, 2.0), X),
    "LogNormal": (lambda: D.LogNormal(_t(0.5), _t(0.7)),
                  stats.lognorm(0.7, scale=np.exp(0.5)), X),
    "Normal": (lambda: D.Normal(_t(0.5), _t(2.0)), stats.norm(0.5, 2.0), X),
    "Pareto": (lambda: D.Pareto(_t(0.1), _t(4.0)), stats.pareto(4.0, scale=0.1), X),
    "StudentT": (lambda: D.StudentT(_t(5.0), _t(0.5), _t(2.0)), stats.t(5.0, 0.5, 2.0), X),
    "Uniform": (lambda: D.Uniform(_t(-1.0), _t(3.0)), stats.uniform(-1.0, 4.0), X),
    "VonMises": (lambda: D.VonMises(_t(0.5), _t(2.0)), stats.vonmises(2.0, 0.5), X),
    "Weibull": (lambda: D.Weibull(_t(2.0), _t(1.7)), stats.weibull_min(1.7, scale=2.0), X),
}
DISCRETE = {
    "Bernoulli": (lambda: D.Bernoulli(_t(0.3)), stats.bernoulli(0.3), np.array([0.0, 1.0])),
    "Binomial": (lambda: D.Binomial(5, _t(0.3)), stats.binom(5, 0.3), np.arange(6.0)),
    "Geometric": (lambda: D.Geometric(_t(0.3)), stats.geom(0.3, -1), np.arange(6.0)),
    "NegativeBinomial": (lambda: D.NegativeBinomial(_t(2.5), _t(0.3)), stats.nbinom(2.5, 0.7),
                         np.arange(6.0)),
    "Poisson": (lambda: D.Poisson(_t(2.5)), stats.poisson(2.5), np.arange(6.0)),
}


@pytest.mark.parametrize("name", [*CONTINUOUS, *DISCRETE])
def test_densities_and_moments(name):
    make, reference, x = (CONTINUOUS | DISCRETE)[name]
    log_density = reference.logpdf if name in CONTINUOUS else reference.logpmf
    ours = make()
    np.testing.assert_allclose(ours.log_prob(flambeau.tensor(x)).numpy(), log_density(x), 1e-9)
    if name in ("Cauchy", "HalfCauchy"):
        return
    if name != "VonMises":      # whose variance is that of a direction
        np.testing.assert_allclose(ours.mean.item(), reference.mean(), 1e-9)
        np.testing.assert_allclose(ours.variance.item(), reference.var(), 1e-9)
    if name not in ("Poisson", "NegativeBinomial", "FisherSnedecor", "VonMises", "Geometric"):
        np.testing.assert_allclose(ours.entropy().item(), reference.entropy(), 1e-6)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_distribution_functions(name):
    make, reference, x = CONTINUOUS[name]
    ours = make()
    try:
        chances = ours.cdf(flambeau.tensor(x))
    except NotImplementedError:
        assert name in ("Beta", "FisherSnedecor", "StudentT", "VonMises")
        return
    np.testing.assert_allclose(chances.numpy(), reference.cdf(x), 1e-9)
    if name not in ("Gamma", "InverseGamma"):
        np.testing.assert_allclose(ours.icdf(chances).numpy(), x, 1e-9)


@pytest.mark.parametrize("name", [*CONTINUOUS, *DISCRETE])
def test_samples_follow_the_distribution(name):
    make, reference, _ = (CONTINUOUS | DISCRETE)[name]
    drawn = make().sample((4000,)).numpy().ravel()
    if name in CONTINUOUS:
        assert stats.kstest(drawn, reference.cdf).pvalue > 1e-4
    else:
        # the mean of 4000, within five standard errors
        assert abs(drawn.mean() - reference.mean()) < 5 * reference.std() / 4000**0.5


@pytest.mark.parametrize("name", [n for n in CONTINUOUS if n != "VonMises"])
def test_samples_move_with_parameters(name):
    """Quantiles are kept: F(x(a), a) does not change, so dx/da = -(dF/da) / p."""
    ours = CONTINUOUS[name][0]()
    # the parameters that were given, of the distribution underneath as well
    if name in ("FisherSnedecor", "StudentT", "Beta"):
        return
    names = [key for key in ours.arg_constraints if key != "df"]
    values = [getattr(ours, key).detach().requires_grad_() for key in names]
    moved = type(ours)(**dict(zip(names, values, strict=True)))
    x = moved.rsample()
    slopes = flambeau.autograd.grad(x.sum(), values)
    for i, slope in enumerate(slopes):
        h = 1e-5 * values[i].detach()
        chances = []
        for step in (h, -h):
            args = [v.detach() + (step if j == i else 0) for j, v in enumerate(values)]
            nearby = type(ours)(**dict(zip(names, args, strict=True)), validate_args=False)
            chances.append(nearby.cdf(x.detach()))
        expected = -(chances[0] - chances[1]) / (2 * h) / moved.log_prob(x).exp()
        np.testing.assert_allclose(slope.numpy(), expected.detach().numpy(), 1e-4, 1e-7)


def test_beta_samples_move_with_parameters():
    a, b = (_t(*v).requires_grad_() for v in ((0.3, 2.0, 20.0), (0.5, 0.7, 9.0)))
    x = D.Beta(a, b).rsample()
    slopes = flambeau.autograd.grad(x.sum(), (a, b))
    at, (p, q) = x.detach().numpy(), (a.detach().numpy(), b.detach().numpy())
    for i, slope in enumerate(slopes):
        h = 1e-5 * (p, q)[i]
        up, down = (stats.beta(p + s * (i == 0), q + s * (i == 1)).cdf(at) for s in (h, -h))
        expected = -(up - down) / (2 * h) / stats.beta(p, q).pdf(at)
        np.testing.assert_allclose(slope.numpy(), expected, 1e-4)


def test_normal_vectors():
    covariance = np.array([[2.0, 0.6], [0.6, 0.5]])
    reference = stats.multivariate_normal([1.0, -1.0], covariance)
    x = np.array([[0.0, 0.0], [1.5, -0.5]])
    for key, matrix in (("covariance_matrix", covariance), ("scale_tril",
                        np.linalg.cholesky(covariance)), ("precision_matrix",
                                                          np.linalg.inv(covariance))):
        ours = D.MultivariateNormal(_t(1.0, -1.0), **{key: flambeau.tensor(matrix)})
        np.testing.assert_allclose(ours.log_prob(flambeau.tensor(x)).numpy(), reference.logpdf(x))
        np.testing.assert_allclose(ours.covariance_matrix.numpy(), covariance)
        np.testing.assert_allclose(ours.entropy().item(), reference.entropy())


def test_wishart_and_dirichlet():
    scale = np.array([[2.0, 0.6], [0.6, 0.5]])
    x = np.array([[3.0, 0.5], [0.5, 2.0]])
    ours = D.Wishart(_t(4.0)[0], flambeau.tensor(scale))
    reference = stats.wishart(4, scale)
    np.testing.assert_allclose(ours.log_prob(flambeau.tensor(x)).item(), reference.logpdf(x))
    np.testing.assert_allclose(ours.entropy().item(), reference.entropy())
    np.testing.assert_allclose(D.ExponentialFamily.entropy(D.Gamma(2.0, 3.0)).item(),
                               stats.gamma(2.0, scale=1 / 3).entropy(), 1e-6)
    ours, reference = D.Dirichlet(_t(0.5, 2.0, 3.0)), stats.dirichlet([0.5, 2.0, 3.0])
    np.testing.assert_allclose(ours.log_prob(_t(0.2, 0.3, 0.5)).item(),
                               reference.logpdf([0.2, 0.3, 0.5]))
    np.testing.assert_allclose(ours.entropy().item(), reference.entropy())


def test_modes_that_are_corners():
    assert D.Dirichlet(flambeau.tensor([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]])).mode.tolist() == [
        [0, 1, 0], [1, 0, 0]]
    shapes = flambeau.tensor([0.3, 0.5, 1.0, 2.0])     # below 1 the density grows towards 0
    np.testing.assert_allclose(D.Weibull(2.0, shapes).mode.numpy(),
                               [math.nan, math.nan, 0.0, 2 * 0.5**0.5], 1e-6)
    # the maximum of 6 x (1 - x^2)^2: where 1 - x^2 = 4 x^2
    mode = D.Kumaraswamy(2.0, 3.0).mode
    assert mode.item() == pytest.approx(0.2**0.5)


def test_uniform_divergence_of_equal_supports_is_finite():
    kl = D.kl_divergence(D.ContinuousBernoulli(_t(0.3)), D.Uniform(_t(0.0), _t(1.0)))
    assert kl.item() == pytest.approx(-D.ContinuousBernoulli(_t(0.3)).entropy().item())


def test_entropy_of_a_family_has_gradients():
    rate = flambeau.tensor(2.0, requires_grad=True)
    D.ExponentialFamily.entropy(D.Exponential(rate)).backward()
    assert rate.grad.item() == pytest.approx(-0.5)      # of 1 - log(rate)


def test_mixture():
    mixture = D.MixtureSameFamily(D.Categorical(_t(0.25, 0.75)), D.Normal(_t(0.0, 4.0), _t(1.0)))
    assert (mixture.mean.item(), mixture.variance.item()) == (3.0, 4.0)
    expected = np.log(0.25 * stats.norm(0).pdf(1) + 0.75 * stats.norm(4).pdf(1))
    assert mixture.log_prob(_t(1.0)[0]).item() == pytest.approx(expected)
    assert mixture.sample((2, 3)).shape == (2, 3)


@pytest.mark.parametrize(("make", "error", "says"), [
    (lambda: D.Normal(0.0, -1.0), ValueError, "scale.*GreaterThan"),
    (lambda: D.Normal("a", 1.0), ValueError, "tensors or numbers"),
    (lambda: D.Bernoulli(), ValueError, "probs.*logits"),
    (lambda: D.Bernoulli(0.2, 0.3), ValueError, "both"),
    (lambda: D.Uniform(1.0, 1.0), ValueError, "low"),
    (lambda: D.Normal(0.0, 1.0).log_prob(1.0), ValueError, "flambeau.tensor"),
    (lambda: D.Gamma(1.0, 1.0).log_prob(flambeau.tensor(-1.0)), ValueError, "support"),
    (lambda: D.Normal(flambeau.zeros(3), 1.0).log_prob(flambeau.zeros(2)), ValueError,
     "broadcast"),
    (lambda: D.Poisson(1.0).rsample(), NotImplementedError, "log_prob"),
    (lambda: D.Gamma(1.0, 1.0).icdf(flambeau.tensor(0.5)), NotImplementedError, "icdf"),
    (lambda: D.Geometric(0.0), ValueError, "positive"),
    (lambda: D.MultivariateNormal(flambeau.zeros(2)), ValueError, "Exactly one"),
    (lambda: D.LKJCholesky(1), ValueError, "dim"),
    (lambda: D.Wishart(0.5, flambeau.eye(2)), ValueError, "df"),
    (lambda: D.Multinomial(2.0, flambeau.ones(2)), NotImplementedError, "integer"),
    (lambda: D.Independent(D.Normal(0.0, 1.0), 1), ValueError, "reinterpreted_batch_ndims"),
    (lambda: D.kl_divergence(D.Cauchy(0.0, 1.0), D.Normal(0.0, 1.0)), NotImplementedError,
     "register_kl"),
    (lambda: D.register_kl("Normal", D.Normal), TypeError, "class of distributions"),
    (lambda: D.Distribution.set_default_validate_args(None), ValueError, "True or False"),
    (lambda: D.ExpTransform(cache_size=2), ValueError, "cache_size"),
    (lambda: D.ReshapeTransform((2,), (3,)), ValueError, "elements"),
    (lambda: D.AbsTransform().sign, NotImplementedError, "monotonic"),
    (lambda: D.biject_to(constraints.dependent), NotImplementedError, "register"),
    (lambda: D.biject_to.register(3, D.ExpTransform), TypeError, "constraint"),
    (lambda: constraints.dependent.check(flambeau.ones(1)), ValueError, "support"),
])
def test_errors_teach(make, error, says):
    with pytest.raises(error, match=f"(?s){says}"):
        make()


def test_a_subclass_with_an_init_of_its_own_defines_expand():
    class Mine(D.Normal):
        def __init__(self, loc):
            super().__init__(loc, 1.0)

    with pytest.raises(NotImplementedError, match="expand"):
        Mine(0.0).expand((2,))


def test_caches_return_the_argument_itself():
    x = flambeau.tensor(30.0)
    cached, plain = D.TanhTransform(cache_size=1), D.TanhTransform()
    assert cached.inv(cached(x)) is x
    assert plain.inv(plain(x)).isinf()
    for copied in (copy.deepcopy(cached), pickle.loads(pickle.dumps(cached))):
        assert copied == cached and copied.inv(copied(x)) is x


def test_ambiguous_divergences_warn():
    class A(D.Normal):
        pass

    class B(D.Normal):
        pass

    D.register_kl(A, D.Normal)(lambda p, q: flambeau.tensor(1.0))
    D.register_kl(D.Normal, B)(lambda p, q: flambeau.tensor(2.0))
    with pytest.warns(RuntimeWarning, match="register_kl"):
        assert D.kl_divergence(A(0.0, 1.0), B(0.0, 1.0)).item() == 1.0


def test_the_room_is_lazy_and_has_the_names_of_modules():
    text = ("import sys, flambeau, flambeau.nn; "
            "assert 'flambeau.distributions' not in sys.modules; "
            "from flambeau.distributions.normal import Normal; "
            "assert Normal is flambeau.distributions.Normal")
    assert subprocess.run([sys.executable, "-c", text], check=True).returncode == 0


def test_affine_determinants_count_every_element_of_a_vector():
    x = flambeau.zeros(2, 3)
    transform = D.AffineTransform(0.0, flambeau.tensor(2.0), event_dim=1)
    expected = [3 * np.log(2.0)] * 2
    assert transform.log_abs_det_jacobian(x, x).tolist() == pytest.approx(expected)
