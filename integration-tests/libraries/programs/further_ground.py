"""Transport, equations, volumes, recorded agents: cases are named after the libraries."""

from __future__ import annotations

import os
from typing import Any

import numpy
import torch
from worker import fill, numbers


def pot() -> Any:
    import ot

    a, b = torch.softmax(numbers(6), 0), torch.softmax(numbers(7, seed=2), 0)
    x, y = numbers(6, 2).requires_grad_(), numbers(7, 2, seed=3)
    cost = ot.dist(x, y)
    found = [cost, ot.sinkhorn(a, b, cost, 0.5), ot.emd2(a, b, cost),
             ot.sliced_wasserstein_distance(x, y, a, b, 20, seed=0),
             ot.unbalanced.sinkhorn_unbalanced(a, b, cost, 0.5, 1.0),
             ot.gromov.gromov_wasserstein2(ot.dist(x, x), ot.dist(y, y), a, b)]
    found[1].mul(cost).sum().backward()
    return [*found, x.grad]


def deepxde() -> Any:
    os.environ["DDE_BACKEND"] = "pytorch"
    import deepxde as dde

    dde.config.set_random_seed(1)

    def equation(x: Any, y: Any) -> Any:
        return -dde.grad.hessian(y, x) - numpy.pi ** 2 * torch.sin(numpy.pi * x)

    line = dde.geometry.Interval(-1, 1)
    edge = dde.icbc.DirichletBC(line, lambda x: numpy.zeros((len(x), 1)), lambda x, on: on)
    data = dde.data.PDE(line, equation, edge, 16, 2, num_test=20, train_distribution="uniform")
    net = dde.nn.FNN([1, 20, 20, 1], "tanh", "Glorot uniform")
    fill(net)
    model = dde.Model(data, net)
    model.compile("adam", lr=0.001)
    past, state = model.train(iterations=30, verbose=0, display_every=10)
    torch.set_default_dtype(torch.float32)
    return [numpy.array(past.loss_train), model.predict(numpy.linspace(-1, 1, 9)[:, None])]


def neurodiffeq() -> Any:
    from neurodiffeq import diff
    from neurodiffeq.conditions import IVP
    from neurodiffeq.generators import Generator1D
    from neurodiffeq.networks import FCNN
    from neurodiffeq.solvers import Solver1D

    net = fill(FCNN(1, 1, hidden_units=[8, 8]))
    points = Generator1D(16, 0.0, 1.0, "equally-spaced")
    solver = Solver1D(lambda u, t: [diff(u, t) + u], [IVP(0.0, 1.0)], t_min=0, t_max=1, nets=[net],
                      train_generator=points)
    solver.fit(20)
    found = solver.get_solution()(numpy.linspace(0, 1, 5), to_numpy=True)
    torch.set_default_dtype(torch.float32)
    return [found, solver.metrics_history["train_loss"]]


def geomloss() -> Any:
    from geomloss import SamplesLoss

    found = []
    for kind in ("sinkhorn", "gaussian", "energy", "laplacian"):
        x, y = numbers(20, 3).requires_grad_(), numbers(30, 3, seed=2)
        value = SamplesLoss(kind, blur=0.5, backend="tensorized")(x, y)
        value.backward()
        found.append([value, x.grad])
    return found


def torchio() -> Any:
    import torchio as tio

    torch.manual_seed(0)
    subject = tio.Subject(image=tio.ScalarImage(tensor=numbers(1, 16, 16, 16)),
                          label=tio.LabelMap(tensor=(numbers(1, 16, 16, 16) > 0).int()))
    steps = [tio.RescaleIntensity((0, 1)), tio.ZNormalization(), tio.CropOrPad(12), tio.Resample(2),
             tio.RandomFlip(axes=(0, 1, 2), flip_probability=1), tio.RandomNoise(),
             tio.RandomGamma(), tio.RandomAffine(), tio.RandomBiasField(), tio.OneHot()]
    found = [step(subject) for step in steps]
    sampler = tio.GridSampler(subject, 8, 2)
    joined = tio.GridAggregator(sampler)
    for batch in torch.utils.data.DataLoader(sampler, 4):
        joined.add_batch(batch["image"]["data"], batch["location"])
    return [[each.image.data, each.label.data] for each in found] + [joined.get_output_tensor()]


def d3rlpy() -> Any:
    import d3rlpy as library

    library.seed(1)
    rng = numpy.random.default_rng(0)
    data = library.dataset.MDPDataset(
        rng.standard_normal((200, 3)).astype("float32"),
        rng.standard_normal((200, 1)).astype("float32"), rng.standard_normal(200),
        (numpy.arange(200) % 50 == 49).astype("float32"))
    found = []
    for config in (library.algos.CQLConfig(batch_size=16), library.algos.TD3PlusBCConfig(
            batch_size=16), library.algos.BCConfig(batch_size=16), library.algos.IQLConfig(
            batch_size=16)):
        way = config.create(device="cpu:0")
        way.build_with_dataset(data)
        for part in vars(way.impl._modules).values():
            if isinstance(part, torch.nn.Module):
                fill(part)
        states = rng.standard_normal((4, 3)).astype("float32")
        found.append(way.predict(states))
    return found


CASES = {function.__name__: function for function in (
    pot, deepxde, neurodiffeq, geomloss, torchio, d3rlpy)}
