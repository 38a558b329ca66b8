"""pyro: variational inference with guides of several kinds, NUTS, HMC, importance, predictions."""

from __future__ import annotations

from functools import partial
from typing import Any

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import HMC, MCMC, NUTS, SVI, Predictive, Trace_ELBO, TraceEnum_ELBO, autoguide
from worker import fill, numbers

X = numbers(20, 2)
Y = X @ torch.tensor([1.0, -2.0]) + 0.3 + 0.1 * numbers(20, seed=2)


def start() -> None:
    pyro.set_rng_seed(3)
    pyro.clear_param_store()


def line(x: Any, y: Any = None) -> Any:
    """A regression with priors."""
    weights = pyro.sample("weights", dist.Normal(torch.zeros(2), 1.0).to_event(1))
    bias = pyro.sample("bias", dist.Normal(0.0, 1.0))
    spread = pyro.sample("spread", dist.LogNormal(-1.0, 0.5))
    with pyro.plate("data", len(x)):
        return pyro.sample("seen", dist.Normal(x @ weights + bias, spread), obs=y)


def by_hand() -> Any:
    start()

    def guide(x: Any, y: Any = None) -> None:
        at = pyro.param("at", torch.zeros(2))
        scale = pyro.param("scale", torch.ones(2), constraint=dist.constraints.positive)
        pyro.sample("weights", dist.Normal(at, scale).to_event(1))
        pyro.sample("bias", dist.Delta(pyro.param("bias_at", torch.tensor(0.0))))
        pyro.sample("spread", dist.LogNormal(-1.0, 0.1))

    steps = SVI(line, guide, pyro.optim.ClippedAdam({"lr": 0.05}), Trace_ELBO())
    losses = [steps.step(X, Y) for _ in range(10)]
    return losses, {name: value.detach() for name, value in pyro.get_param_store().items()}


def automatic(kind: Any) -> Any:
    start()
    guide = kind(line)
    steps = SVI(line, guide, pyro.optim.Adam({"lr": 0.02}), Trace_ELBO(num_particles=2))
    losses = [steps.step(X, Y) for _ in range(5)]
    found = Predictive(line, guide=guide, num_samples=4)(X[:3])
    return losses, guide.median(X), found["seen"]


def mixture() -> Any:
    """A discrete choice that is summed over."""
    start()
    data = torch.cat([numbers(8) - 2, numbers(8, seed=2) + 2])

    @pyro.infer.config_enumerate
    def model(data: Any) -> None:
        shares = pyro.param("shares", torch.ones(2) / 2, constraint=dist.constraints.simplex)
        at = pyro.param("at", torch.tensor([-1.0, 1.0]))
        with pyro.plate("data", len(data)):
            which = pyro.sample("which", dist.Categorical(shares))
            pyro.sample("seen", dist.Normal(at[which], 1.0), obs=data)

    steps = SVI(model, lambda data: None, pyro.optim.Adam({"lr": 0.05}),
                TraceEnum_ELBO(max_plate_nesting=1))
    return [steps.step(data) for _ in range(6)], pyro.param("at"), pyro.param("shares")


def chain(kernel: Any) -> Any:
    start()
    run = MCMC(kernel(line), num_samples=6, warmup_steps=6, disable_progbar=True)
    run.run(X, Y)
    return run.get_samples()


def flows() -> Any:
    """Densities through transforms that have parameters."""
    start()
    transform = dist.transforms.spline_coupling(2, count_bins=4)
    fill(transform)
    made = dist.TransformedDistribution(dist.Normal(torch.zeros(2), 1.0).to_event(1), [transform])
    planar = fill(dist.transforms.planar(2))
    affine = fill(dist.transforms.affine_autoregressive(2))
    return made.log_prob(X[:4]), planar(X[:4]), affine(X[:4]), made.sample((3,)).shape


def module() -> Any:
    """A network whose weights have a prior."""
    start()

    class Net(pyro.nn.PyroModule):
        def __init__(self) -> None:
            super().__init__()
            self.inner = pyro.nn.PyroModule[torch.nn.Linear](2, 1)
            self.inner.weight = pyro.nn.PyroSample(dist.Normal(0.0, 1.0).expand([1, 2]).to_event(2))

        def forward(self, x: Any, y: Any = None) -> Any:
            at = self.inner(x).squeeze(-1)
            with pyro.plate("data", len(x)):
                return pyro.sample("seen", dist.Normal(at, 0.5), obs=y)

    net = Net()
    guide = autoguide.AutoDiagonalNormal(net)
    steps = SVI(net, guide, pyro.optim.Adam({"lr": 0.02}), Trace_ELBO())
    return [steps.step(X, Y) for _ in range(5)], [each.detach() for each in guide.parameters()]


GUIDES = (autoguide.AutoNormal, autoguide.AutoDelta, autoguide.AutoMultivariateNormal,
          autoguide.AutoLowRankMultivariateNormal)
CASES = {"svi": by_hand, **{each.__name__: partial(automatic, each) for each in GUIDES},
         "mixture": mixture, "nuts": partial(chain, NUTS),
         "hmc": partial(chain, partial(HMC, step_size=0.02, num_steps=5)),
         "flows": flows, "module": module}
