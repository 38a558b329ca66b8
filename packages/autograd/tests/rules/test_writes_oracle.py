"""Random programs of views and writes: the gradients of PyTorch, where it does not refuse."""

import math
import random

import pytest

import flambeau

pytestmark = pytest.mark.oracle
torch = pytest.importorskip("torch")


def fits(T, target, value):
    """Whether a value can be written to a target of at least its shape."""
    try:
        return T.broadcast_tensors(target.detach(), value.detach())[0].shape == target.shape
    except RuntimeError:
        return False


def step(T, draw, tensors):
    """One view, write or new tensor."""
    t, u = draw.choice(tensors), draw.choice(tensors)
    row = draw.randrange(4)
    kind = draw.choice(["row", "rest", "steps", "turned", "scale", "times", "plus", "copy", "zero",
                        "sin", "product", "exp", "store"])
    rows = t.shape[0] if t.dim() else 0
    if kind == "row" and rows:
        tensors.append(t[row % rows])
    elif kind == "rest" and rows > 1:
        tensors.append(t[1:])
    elif kind == "steps" and rows:
        tensors.append(t[::2])
    elif kind == "turned" and t.dim() > 1:
        tensors.append(t.t())
    elif kind == "scale":
        t.mul_(1.5)
    elif kind == "times" and fits(T, t, u):
        t.mul_(u.clone())
    elif kind == "plus" and fits(T, t, u):
        t.add_(u.clone(), alpha=2)
    elif kind == "copy" and fits(T, t, u):
        t.copy_(u.clone())
    elif kind == "zero":
        t.zero_()
    elif kind == "sin":
        t.sin_()
    elif kind == "product" and fits(T, t, u):
        tensors.append(t * u)
    elif kind == "exp":
        tensors.append(t.sigmoid())
    elif kind == "store" and rows:
        t[0] = 0.25


def run(T, seed):
    """Values and gradients of one program; the type of its error."""
    draw = random.Random(seed)
    data = [[(1 + i + j) / 7 for j in range(3)] for i in range(4)]
    x = T.tensor(data, dtype=T.float64, requires_grad=True)
    y = T.tensor([0.5, 1.5, 2.5], dtype=T.float64, requires_grad=True)
    tensors = [x * 1.0, y * 2.0]
    try:
        for _ in range(draw.randint(3, 9)):
            step(T, draw, tensors)
        loss = sum((t * (i + 1)).sum() for i, t in enumerate(tensors))
        grads = T.autograd.grad(loss, [x, y], allow_unused=True, retain_graph=True)
        loss.backward()
    except RuntimeError:
        return None
    stored = [None if v.grad is None else v.grad.tolist() for v in (x, y)]
    named = [None if g is None else g.tolist() for g in grads]
    return {"values": [t.tolist() for t in tensors], "named": named, "stored": stored}


def flat(value):
    """The numbers of a nested list; None counts as a number of its own."""
    if isinstance(value, (list, dict)):
        inner = value.values() if isinstance(value, dict) else value
        return [number for part in inner for number in flat(part)]
    return [math.pi * 1e9 if value is None else value]


@pytest.mark.parametrize("block", range(20))
def test_gradients_of_random_programs(block):
    compared = 0
    for seed in range(block * 40, block * 40 + 40):
        expected = run(torch, seed)
        if expected is None:
            continue
        found = run(flambeau, seed)
        assert found is not None, seed
        numbers = zip(flat(found), flat(expected), strict=True)
        assert all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) for a, b in numbers), seed
        compared += 1
    assert compared > 15
