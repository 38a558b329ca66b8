"""Neurons that spike, weights with chances, survival: cases are named after the libraries."""

from __future__ import annotations

from typing import Any

import numpy
import torch
from worker import fill, gradients, numbers, trained


def classes(*shape: int, most: int = 3) -> Any:
    """Numbers of classes."""
    return torch.arange(torch.Size(shape).numel()).mul(7).remainder(most).reshape(shape)


def snntorch() -> Any:
    import snntorch as snn
    from snntorch import functional, spikegen, surrogate

    found, x = [], numbers(6, 4, 5).abs()
    for made in (snn.Leaky(0.9, spike_grad=surrogate.fast_sigmoid(), learn_beta=True),
                 snn.Synaptic(0.9, 0.8), snn.Alpha(0.9, 0.8), snn.Lapicque(0.9),
                 snn.RLeaky(0.9, linear_features=5)):
        layer, state, spikes = fill(torch.nn.Linear(5, 5)), None, []
        for step in x:
            now = layer(step)
            out = made(now) if state is None else made(now, *state)
            state = out if isinstance(made, snn.RLeaky) else out[1:]
            spikes.append(out[0])
        spikes = torch.stack(spikes)
        loss = functional.mse_count_loss()(spikes, classes(4, most=5)) + spikes.sum()
        loss.backward()
        found.append([spikes, loss, gradients(layer)])
    return found, spikegen.latency(x[0].sigmoid(), num_steps=5), spikegen.rate(x[0].sigmoid(), 4)


def spikingjelly() -> Any:
    from spikingjelly.activation_based import functional, layer, neuron, surrogate

    found = []
    for kind in (neuron.IFNode, neuron.LIFNode, neuron.ParametricLIFNode, neuron.QIFNode,
                 neuron.EIFNode):
        net = fill(torch.nn.Sequential(
            layer.Conv2d(1, 4, 3, padding=1), layer.BatchNorm2d(4),
            kind(surrogate_function=surrogate.ATan()), layer.MaxPool2d(2), layer.Flatten(),
            layer.Linear(64, 3), kind(surrogate_function=surrogate.Sigmoid())))
        functional.set_step_mode(net, "m")
        out = net(numbers(4, 2, 1, 8, 8))
        out.mean(0).sub(0.3).square().sum().backward()
        found.append([out, gradients(net)])
        functional.reset_net(net)
    return found


def norse() -> Any:
    import norse.torch as kinds

    net = kinds.SequentialState(fill(torch.nn.Linear(5, 6)), kinds.LIFCell(),
                                fill(torch.nn.Linear(6, 3)), kinds.LICell())
    state, found = None, []
    for step in 3 * numbers(6, 4, 5).abs():
        out, state = net(step, state)
        found.append(out)
    sum(each.square().sum() for each in found).backward()
    recurrent = kinds.LSNNRecurrent(5, 4)
    return found, gradients(net), recurrent(numbers(6, 2, 5).abs())[0]


def torchbnn() -> Any:
    import torchbnn as kinds

    net = torch.nn.Sequential(kinds.BayesLinear(0, 0.1, 4, 8), torch.nn.ReLU(),
                              kinds.BayesLinear(0, 0.1, 8, 3))
    far = kinds.BKLLoss(reduction="mean", last_layer_only=False)
    return trained(net, lambda net: torch.nn.functional.cross_entropy(
        net(numbers(6, 4)), classes(6)) + 0.01 * far(net).sum())


def blitz_bayesian_pytorch() -> Any:
    from blitz.modules import BayesianConv2d, BayesianLinear, BayesianLSTM
    from blitz.utils import variational_estimator

    @variational_estimator
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = BayesianConv2d(1, 3, (3, 3)), BayesianLinear(12, 3)

        def forward(self, x: Any) -> Any:
            return self.b(self.a(x).relu().flatten(1))

    x, recurrent = numbers(5, 1, 4, 4), BayesianLSTM(4, 6)
    return trained(Net(), lambda net: net.sample_elbo(
        x, classes(5), torch.nn.CrossEntropyLoss(), 3, complexity_cost_weight=0.01)), (
        recurrent(numbers(2, 5, 4))[0])


def laplace_torch() -> Any:
    from laplace import Laplace

    data = torch.utils.data.TensorDataset(numbers(40, 4), classes(40))
    loader, found = torch.utils.data.DataLoader(data, 10), []
    for part, structure in (("last_layer", "full"), ("all", "diag"), ("all", "kron")):
        net = fill(torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(),
                                       torch.nn.Linear(6, 3)))
        made = Laplace(net, "classification", subset_of_weights=part, hessian_structure=structure)
        made.fit(loader)
        made.optimize_prior_precision(method="marglik")
        found.append([made(numbers(5, 4, seed=3), link_approx="probit"),
                      made.log_marginal_likelihood()])
    return found


