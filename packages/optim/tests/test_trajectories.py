"""Every optimizer against its formula, written again in NumPy with plain loops."""

import itertools

import numpy as np
import pytest
from leaves import leaf

import flambeau
from flambeau import optim

STEPS = 30


def gradients(seed=0):
    return np.random.default_rng(seed).standard_normal((STEPS, 5))


def run(make, dtype=flambeau.float64):
    """The parameter after every step, and the optimizer."""
    p = leaf([1.0, -2.0, 0.0, 3.0, 0.5], dtype=dtype)
    optimizer = make([p])
    trace = []
    for grad in gradients():
        p.grad = flambeau.tensor(grad, dtype=dtype)
        optimizer.step()
        trace.append(p.tolist())
    return np.array(trace)


def sgd(lr, momentum, dampening, weight_decay, nesterov, maximize):
    p, buffer, trace = np.array([1.0, -2.0, 0.0, 3.0, 0.5]), None, []
    for grad in gradients():
        grad = (-grad if maximize else grad) + weight_decay * p
        if momentum:
            buffer = grad if buffer is None else momentum * buffer + (1 - dampening) * grad
            grad = grad + momentum * buffer if nesterov else buffer
        p = p - lr * grad
        trace.append(p)
    return np.array(trace)


SGD_OPTIONS = [
    (momentum, dampening, decay, nesterov, maximize)
    for momentum, dampening, decay, nesterov, maximize in itertools.product(
        (0, 0.9), (0, 0.3), (0, 0.1), (False, True), (False, True)
    )
    if not (nesterov and (momentum == 0 or dampening))
]


@pytest.mark.parametrize("options", SGD_OPTIONS)
def test_sgd(options):
    names = ("momentum", "dampening", "weight_decay", "nesterov", "maximize")
    named = dict(zip(names, options, strict=True))
    trace = run(lambda params: optim.SGD(params, lr=0.05, **named))
    np.testing.assert_allclose(trace, sgd(0.05, *options), rtol=1e-12, atol=1e-14)


def adam(lr, betas, eps, weight_decay, amsgrad, maximize, decoupled):
    p = np.array([1.0, -2.0, 0.0, 3.0, 0.5])
    m, v, top, trace = np.zeros(5), np.zeros(5), np.zeros(5), []
    for t, grad in enumerate(gradients(), 1):
        grad = -grad if maximize else grad
        if decoupled:
            p = p - lr * weight_decay * p
        else:
            grad = grad + weight_decay * p
        m = betas[0] * m + (1 - betas[0]) * grad
        v = betas[1] * v + (1 - betas[1]) * grad * grad
        top = np.maximum(top, v)
        scale = np.sqrt((top if amsgrad else v) / (1 - betas[1] ** t)) + eps
        p = p - lr * (m / (1 - betas[0] ** t)) / scale
        trace.append(p)
    return np.array(trace)


@pytest.mark.parametrize("kind", [optim.Adam, optim.AdamW])
@pytest.mark.parametrize("weight_decay", [0, 0.1])
@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("maximize", [False, True])
def test_adam(kind, weight_decay, amsgrad, maximize):
    options = {
        "lr": 0.05,
        "betas": (0.8, 0.95),
        "eps": 1e-3,
        "weight_decay": weight_decay,
        "amsgrad": amsgrad,
        "maximize": maximize,
    }
    trace = run(lambda params: kind(params, **options))
    expected = adam(**options, decoupled=kind is optim.AdamW)
    np.testing.assert_allclose(trace, expected, rtol=1e-12, atol=1e-14)


def test_parameters_may_be_at_different_steps():
    a, b = leaf([1.0]), leaf([1.0])
    for kind in (optim.Adam, lambda p, lr: optim.SGD(p, lr, momentum=0.5, dampening=0.5)):
        both, alone = kind([a, b], lr=0.1), kind([c := leaf(b.tolist())], lr=0.1)
        a.grad = flambeau.tensor([1.0])
        both.step()
        for step in range(3):
            a.grad = flambeau.tensor([1.0 + step])
            b.grad = flambeau.tensor([2.0 + step])
            c.grad = flambeau.tensor([2.0 + step])
            both.step()
            alone.step()
        assert b.tolist() == c.tolist()
        a.grad = b.grad = None


def test_learning_rate_may_change_between_steps():
    p = leaf([1.0], dtype=flambeau.float64)
    optimizer = optim.SGD([p], lr=0.5)
    for lr in (0.5, 0.25, 0.0):
        optimizer.param_groups[0]["lr"] = lr
        p.grad = flambeau.tensor([1.0], dtype=flambeau.float64)
        optimizer.step()
    assert p.tolist() == [0.25]


def test_no_decay_leaves_infinite_parameters_infinite():
    p = leaf([float("inf")], grad=[1.0])
    for kind in (optim.SGD, optim.Adam):
        kind([p], lr=0.1).step()
        assert p.tolist() == [float("inf")]


def test_bfloat16_rounds_once_per_step():
    p = leaf([1.0, -3.0], grad=[0.5, 0.25], dtype=flambeau.bfloat16)
    optim.SGD([p], lr=0.1).step()
    # 0.95 and -3.025 to 8 significant bits.
    assert p.tolist() == [0.94921875, -3.03125]


def test_strided_parameters():
    base = flambeau.zeros(3, 2)
    view = leaf(base.t())
    view.grad = flambeau.arange(6.0).reshape(2, 3)
    optim.SGD([view], lr=1.0).step()
    assert view.tolist() == [[0, -1, -2], [-3, -4, -5]]
    assert base.tolist() == [[0, -3], [-1, -4], [-2, -5]]
