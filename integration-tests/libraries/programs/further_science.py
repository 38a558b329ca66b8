"""Flows, equations, manifolds, search: each case is named after the library that it needs."""

from __future__ import annotations

from typing import Any

import torch
from worker import fill, gradients, numbers, trained


def zuko() -> Any:
    import zuko

    x, given, found = 0.5 * numbers(8, 3), numbers(8, 2, seed=2), []
    for name in ("NICE", "MAF", "NSF", "NAF", "BPF", "GF", "RealNVP"):
        flow = getattr(zuko.flows, name)(3, 2, transforms=2, hidden_features=(16, 16))
        found.append(trained(flow, lambda flow: -flow(given).log_prob(x).mean()))
        found.append(flow(given).sample())
    return found


def nflows() -> Any:
    from nflows import distributions, flows, transforms

    found = []
    for made in (transforms.MaskedAffineAutoregressiveTransform(4, 8),
                 transforms.MaskedPiecewiseRationalQuadraticAutoregressiveTransform(
                     4, 8, tails="linear", tail_bound=3.0), transforms.LULinear(4)):
        flow = flows.Flow(transforms.CompositeTransform(
            [made, transforms.ReversePermutation(4)]), distributions.StandardNormal([4]))
        found.append(trained(flow, lambda flow: -flow.log_prob(numbers(10, 4)).mean()))
        found.append([flow.sample(5), flow.transform_to_noise(numbers(3, 4))])
    return found


def normflows() -> Any:
    import normflows

    kinds = normflows.flows
    layers = [kinds.AffineCouplingBlock(normflows.nets.MLP([1, 8, 2], init_zeros=True)),
              kinds.Permute(2, mode="swap"), kinds.AutoregressiveRationalQuadraticSpline(2, 1, 8),
              kinds.LULinearPermute(2), kinds.ActNorm(2)]
    flow = normflows.NormalizingFlow(normflows.distributions.base.DiagGaussian(2), layers)
    return trained(flow, lambda flow: flow.forward_kld(numbers(16, 2))), flow.sample(4)


def e3nn() -> Any:
    from e3nn import nn, o3

    product = o3.FullyConnectedTensorProduct("4x0e+2x1o", "1x0e+1x1o+1x2e", "3x0e+2x1o")
    a, b = numbers(5, product.irreps_in1.dim), numbers(5, product.irreps_in2.dim)
    gate = nn.Gate("4x0e", [torch.tanh], "2x0e", [torch.sigmoid], "2x1o")
    return (trained(product, lambda net: net(a, b).square().mean()), gate(numbers(5, 12)),
            o3.spherical_harmonics([0, 1, 2, 3], numbers(5, 3), True, "component"),
            o3.Linear("4x0e+2x1o", "3x0e+2x1o")(a), nn.BatchNorm("4x0e+2x1o")(a),
            o3.wigner_3j(1, 2, 3), o3.rand_matrix(3), o3.ToS2Grid(3, 10)(numbers(2, 16)))


def geoopt() -> Any:
    import geoopt

    found = []
    for manifold in (geoopt.PoincareBall(), geoopt.Sphere(), geoopt.Stiefel(), geoopt.Lorentz(),
                     geoopt.Stereographic(-0.7)):
        start = manifold.projx(0.3 * numbers(5, 3, dtype="float64"))
        goal = numbers(5, 3, seed=4, dtype="float64")
        for kind in (geoopt.optim.RiemannianAdam, geoopt.optim.RiemannianSGD):
            x = geoopt.ManifoldParameter(start.clone(), manifold=manifold)
            optimizer = kind([x], lr=0.05)
            for _ in range(5):
                optimizer.zero_grad()
                (x - goal).square().sum().backward()
                optimizer.step()
            found.append(x.detach())
    ball = geoopt.PoincareBall()
    a, b = 0.1 * numbers(3, 2), 0.1 * numbers(3, 2, seed=3)
    return found, ball.mobius_add(a, b), ball.dist(a, b), ball.logmap(a, b), ball.expmap0(a)


class Drift(torch.nn.Module):
    """An equation with noise in each element."""

    noise_type, sde_type = "diagonal", "ito"

    def __init__(self) -> None:
        super().__init__()
        self.mean, self.spread = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

    def f(self, t: Any, y: Any) -> Any:
        return self.mean(y)

    def g(self, t: Any, y: Any) -> Any:
        return 0.1 * self.spread(y).sigmoid()


def torchsde() -> Any:
    import torchsde

    found, times, start = [], torch.linspace(0, 1, 5), numbers(4, 3)
    for method in ("srk", "milstein", "euler"):
        equation = fill(Drift())
        noise = torchsde.BrownianInterval(0.0, 1.0, size=(4, 3), entropy=7,
                                          levy_area_approximation="space-time")
        path = torchsde.sdeint(equation, start, times, dt=0.1, bm=noise, method=method)
        path.square().mean().backward()
        found.append([path, gradients(equation)])
    return found


class Field(torch.nn.Module):
    """A vector field of four numbers for three channels."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(4, 12)

    def forward(self, t: Any, z: Any) -> Any:
        return self.inner(z).tanh().view(*z.shape[:-1], 4, 3)


def torchcde() -> Any:
    import torchcde

    times, found = torch.linspace(0, 1, 6), []
    x = torch.cat([times[None, :, None].repeat(3, 1, 1), numbers(3, 6, 2)], 2)
    for coefficients in (torchcde.natural_cubic_coeffs(x), torchcde.linear_interpolation_coeffs(x),
                         torchcde.hermite_cubic_coefficients_with_backward_differences(x)):
        is_linear = coefficients.shape[-1] == 3
        path = (torchcde.LinearInterpolation if is_linear else torchcde.CubicSpline)(coefficients)
        field = fill(Field())
        z = torchcde.cdeint(X=path, func=field, z0=numbers(3, 4), t=path.interval, method="rk4",
                            options={"step_size": 0.2})
        z.square().mean().backward()
        found.append([coefficients, z, gradients(field), path.derivative(torch.tensor(0.3))])
    return found


def botorch() -> Any:
    from botorch.acquisition import LogExpectedImprovement, qKnowledgeGradient
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    x = numbers(10, 2, dtype="float64").sigmoid()
    y = (x - 0.5).square().sum(1, keepdim=True).neg()
    process = SingleTaskGP(x, y)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(process.likelihood, process))
    bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.double)
    best = optimize_acqf(LogExpectedImprovement(process, y.max()), bounds, q=1, num_restarts=2,
                         raw_samples=8)
    gain = qKnowledgeGradient(process, num_fantasies=4)(x.reshape(1, 10, 2)[:, :5])
    return best, gain, process.posterior(x).mean


CASES = {each.__name__: each for each in (
    zuko, nflows, normflows, e3nn, geoopt, torchsde, torchcde, botorch)}
