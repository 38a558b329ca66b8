"""gpytorch: exact, approximate and multi-output Gaussian processes, trained; linear operators."""

from __future__ import annotations

from functools import partial
from typing import Any

import gpytorch
import linear_operator
import torch
from gpytorch import kernels
from worker import gradients, numbers

X = torch.linspace(0, 1, 24)
Y = torch.sin(6 * X) + 0.1 * numbers(24)


class Exact(gpytorch.models.ExactGP):
    """A process of all data."""

    def __init__(self, likelihood: Any, kernel: Any) -> None:
        super().__init__(X, Y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = kernel

    def forward(self, at: Any) -> Any:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(at),
                                                         self.covar_module(at))


class Sparse(gpytorch.models.ApproximateGP):
    """A process of inducing points."""

    def __init__(self) -> None:
        points = X[::4].clone()
        shape = gpytorch.variational.CholeskyVariationalDistribution(len(points))
        super().__init__(gpytorch.variational.VariationalStrategy(self, points, shape))
        self.mean_module = gpytorch.means.LinearMean(1)
        self.covar_module = kernels.ScaleKernel(kernels.RBFKernel())

    def forward(self, at: Any) -> Any:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(at),
                                                         self.covar_module(at))


def steps(process: Any, likelihood: Any, objective: Any, count: int = 8) -> Any:
    """Losses of training, and predictions."""
    values = [*process.parameters(), *likelihood.parameters()]
    optimizer = torch.optim.Adam({id(each): each for each in values}.values(), 0.05)
    losses = []
    process.train()
    likelihood.train()
    for _ in range(count):
        optimizer.zero_grad()
        loss = -objective(process(X), Y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    slopes = gradients(process)
    process.eval()
    likelihood.eval()
    with torch.no_grad():
        found = likelihood(process(torch.linspace(0.05, 0.9, 5)))
        return losses, slopes, found.mean, found.variance, found.confidence_region()


def exact(kernel: Any) -> Any:
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    process = Exact(likelihood, kernel())
    return steps(process, likelihood, gpytorch.mlls.ExactMarginalLogLikelihood(
        likelihood, process))


def sparse() -> Any:
    process, likelihood = Sparse(), gpytorch.likelihoods.GaussianLikelihood()
    return steps(process, likelihood, gpytorch.mlls.VariationalELBO(likelihood, process, len(Y)))


def samples() -> Any:
    """Draws of the posterior, and fast variances."""
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    process = Exact(likelihood, kernels.ScaleKernel(kernels.MaternKernel(nu=1.5))).eval()
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        found = process(torch.linspace(0.05, 0.9, 5))
        torch.manual_seed(1)
        return found.rsample(torch.Size([3])), found.variance, found.log_prob(torch.zeros(5))


def operators() -> Any:
    """Matrices that are never written out."""
    factor = numbers(6, 6)
    dense = factor @ factor.T + 6 * torch.eye(6)
    made = linear_operator.to_linear_operator(dense).add_diagonal(torch.tensor(0.5))
    right = numbers(6, 2, seed=2)
    return [made.solve(right), made.logdet(), made.cholesky().to_dense(), (made @ right),
            made.inv_quad_logdet(right, logdet=True), made.diagonal(), made[1:3, :4].to_dense(),
            (made * 2.0 + made).to_dense(), torch.linalg.solve(made, right),
            linear_operator.operators.KroneckerProductLinearOperator(dense[:2, :2], dense).matmul(
                numbers(12, 1)), made.sqrt_inv_matmul(right),
            linear_operator.operators.ToeplitzLinearOperator(X[:6].exp()).matmul(right),
            torch.matmul(made, right), made.root_decomposition().to_dense(),
            torch.add(made, dense).to_dense(), made.sum(-1), torch.diagonal(made)]


KERNELS = {
    "rbf": lambda: kernels.ScaleKernel(kernels.RBFKernel()),
    "matern": lambda: kernels.ScaleKernel(kernels.MaternKernel(nu=2.5)),
    "periodic": lambda: kernels.PeriodicKernel() * kernels.RBFKernel(),
    "sum": lambda: kernels.LinearKernel() + kernels.RQKernel(),
    "mixture": lambda: kernels.SpectralMixtureKernel(num_mixtures=2),
    "grid": lambda: kernels.GridInterpolationKernel(
        kernels.RBFKernel(), grid_size=32, num_dims=1, grid_bounds=[(-0.1, 1.1)]),
}
CASES = {**{f"exact {name}": partial(exact, kernel) for name, kernel in KERNELS.items()},
         **{each.__name__: each for each in (sparse, samples, operators)}}
