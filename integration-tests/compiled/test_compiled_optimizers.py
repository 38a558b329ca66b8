"""Optimizers' steps in compiled calls are what they are outside, bit for bit."""

import sys

import pytest

import flambeau
from flambeau import jit, optim

KINDS = [
    ("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}), ("Adam", {}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1}), ("AdamW", {"maximize": True}),
    ("Adamax", {}), ("NAdam", {}), ("RAdam", {}), ("Adagrad", {}), ("Adadelta", {}),
    ("RMSprop", {"centered": True, "momentum": 0.5}), ("Rprop", {}), ("ASGD", {}),
    ("Adafactor", {}),
]
SHAPES = [(7,), (), (0, 3), (40_001,), (33, 5)]


def bits(tensor):
    return tensor.detach().contiguous().view(-1).view(flambeau.uint8)


def train(kind, options, dtype, wrap):
    """Parameters and their states after some steps; the last parameter is no contiguous one."""
    flambeau.manual_seed(0)
    params = [flambeau.randn(shape, dtype=dtype) for shape in SHAPES]
    params.append(flambeau.randn((6, 4), dtype=dtype).t())
    for p in params:
        p.requires_grad_()
    optimizer = getattr(optim, kind)(params, **options)
    step = wrap(optimizer.step)
    for number in range(4):
        for p in params:
            p.grad = flambeau.randn(p.shape, dtype=dtype) * 10.0 ** (number - 2)
            if number == 3 and p.numel() > 2:
                p.grad.view(-1)[1:3] = flambeau.tensor([float("nan"), float("inf")], dtype=dtype)
        step()
    states = [value for p in params for value in optimizer.state[p].values()]
    return params + [value for value in states if isinstance(value, flambeau.Tensor)]


@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64, flambeau.bfloat16])
@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_a_compiled_step_is_a_step(kind, options, dtype):
    wanted = train(kind, options, dtype, lambda step: step)
    found = train(kind, options, dtype, jit.compile)
    assert len(wanted) == len(found)
    for one, other in zip(wanted, found, strict=True):
        assert flambeau.equal(bits(one), bits(other))


def test_gradients_that_wait_are_computed_first():
    """A step reads gradients that were made by kernels that wait, and writes what they read."""
    def train_on(wrap):
        flambeau.manual_seed(1)
        p = flambeau.randn(50_000, requires_grad=True)
        optimizer = optim.Adam([p], lr=0.1)

        def step():
            p.grad = (p.detach() * 2 + 1).tanh()
            later = p.detach() * 3
            optimizer.step()
            return later + p.detach()
        step = wrap(step)
        return [step() for _ in range(3)] + [p]
    for one, other in zip(train_on(lambda f: f), train_on(jit.compile), strict=True):
        assert flambeau.equal(bits(one), bits(other))


def test_code_is_made_however_deep_the_stack(monkeypatch):
    """Machine code is made where Python's stack is empty."""
    lost = []
    monkeypatch.setattr(sys, "unraisablehook", lost.append)
    p = flambeau.ones(5, dtype=flambeau.float64, requires_grad=True)
    p.grad = flambeau.ones(5, dtype=flambeau.float64)
    optimizer = optim.Adamax([p], maximize=True, weight_decay=0.5)
    optimizer.step()
    step = jit.compile(optimizer.step)

    def deep():
        """Call the step where 20 calls more are one too many."""
        try:
            probe(20)
        except RecursionError:
            return False
        return deep() or step() is None

    def probe(calls):
        return calls and probe(calls - 1)
    assert deep()
    assert not lost
    assert optimizer.state[p]["step"] == 2
