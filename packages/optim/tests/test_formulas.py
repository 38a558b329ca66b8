"""The adaptive optimizers against the formulas of their papers, written in NumPy."""

import itertools

import numpy as np
import pytest
from leaves import leaf

import flambeau
from flambeau import optim

STEPS = 40
START = np.array([1.0, -2.0, 0.0, 3.0, 0.5])


def gradients():
    rng = np.random.default_rng(3)
    trace = rng.standard_normal((STEPS, 5)) * [1, 10, 0.1, 1, 1]
    trace[::7, 3] = 0
    return trace


def follow(kind, options):
    p = leaf(START.tolist(), dtype=flambeau.float64)
    optimizer = getattr(optim, kind)([p], **options)
    trace = []
    for grad in gradients():
        p.grad = flambeau.tensor(grad)
        optimizer.step()
        trace.append(p.tolist())
    return np.array(trace)


def adamax(lr=2e-3, betas=(0.9, 0.999), eps=1e-8):
    m = u = 0.0
    p = yield
    for t in itertools.count(1):
        p, g = yield p
        m = betas[0] * m + (1 - betas[0]) * g
        u = np.maximum(betas[1] * u, np.abs(g) + eps)
        p = p - lr / (1 - betas[0] ** t) * m / u


def nadam(lr=2e-3, betas=(0.9, 0.999), eps=1e-8, momentum_decay=4e-3):
    def mu(t):
        return betas[0] * (1 - 0.5 * 0.96 ** (t * momentum_decay))

    m = v = 0.0
    p = yield
    for t in itertools.count(1):
        p, g = yield p
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        now = np.prod([mu(i) for i in range(1, t + 1)])
        ahead = now * mu(t + 1)
        hat = mu(t + 1) * m / (1 - ahead) + (1 - mu(t)) * g / (1 - now)
        p = p - lr * hat / (np.sqrt(v / (1 - betas[1] ** t)) + eps)


def radam(lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
    m = v = 0.0
    longest = 2 / (1 - betas[1]) - 1
    p = yield
    for t in itertools.count(1):
        p, g = yield p
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        hat = m / (1 - betas[0] ** t)
        length = longest - 2 * t * betas[1] ** t / (1 - betas[1] ** t)
        if length > 5:
            top = (length - 4) * (length - 2) * longest
            rectified = np.sqrt(top / ((longest - 4) * (longest - 2) * length))
            hat = hat * rectified * np.sqrt(1 - betas[1] ** t) / (np.sqrt(v) + eps)
        p = p - lr * hat


def adagrad(lr=1e-2, lr_decay=0.0, initial_accumulator_value=0.0, eps=1e-10):
    total = initial_accumulator_value
    p = yield
    for t in itertools.count():
        p, g = yield p
        total = total + g * g
        p = p - lr / (1 + t * lr_decay) * g / (np.sqrt(total) + eps)


def adadelta(lr=1.0, rho=0.9, eps=1e-6):
    squares = deltas = 0.0
    p = yield
    while True:
        p, g = yield p
        squares = rho * squares + (1 - rho) * g * g
        delta = np.sqrt(deltas + eps) / np.sqrt(squares + eps) * g
        deltas = rho * deltas + (1 - rho) * delta * delta
        p = p - lr * delta


def rmsprop(lr=1e-2, alpha=0.99, eps=1e-8, momentum=0.0, centered=False):
    squares = mean = buffer = 0.0
    p = yield
    while True:
        p, g = yield p
        squares = alpha * squares + (1 - alpha) * g * g
        mean = alpha * mean + (1 - alpha) * g
        buffer = momentum * buffer + g / (np.sqrt(squares - centered * mean**2) + eps)
        p = p - lr * buffer


def rprop(lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50)):
    size, last = np.full(5, lr), np.zeros(5)
    p = yield
    while True:
        p, g = yield p
        size = size * np.select([g * last > 0, g * last < 0], [etas[1], etas[0]], 1.0)
        size = np.clip(size, *step_sizes)
        last = np.where(g * last < 0, 0, g)
        p = p - np.sign(last) * size


def asgd(lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6):
    eta = lr
    p = yield
    for t in itertools.count(1):
        p, g = yield p
        p = p - eta * (g + lambd * p)
        eta = lr / (1 + lambd * lr * t) ** alpha


def expected(rule, options):
    """The trace of a rule, with the gradient decayed and turned as all optimizers do."""
    options = dict(options)
    decay, decoupled = options.pop("weight_decay", 0), options.pop("decoupled_weight_decay", False)
    sign = -1 if options.pop("maximize", False) else 1
    steps = rule(**options)
    next(steps)
    p = steps.send(START)
    trace = []
    for grad in gradients():
        g = sign * grad + (0 if decoupled else decay * p)
        kept = p * (1 - options.get("lr", 0) * decay) if decoupled else p
        p = steps.send((kept, g))
        trace.append(p)
    return np.array(trace)


