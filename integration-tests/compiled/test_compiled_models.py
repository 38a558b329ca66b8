"""Ten steps of training, compiled in three ways, leave what they leave uncompiled, bit for bit."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import pytest
from compiled_models import MODELS
from random_programs import describe, without_version

import flambeau
import flambeau.nn.functional as F
from flambeau import jit, nn, optim
from flambeau.jit import bridge, compiling

OPTIMIZERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=1e-3, nesterov=True),
    "adam": lambda p: optim.Adam(p, lr=0.01, amsgrad=True),
    "adamw": lambda p: optim.AdamW(p, lr=0.01),
    "rmsprop": lambda p: optim.RMSprop(p, lr=0.005, momentum=0.5, centered=True),
    "adagrad": lambda p: optim.Adagrad(p, lr=0.05),
    "lbfgs": lambda p: optim.LBFGS(p, lr=0.2, max_iter=3, line_search_fn="strong_wolfe"),
}
SCHEDULES = {
    "sgd": lambda o: optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=11),
    "adam": lambda o: optim.lr_scheduler.CosineAnnealingLR(o, 5),
    "adamw": lambda o: optim.lr_scheduler.StepLR(o, 2, gamma=0.5),
}
PAIRS = [(model, kind) for model in MODELS for kind in OPTIMIZERS]
#: Each model and each optimizer at least once.
DAILY = [*PAIRS[::7], ("mlp", "lbfgs"), ("unet", "adam")]
STEPS = 10


@pytest.fixture(autouse=True)
def small_kernels_wait():
    """As large ones do."""
    bridge.configure_deferral(compiling.make_plan, 1)
    yield
    bridge.configure_deferral(compiling.make_plan)


def start(model, kind, is_mixed):
    """What a training holds."""
    flambeau.manual_seed(0)
    make, data = MODELS[model]
    t = SimpleNamespace(model=make(), x=[data() for _ in range(2)], mixed=contextlib.nullcontext())
    t.y = flambeau.randint(0, 3, (len(t.x[0]),))
    t.forward, t.scaler, t.clip = t.model, None, kind != "lbfgs"
    t.optimizer = OPTIMIZERS[kind](t.model.parameters())
    t.schedule = SCHEDULES[kind](t.optimizer) if kind in SCHEDULES else None
    t.mean = optim.swa_utils.AveragedModel(
        t.model, multi_avg_fn=optim.swa_utils.get_ema_multi_avg_fn(0.9), use_buffers=True)
    if is_mixed:
        t.mixed = flambeau.autocast("cpu", flambeau.bfloat16)
        t.scaler = optim.GradScaler("cpu", init_scale=1024.0, growth_interval=3)
    return t


def step(t, number):
    """Forward, backward, update, average."""
    def closure():
        t.optimizer.zero_grad()
        with t.mixed:
            out = t.forward(t.x[number % 2])
        loss = F.cross_entropy(out.float(), t.y)
        (t.scaler.scale(loss) if t.scaler else loss).backward()
        if t.scaler:
            t.scaler.unscale_(t.optimizer)
        if t.clip:
            nn.utils.clip_grad_norm_(t.model.parameters(), 0.5)
        return loss

    if t.scaler:
        loss = closure()
        t.scaler.step(t.optimizer)
        t.scaler.update()
    else:
        loss = t.optimizer.step(closure)
    if t.schedule:
        t.schedule.step()
    t.mean.update_parameters(t.model)
    return loss.detach()


def tensors(name, value):
    """The tensors in nested dicts and lists, by name."""
    if isinstance(value, flambeau.Tensor):
        return {name: without_version(describe(value))}
    if isinstance(value, dict | list | tuple):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        return {k: v for key, each in pairs for k, v in tensors(f"{name}.{key}", each).items()}
    return {name: value}


def left(t, losses):
    """All that a training leaves behind."""
    found = {"losses": losses, "rng": flambeau.get_rng_state().tolist()}
    found |= tensors("model", t.model.state_dict()) | tensors("mean", t.mean.state_dict())
    found |= tensors("grads", [p.grad for p in t.model.parameters()])
    found |= tensors("optimizer", t.optimizer.state_dict())
    for each in (t.schedule, t.scaler):
        found |= tensors(type(each).__name__, each.state_dict() if each else 0)
    return {name: value for name, value in found.items() if not callable(value)}


def train(model, kind, is_mixed, prepare):
    """Ten steps; ``prepare(t)`` says what one is, and may change how forward is called."""
    t = start(model, kind, is_mixed)
    run = prepare(t)
    return left(t, [run(t, number).item() for number in range(STEPS)])


def eager(t):
    return step


def whole(t):
    return jit.compile(step)


def forward_alone(t):
    t.forward = jit.compile(lambda x: t.model(x))
    return step


def module(t):
    t.forward = flambeau.compile(t.model)
    return step


def check(model, kind, is_mixed):
    wanted = train(model, kind, is_mixed, eager)
    for prepare in (whole, forward_alone, module):
        found = train(model, kind, is_mixed, prepare)
        assert found.keys() == wanted.keys()
        assert [k for k in found if found[k] != wanted[k]] == [], prepare.__name__
    assert len(set(wanted["losses"])) > STEPS // 2


@pytest.mark.parametrize(("model", "kind"), DAILY)
def test_training(model, kind):
    check(model, kind, False)


@pytest.mark.parametrize("model", ["mlp", "gpt"])
def test_mixed_precision(model):
    check(model, "adamw", True)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "kind"), [pair for pair in PAIRS if pair not in DAILY])
def test_all_pairs(model, kind):
    check(model, kind, False)


@pytest.mark.slow
@pytest.mark.parametrize("model", [each for each in MODELS if each not in ("mlp", "gpt")])
def test_mixed_precision_everywhere(model):
    check(model, "sgd", True)
