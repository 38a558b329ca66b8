"""Averages of models, and the schedule of stochastic weight averaging."""

import copy

import numpy as np
import pytest

import flambeau
from flambeau import optim
from flambeau.optim import swa_utils

VALUES = [1.0, 2.0, 6.0, -3.0]


@pytest.fixture
def nn():
    return flambeau.nn


def averaged(nn, **options):
    """What the average is after each of the values."""
    model = nn.Linear(2, 1)
    average = swa_utils.AveragedModel(model, **options)
    trace = []
    for value in VALUES:
        with flambeau.no_grad():
            model.weight.fill_(value)
        average.update_parameters(model)
        trace.append(float(average.module.weight[0, 0]))
    assert int(average.n_averaged) == len(VALUES)
    return trace


def ema(decay):
    trace = [VALUES[0]]
    for value in VALUES[1:]:
        trace.append(decay * trace[-1] + (1 - decay) * value)
    return trace


def test_averages(nn):
    means = [float(np.mean(VALUES[: n + 1])) for n in range(len(VALUES))]
    assert averaged(nn) == pytest.approx(means)
    assert averaged(nn, avg_fn=swa_utils.get_swa_avg_fn()) == pytest.approx(means)
    assert averaged(nn, multi_avg_fn=swa_utils.get_swa_multi_avg_fn()) == pytest.approx(means)
    assert averaged(nn, avg_fn=swa_utils.get_ema_avg_fn(0.75)) == pytest.approx(ema(0.75))
    fused = swa_utils.get_ema_multi_avg_fn(0.75)
    assert averaged(nn, multi_avg_fn=fused) == pytest.approx(ema(0.75))
    with pytest.raises(ValueError, match="not both"):
        averaged(nn, avg_fn=swa_utils.get_swa_avg_fn(), multi_avg_fn=fused)
    for make in (swa_utils.get_ema_avg_fn, swa_utils.get_ema_multi_avg_fn):
        with pytest.raises(ValueError, match="between 0 and 1"):
            make(1.5)


@pytest.mark.parametrize("use_buffers", [False, True])
def test_buffers_are_copied_or_averaged(nn, use_buffers):
    model = nn.Sequential(nn.BatchNorm1d(1))
    average = swa_utils.AveragedModel(model, use_buffers=use_buffers)
    for value in (2.0, 4.0):
        model[0].running_mean.fill_(value)
        model[0].num_batches_tracked.fill_(int(value))
        average.update_parameters(model)
    assert average.module[0].running_mean.tolist() == [3.0 if use_buffers else 4.0]
    assert int(average.module[0].num_batches_tracked) == (3 if use_buffers else 4)


def test_an_average_is_a_module(nn):
    model = nn.Linear(2, 1)
    average = swa_utils.AveragedModel(model)
    x = flambeau.ones(3, 2)
    assert average(x).tolist() == model(x).tolist()
    assert set(average.state_dict()) == {"n_averaged", "module.weight", "module.bias"}


def test_statistics_are_computed_anew(nn):
    norm = nn.BatchNorm1d(2, momentum=0.3)
    model = nn.Sequential(norm, nn.InstanceNorm1d(2, track_running_stats=True)).eval()
    norm.running_mean.fill_(7.0)
    batches = [flambeau.randn(4, 2, 3) + i for i in range(3)]
    swa_utils.update_bn([batches[0], (batches[1], 0), [batches[2]]], model)
    mean = np.mean([b.numpy().mean((0, 2)) for b in batches], 0)
    np.testing.assert_allclose(norm.running_mean.tolist(), mean, rtol=1e-5, atol=1e-6)
    assert norm.momentum == 0.3
    assert not model.training
    swa_utils.update_bn([], nn.Linear(1, 1))


def rates(t, strategy, epochs, count=12):
    groups = [{"params": [t.zeros(1)], "lr": lr} for lr in (1.0, 0.3)]
    optimizer = t.optim.SGD(groups)
    schedule = t.optim.swa_utils.SWALR(optimizer, [0.1, 0.2], epochs, strategy)
    trace = []
    for _ in range(count):
        trace.append(schedule.get_last_lr())
        optimizer.step()
        schedule.step()
    return np.array(trace), schedule


def test_swalr():
    linear, _ = rates(flambeau, "linear", 3)
    np.testing.assert_allclose(linear[:5, 0], [1.0, 0.7, 0.4, 0.1, 0.1])
    cosine, _ = rates(flambeau, "cos", 4)
    expected = 0.2 + 0.1 * (1 + np.cos(np.pi * np.arange(5) / 4)) / 2
    np.testing.assert_allclose(cosine[:5, 1], expected)
    optimizer = optim.SGD([flambeau.zeros(1)])
    with pytest.raises(ValueError, match="anneal_strategy"):
        swa_utils.SWALR(optimizer, 0.1, anneal_strategy="up")
    with pytest.raises(ValueError, match="anneal_epochs"):
        swa_utils.SWALR(optimizer, 0.1, anneal_epochs=-1)


def test_swalr_saved_and_resumed():
    whole, _ = rates(flambeau, "cos", 6)
    _, first = rates(flambeau, "cos", 6, 4)
    optimizer = optim.SGD([{"params": [flambeau.zeros(1)]}, {"params": [flambeau.zeros(1)]}])
    second = swa_utils.SWALR(optimizer, 0.5)
    optimizer.load_state_dict(first.optimizer.state_dict())
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    optimizer.step()
    second.step()
    np.testing.assert_allclose(second.get_last_lr(), whole[5])


@pytest.mark.oracle
@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 1, 5])
def test_swalr_as_in_pytorch(strategy, epochs):
    torch = pytest.importorskip("torch")
    mine, theirs = (rates(t, strategy, epochs)[0] for t in (flambeau, torch))
    np.testing.assert_allclose(mine, theirs, rtol=1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("use_buffers", [False, True])
def test_averages_as_in_pytorch(nn, use_buffers):
    torch = pytest.importorskip("torch")

    def run(t):
        model = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.BatchNorm1d(2))
        average = t.optim.swa_utils.AveragedModel(model, use_buffers=use_buffers)
        rng = np.random.default_rng(0)
        for _ in range(5):
            state = {
                name: t.tensor(rng.standard_normal(tuple(value.shape)) * 9).to(value.dtype)
                for name, value in model.state_dict().items()
            }
            model.load_state_dict(state)
            average.update_parameters(model)
        return {name: np.array(value.tolist()) for name, value in average.state_dict().items()}

    mine, theirs = run(flambeau), run(torch)
    assert list(mine) == list(theirs)
    for name in ("module.0.weight", "module.1.running_mean", "n_averaged"):
        np.testing.assert_allclose(mine[name], theirs[name], rtol=1e-5, atol=1e-6)