def sbi() -> Any:
    from sbi.inference import NPE
    from sbi.utils import BoxUniform

    prior = BoxUniform(-2 * torch.ones(2), 2 * torch.ones(2))
    theta = prior.sample((200,))
    found = NPE(prior=prior, density_estimator="maf", show_progress_bars=False)
    net = found.append_simulations(theta, theta + 0.1 * torch.randn(200, 2)).train(
        max_num_epochs=3)
    posterior = found.build_posterior(net)
    return theta, posterior.sample((5,), x=torch.zeros(2), show_progress_bars=False), (
        posterior.log_prob(torch.zeros(3, 2), x=torch.zeros(2)))


def funsor() -> Any:
    import funsor as kinds

    kinds.set_backend("torch")
    from funsor import Number, Real, Tensor, Variable, ops

    x = numbers(3, 4).requires_grad_()
    a = Tensor(x)["i", "j"]
    found = [(a * 2).reduce(ops.logaddexp, "i").data, a(i=Number(1, 3)).data,
             a.reduce(ops.add).data,
             (a.exp() + Variable("y", Real))(y=2.0).reduce(ops.max, "j").data]
    sum(each.square().sum() for each in found).backward()
    return found, x.grad


def pennylane() -> Any:
    import pennylane as qml

    @qml.qnode(qml.device("default.qubit", wires=2), interface="torch", diff_method="backprop")
    def circuit(inputs: Any, weights: Any) -> Any:
        qml.AngleEmbedding(inputs, wires=range(2))
        qml.BasicEntanglerLayers(weights, wires=range(2))
        return [qml.expval(qml.PauliZ(i)) for i in range(2)]

    layer = qml.qnn.TorchLayer(circuit, {"weights": (3, 2)})
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), layer, torch.nn.Linear(2, 3))
    return trained(fill(net), lambda net: torch.nn.functional.cross_entropy(
        net(numbers(4, 3)), classes(4)))


def times(number: int) -> Any:
    """Times and whether something happened."""
    drawn = numpy.random.default_rng(0)
    return (drawn.exponential(5, number).astype("float32") + 0.1,
            (drawn.random(number) > 0.3).astype("float32"))


def pycox() -> Any:
    import torchtuples
    from pycox.models import CoxPH, DeepHitSingle, LogisticHazard

    x, (when, happened), found = numbers(60, 4).numpy(), times(60), []
    labels = LogisticHazard.label_transform(6)
    discrete = labels.fit_transform(when, happened)
    for kind, goal, out in ((CoxPH, (when, happened), 1), (LogisticHazard, discrete, 6),
                            (DeepHitSingle, discrete, 6)):
        net = fill(torchtuples.practical.MLPVanilla(4, [8], out, batch_norm=False, dropout=0.1))
        more = {} if kind is CoxPH else {"duration_index": labels.cuts}
        model = kind(net, torchtuples.optim.Adam(0.01), **more)
        log = model.fit(x, goal, batch_size=20, epochs=4, verbose=False)
        if kind is CoxPH:
            model.compute_baseline_hazards()
        found.append([log.to_pandas()["train_loss"].to_numpy(), model.predict_surv_df(
            x[:5]).to_numpy()])
    return found


def torchsurv() -> Any:
    from torchsurv.loss import cox, weibull
    from torchsurv.metrics.auc import Auc
    from torchsurv.metrics.cindex import ConcordanceIndex

    when, happened = (torch.from_numpy(each) for each in times(40))
    happened, found = happened.bool(), []
    losses = ((cox.neg_partial_log_likelihood, 1),
              (getattr(weibull, "neg_log_likelihood_weibull", None)
               or weibull.neg_log_likelihood, 2))
    for loss, width in losses:
        net = fill(torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(),
                                       torch.nn.Linear(8, width)))
        found.append(trained(net, lambda net, loss=loss: loss(net(numbers(40, 4)), happened, when)))
    index = ConcordanceIndex()
    return found, index(numbers(40), happened, when), Auc()(numbers(40), happened, when)


def pytorch_tabnet() -> Any:
    from pytorch_tabnet.pretraining import TabNetPretrainer
    from pytorch_tabnet.tab_model import TabNetClassifier

    x, y = numbers(64, 5).numpy(), classes(64).numpy()
    net = TabNetClassifier(n_d=4, n_a=4, n_steps=2, seed=0, verbose=0, device_name="cpu")
    net.fit(x, y, max_epochs=3, batch_size=16, virtual_batch_size=8, eval_set=[(x, y)])
    before = TabNetPretrainer(n_d=4, n_a=4, n_steps=2, seed=0, verbose=0, device_name="cpu")
    before.fit(x, max_epochs=2, batch_size=16, virtual_batch_size=8)
    return net.predict_proba(x), net.feature_importances_, before.history["loss"]


CASES = {each.__name__: each for each in (
    snntorch, spikingjelly, norse, torchbnn, blitz_bayesian_pytorch, laplace_torch, sbi, funsor,
    pennylane, pycox, torchsurv, pytorch_tabnet)}