OWN = {
    "Adamax": (adamax, [{}, {"lr": 0.1, "betas": (0.5, 0.9), "eps": 0.1}]),
    "NAdam": (nadam, [{}, {"lr": 0.1, "betas": (0.5, 0.9), "momentum_decay": 0.1, "eps": 1e-3}]),
    "RAdam": (radam, [{}, {"lr": 0.1, "betas": (0.5, 0.99), "eps": 1e-3}]),
    "Adagrad": (
        adagrad,
        [{}, {"lr": 0.5, "lr_decay": 0.1, "initial_accumulator_value": 0.3, "eps": 1e-3}],
    ),
    "Adadelta": (adadelta, [{}, {"lr": 0.5, "rho": 0.5, "eps": 1e-2}]),
    "RMSprop": (
        rmsprop,
        [
            {},
            {"lr": 0.1, "alpha": 0.9, "momentum": 0.8, "eps": 1e-3},
            {"lr": 0.1, "alpha": 0.9, "centered": True, "eps": 1e-3},
            {"lr": 0.1, "momentum": 0.5, "centered": True},
        ],
    ),
    "Rprop": (rprop, [{}, {"lr": 0.1, "etas": (0.3, 3.0), "step_sizes": (0.05, 1.0)}]),
    "ASGD": (asgd, [{}, {"lr": 0.1, "lambd": 0.1, "alpha": 0.5}]),
}
COMMON = [{}, {"weight_decay": 0.1}, {"maximize": True}, {"weight_decay": 0.1, "maximize": True}]
DECOUPLED = [{"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}]
CASES = [
    (kind, {**own, **common})
    for kind, (_, cases) in OWN.items()
    for own in cases
    for common in COMMON + (DECOUPLED if kind in ("NAdam", "RAdam") else [])
    if not (kind == "Rprop" and "weight_decay" in common)
]


@pytest.mark.parametrize(("kind", "options"), CASES, ids=str)
def test_trajectory(kind, options):
    mine, theirs = follow(kind, options), expected(OWN[kind][0], options)
    np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-11)


def test_averaged_parameters():
    """From step t0 + 1 on the average is the mean of the parameters since."""
    p = leaf([1.0], dtype=flambeau.float64)
    optimizer = optim.ASGD([p], lr=0.1, t0=3)
    trace = []
    for step in range(9):
        p.grad = flambeau.tensor([np.cos(step)], dtype=flambeau.float64)
        optimizer.step()
        trace.append(p.tolist()[0])
    assert optimizer.state[p]["ax"].tolist() == pytest.approx([np.mean(trace[4:])])


def test_a_gradient_that_hardly_changes_is_no_nan():
    p = leaf([1.0])
    optimizer = optim.RMSprop([p], lr=1e-3, centered=True, eps=1e-3)
    for _ in range(3000):
        p.grad = flambeau.tensor([0.1234567])
        optimizer.step()
    assert np.isfinite(p.tolist()).all()


def test_rprop_leaves_what_is_no_number_alone():
    p = leaf([1.0, 1.0])
    optimizer = optim.Rprop([p])
    for grad in ([1.0, np.nan], [1.0, 1.0]):
        p.grad = flambeau.tensor(grad)
        optimizer.step()
    assert p.tolist() == pytest.approx([1 - 0.01 - 0.012, 1 - 0.01])


@pytest.mark.parametrize(
    ("kind", "options", "text"),
    [
        ("Adamax", {"betas": (1.0, 0.9)}, r"betas\[0\]"),
        ("NAdam", {"momentum_decay": -1}, "momentum_decay"),
        ("RAdam", {"eps": -1}, "eps"),
        ("Adagrad", {"lr_decay": -1}, "lr_decay"),
        ("Adagrad", {"initial_accumulator_value": -1}, "initial_accumulator_value"),
        ("Adadelta", {"rho": 1.5}, "rho is between 0 and 1, not 1.5"),
        ("RMSprop", {"alpha": -1}, "alpha"),
        ("Rprop", {"etas": (0.5, 0.9)}, "etas"),
        ("ASGD", {"weight_decay": -1}, "weight_decay"),
        ("ASGD", {"lr": flambeau.ones(2)}, r"one element, not of shape \(2,\)"),
    ],
)
def test_options_are_checked(kind, options, text):
    with pytest.raises(ValueError, match=text):
        getattr(optim, kind)([leaf([1.0])], **options)
