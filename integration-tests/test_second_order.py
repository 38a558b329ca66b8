"""Uses of second derivatives: a gradient penalty, learning to learn, Hessian-vector products."""

from __future__ import annotations

import pytest
from uses import fill, flat, library, numbers

OURS = library("flambeau")


def critic(lib):
    """A network that scores points of the plane."""
    nn = lib.nn
    return fill(lib, nn.Sequential(nn.Linear(2, 16), nn.SiLU(), nn.LayerNorm(16),
                                   nn.Linear(16, 16), nn.Softplus(), nn.Linear(16, 1)))


def slopes(lib, model, points):
    """Return the length of the gradient of the score at each point, with its history."""
    points = points.clone().requires_grad_()
    gradient, = lib.autograd.grad(model(points).sum(), points, create_graph=True)
    return gradient.pow(2).sum(1).add(1e-12).sqrt()


def gradient_penalty(lib):
    """Train a Wasserstein critic; return penalties, losses and the final weights."""
    model = critic(lib)
    optimizer = lib.optim.Adam(model.parameters(), lr=0.01)
    real, fake = numbers(lib, 32, 2, seed=50) + 2, numbers(lib, 32, 2, seed=51)
    penalties, losses = [], []
    for _ in range(30):
        optimizer.zero_grad()
        penalty = (slopes(lib, model, (real + fake) / 2) - 1).pow(2).mean()
        loss = model(fake).mean() - model(real).mean() + 10 * penalty
        loss.backward()
        optimizer.step()
        penalties.append(penalty.item())
        losses.append(loss.item())
    return penalties, losses, flat(model.parameters())


def test_a_gradient_penalty_brings_slopes_to_one():
    penalties, losses, _ = gradient_penalty(OURS)
    assert penalties[-1] < 0.2 * penalties[0]
    assert losses[-1] < losses[0]


def sine(lib, weights, x):
    """A network with its weights as arguments."""
    w1, b1, w2, b2 = weights
    return lib.F.linear(lib.F.linear(x, w1, b1).tanh(), w2, b2)


def adapt(lib, weights, x, y, rate=0.1, steps=2):
    """Return the weights after a few steps on one task, as a function of the first ones."""
    for _ in range(steps):
        loss = (sine(lib, weights, x) - y).pow(2).mean()
        gradients = lib.autograd.grad(loss, weights, create_graph=True)
        weights = [w - rate * g for w, g in zip(weights, gradients, strict=True)]
    return weights


def meta_learning(lib):
    """Learn weights from which each task is learnt in two steps; return the losses, weights."""
    shapes = [(12, 1), (12,), (1, 12), (1,)]
    weights = [numbers(lib, *shape, seed=at).mul(0.5).requires_grad_()
               for at, shape in enumerate(shapes)]
    optimizer = lib.optim.SGD(weights, lr=0.05)
    x = lib.base.linspace(-2, 2, 20, dtype=lib.base.float64).reshape(20, 1)
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        total = 0
        for phase in (0.0, 0.5, 1.0):
            y = (x + phase).sin()
            fast = adapt(lib, weights, x[::2], y[::2])
            total = total + (sine(lib, fast, x[1::2]) - y[1::2]).pow(2).mean()
        total.backward()
        optimizer.step()
        losses.append(total.item())
    return losses, flat(weights)


def test_learning_to_learn():
    losses, _ = meta_learning(OURS)
    assert losses[-1] < 0.4 * losses[0]


def image_loss(lib):
    """Return the weights of a small CNN and the loss as a function of them."""
    shapes = [(4, 1, 3, 3), (4,), (6, 4, 3, 3), (5, 6)]
    weights = [numbers(lib, *shape, seed=at).mul(0.4) for at, shape in enumerate(shapes)]
    images = numbers(lib, 3, 1, 8, 8, seed=20)
    classes = lib.base.tensor([0, 3, 4])

    def loss(w1, b1, w2, w3):
        x = lib.F.max_pool2d(lib.F.silu(lib.F.conv2d(images, w1, b1, padding=1)), 2)
        x = lib.F.conv2d(x, w2, stride=2, padding=1).tanh()
        return lib.F.cross_entropy(lib.F.linear(x.mean((2, 3)), w3), classes)

    return weights, loss


def directions(lib, weights, seed):
    """Return one direction in the space of the weights."""
    return tuple(numbers(lib, *w.shape, seed=seed + at) for at, w in enumerate(weights))


def product_by_grad(lib, loss, weights, along):
    """The Hessian times a direction: the gradient of the gradient's component along it."""
    weights = [w.clone().requires_grad_() for w in weights]
    first = lib.autograd.grad(loss(*weights), weights, create_graph=True)
    component = sum((g * v).sum() for g, v in zip(first, along, strict=True))
    return lib.autograd.grad(component, weights)


def hessian_products(lib):
    """Return the product by two walks, and by `autograd.functional`."""
    weights, loss = image_loss(lib)
    along = directions(lib, weights, 30)
    _, by_function = lib.functional.hvp(loss, tuple(weights), along)
    return flat(product_by_grad(lib, loss, weights, along)), flat(by_function)


def test_a_hessian_vector_product_is_the_change_of_the_gradient():
    weights, loss = image_loss(OURS)
    along = directions(OURS, weights, 30)
    step = 1e-6

    def gradient(sign):
        moved = [(w + sign * step * v).requires_grad_()
                 for w, v in zip(weights, along, strict=True)]
        return flat(OURS.autograd.grad(loss(*moved), moved))

    expected = [(up - down) / (2 * step)
                for up, down in zip(gradient(1), gradient(-1), strict=True)]
    for found in hessian_products(OURS):
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-7)


@pytest.mark.oracle
@pytest.mark.parametrize("program", [gradient_penalty, meta_learning, hessian_products])
def test_second_order_programs_compute_what_pytorch_does(program):
    pytest.importorskip("torch")
    expected = program(library("torch"))
    for found, wanted in zip(program(OURS), expected, strict=True):
        assert found == pytest.approx(wanted, rel=1e-6, abs=1e-9)
