"""A small network trained with every optimizer: the losses are those of PyTorch."""

import numpy as np
import pytest

import flambeau
from flambeau import nn, optim

KINDS = {
    "SGD": {"lr": 0.1, "momentum": 0.9},
    "Adam": {},
    "AdamW": {},
    "Adamax": {},
    "NAdam": {},
    "RAdam": {},
    "Adagrad": {},
    "Adadelta": {},
    "RMSprop": {},
    "Rprop": {},
    "Adafactor": {},
    "LBFGS": {"line_search_fn": "strong_wolfe", "max_iter": 4},
}
STEPS = 20


def data():
    x = np.random.default_rng(9).standard_normal((32, 5))
    return x, np.sin(x.sum(1, keepdims=True))


def network(t):
    """With the same weights in both frameworks."""
    model = t.nn.Sequential(t.nn.Linear(5, 8), t.nn.Tanh(), t.nn.Linear(8, 1)).double()
    rng = np.random.default_rng(0)
    model.load_state_dict(
        {
            name: t.tensor(rng.standard_normal(tuple(value.shape)) * 0.3)
            for name, value in model.state_dict().items()
        }
    )
    return model


def train(t, kind, model, optimizer, steps):
    x, y = map(t.tensor, data())

    def closure():
        optimizer.zero_grad()
        loss = t.nn.functional.mse_loss(model(x), y)
        loss.backward()
        return loss

    schedule = None if kind == "LBFGS" else t.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
    losses = []
    for _ in range(steps):
        losses.append(float(optimizer.step(closure).detach()))
        if schedule is not None:
            schedule.step()
    return losses


def make(t, kind, model):
    return getattr(t.optim, kind)(model.parameters(), **KINDS[kind])


@pytest.mark.oracle
@pytest.mark.parametrize("kind", KINDS)
def test_losses_are_those_of_pytorch(kind):
    torch = pytest.importorskip("torch")
    torch.set_default_dtype(torch.float64)
    try:
        losses = []
        for t in (flambeau, torch):
            model = network(t)
            losses.append(train(t, kind, model, make(t, kind, model), STEPS))
    finally:
        torch.set_default_dtype(torch.float32)
    np.testing.assert_allclose(*losses, rtol=1e-6 if kind == "LBFGS" else 1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_falls(kind):
    model = network(flambeau)
    losses = train(flambeau, kind, model, make(flambeau, kind, model), STEPS)
    assert losses[-1] < losses[0]


def test_steps_leave_nothing_recorded_and_count_as_writes():
    x = flambeau.tensor([1.0, 2.0], requires_grad=True)
    optimizer = optim.Adam([x])
    y = (x * x).sum()
    y.backward(create_graph=True)
    optimizer.step()
    assert x.is_leaf
    assert not optimizer.state[x]["exp_avg"].requires_grad
    with pytest.raises(RuntimeError, match="modified"):
        y.backward()


def test_a_scaled_step_is_a_step():
    model, plain = network(flambeau), network(flambeau)
    x, y = map(flambeau.tensor, data())
    scaler = flambeau.amp.GradScaler("cpu", init_scale=1024.0)
    for each, scale in ((model, scaler.scale), (plain, lambda loss: loss)):
        scale(nn.functional.mse_loss(each(x), y)).backward()
    assert scaler.step(optim.AdamW(model.parameters()))
    optim.AdamW(plain.parameters()).step()
    for mine, theirs in zip(model.parameters(), plain.parameters(), strict=True):
        assert bool((mine == theirs).all())
