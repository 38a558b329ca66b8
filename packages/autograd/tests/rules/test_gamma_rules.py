"""Derivatives of gamma and Dirichlet samples, which keep their probabilities."""

import pytest

import flambeau
from flambeau.autograd import forward_ad
from flambeau.core import ops
from flambeau.func import vmap

F64 = flambeau.float64


def test_a_gamma_sample_keeps_its_probability():
    alpha = flambeau.tensor([0.4, 1.0, 30.0], dtype=F64, requires_grad=True)
    x = ops.standard_gamma(alpha)
    (slope,) = flambeau.autograd.grad(x.sum(), alpha)
    a, x, h = alpha.detach(), x.detach(), 1e-6
    rise = (ops.igamma(a + h, x) - ops.igamma(a - h, x)) / (2 * h)
    density = ((a - 1) * x.log() - x - a.lgamma()).exp()
    assert flambeau.allclose(slope, -rise / density, rtol=1e-5)


def test_a_dirichlet_sample_moves_within_the_simplex():
    alpha = flambeau.tensor([0.4, 1.0, 3.0], dtype=F64, requires_grad=True)
    x = ops.sample_dirichlet(alpha)
    rows = [flambeau.autograd.grad(x[i], alpha, retain_graph=True)[0] for i in range(3)]
    jacobian = flambeau.stack(rows)
    assert flambeau.allclose(jacobian.sum(0), flambeau.zeros(3, dtype=F64), atol=1e-12)
    assert (jacobian.diagonal() > 0).all()
    # the others shrink in proportion
    others = jacobian[1:, 0] / x.detach()[1:]
    assert others[0].item() == pytest.approx(others[1].item())


def test_tangents():
    with forward_ad.dual_level():
        alpha = forward_ad.make_dual(flambeau.tensor([2.0, 3.0]), flambeau.tensor([1.0, 0.0]))
        x, tangent = forward_ad.unpack_dual(ops.standard_gamma(alpha))
        expected = ops.standard_gamma_grad(flambeau.tensor([2.0, 3.0]), x)
        assert tangent.tolist() == [expected[0].item(), 0.0]
        _, tangent = forward_ad.unpack_dual(ops.sample_dirichlet(alpha))
        assert tangent.sum().abs() < 1e-6
        for draw in (flambeau.poisson, lambda a: flambeau.bernoulli(a / 4),
                     lambda a: flambeau.normal(a, 1.0), lambda a: flambeau.normal(0.0, a)):
            assert forward_ad.unpack_dual(draw(alpha)).tangent.tolist() == [0, 0]


@pytest.mark.parametrize("draw", [ops.standard_gamma, ops.sample_dirichlet])
def test_batches(draw):
    alpha = flambeau.full((4, 3), 2.0)
    x = vmap(draw, randomness="different")(alpha)
    assert x.shape == (4, 3) and x.unique().numel() == 12
    with pytest.raises(RuntimeError, match="same"):
        vmap(draw, randomness="same")(alpha)
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(draw)(alpha)


def test_second_derivatives_are_refused():
    alpha = flambeau.tensor([2.0], requires_grad=True)
    (slope,) = flambeau.autograd.grad(ops.standard_gamma(alpha).sum(), alpha, create_graph=True)
    with pytest.raises(NotImplementedError, match="standard_gamma_grad"):
        slope.sum().backward()
    x = flambeau.tensor([0.5], requires_grad=True)
    with pytest.raises(NotImplementedError, match="dirichlet_grad"):
        ops.dirichlet_grad(x, flambeau.ones(1), flambeau.full((1,), 2.0)).sum().backward()
