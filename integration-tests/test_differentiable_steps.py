"""Gradients through the steps of an optimizer, with ``differentiable=True``."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import optim
from flambeau.autograd import gradcheck

START, GRAD = (1.0, -2.0, 0.5), (0.3, 0.7, -0.9)
CASES = [
    ("SGD", {"weight_decay": 0.1}),
    ("SGD", {"momentum": 0.9, "dampening": 0.2}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1}),
    ("AdamW", {"weight_decay": 0.1}),
    ("Adamax", {}),
    ("NAdam", {"momentum_decay": 0.1}),
    ("RAdam", {}),
    ("RAdam", {"betas": (0.8, 0.3)}),
    ("Adagrad", {"lr_decay": 0.1}),
    ("Adadelta", {}),
    ("RMSprop", {}),
    ("RMSprop", {"centered": True, "momentum": 0.9}),
    ("Rprop", {}),
    ("ASGD", {"t0": 1, "lambd": 0.1}),
]


def double(lib, values):
    """A leaf in double precision."""
    return lib.tensor(values, dtype=lib.float64, requires_grad=True)


def loss_of(lib, p):
    """A loss whose gradient depends on the parameters; it reads a copy, as steps are in place."""
    copy = p.clone()
    return (copy**2 * lib.tensor([1.0, 2.0, 3.0], dtype=lib.float64)).sum() + copy.prod()


def after_steps(lib, start, grad, make):
    """The loss after three steps, the first with the gradient given."""
    p = start.clone()
    optimizer = make([p])
    p.grad = grad.clone()
    optimizer.step()
    for _ in range(2):
        optimizer.zero_grad()
        loss_of(lib, p).backward(inputs=(p,), create_graph=True)
        optimizer.step()
    return loss_of(lib, p)


def maker(lib, kind, **options):
    """A constructor of differentiable steps."""
    cls = getattr(lib.optim, kind)
    return lambda params: cls(params, differentiable=True, **options)


@pytest.mark.parametrize(("kind", "options"), CASES, ids=str)
def test_gradients_by_parameters_gradients_and_rates(kind, options):
    def function(start, grad, lr):
        return after_steps(flambeau, start, grad, maker(flambeau, kind, lr=lr, **options))

    assert gradcheck(
        function, (double(flambeau, START), double(flambeau, GRAD), double(flambeau, 0.05))
    )


@pytest.mark.parametrize("kind", ["Adam", "AdamW", "Adamax", "NAdam", "RAdam"])
def test_gradients_by_betas(kind):
    def function(start, grad, *betas):
        return after_steps(flambeau, start, grad, maker(flambeau, kind, lr=0.05, betas=betas))

    inputs = [double(flambeau, values) for values in (START, GRAD, 0.8, 0.3)]
    assert gradcheck(function, inputs)


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adagrad"])
def test_gradients_by_weight_decay(kind):
    def function(start, grad, decay):
        make = maker(flambeau, kind, lr=0.05, weight_decay=decay)
        return after_steps(flambeau, start, grad, make)

    assert gradcheck(
        function, (double(flambeau, START), double(flambeau, GRAD), double(flambeau, 0.1))
    )


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("SGD", ["momentum_buffer"]),
        ("Adam", ["exp_avg", "exp_avg_sq"]),
        ("RMSprop", ["square_avg"]),
        ("Adagrad", ["sum"]),
        ("Adadelta", ["square_avg", "acc_delta"]),
        ("Rprop", ["prev", "step_size"]),
    ],
)
def test_gradients_by_state(kind, names):
    def function(start, grad, *states):
        p = start.clone()
        p.grad = grad
        optimizer = maker(flambeau, kind, lr=0.5, **{"momentum": 0.9} if kind == "SGD" else {})([p])
        optimizer.state[p].update({"step": 3, **dict(zip(names, states, strict=True))})
        optimizer.step()
        return p, *(optimizer.state[p][name] for name in names)

    states = [double(flambeau, [0.3, 0.2 + i, 0.7]) for i in range(len(names))]
    assert gradcheck(function, (double(flambeau, START), double(flambeau, GRAD), *states))


def test_the_gradient_by_a_rate_is_known():
    """Descent on x**2 / 2 multiplies x by 1 - lr in every step."""
    start, lr = double(flambeau, 3.0), double(flambeau, 0.1)
    p = start.clone()
    optimizer = optim.SGD([p], lr=lr, differentiable=True)
    for _ in range(4):
        (p.clone() ** 2 / 2).backward(inputs=(p,), create_graph=True)
        with flambeau.no_grad():  # the step is recorded wherever it is taken
            optimizer.step()
        optimizer.zero_grad()
    p.backward()
    assert p.item() == pytest.approx(3 * 0.9**4)
    assert start.grad.item() == pytest.approx(0.9**4)
    assert lr.grad.item() == pytest.approx(-12 * 0.9**3)


@pytest.mark.parametrize("amsgrad", [False, True])
def test_where_there_is_no_slope_the_gradient_is_no_nan(amsgrad):
    start, grad = double(flambeau, [1.0, 2.0]), double(flambeau, [0.0, 0.5])
    p = start.clone()
    p.grad = grad.clone()
    make = maker(flambeau, "Adam", lr=0.1, eps=0.01, amsgrad=amsgrad)
    make([p]).step()
    p.sum().backward()
    # By g, -lr * g / (|g| + eps) is -lr / eps at 0, and -lr * eps / (g + eps)**2 above.
    assert grad.grad.tolist() == pytest.approx([-10, -0.001 / 0.51**2])
    assert start.grad.tolist() == [1, 1]


def test_a_gradient_alone_makes_a_parameter_part_of_the_graph():
    p, grad = flambeau.tensor([1.0]), flambeau.tensor([2.0], requires_grad=True)
    p.grad = grad * 3
    optim.SGD([p], lr=0.5, differentiable=True).step()
    p.backward()
    assert (p.tolist(), grad.grad.tolist()) == ([-2], [-1.5])


def test_leaves_are_refused_with_advice():
    computed, leaf = double(flambeau, START).clone(), double(flambeau, START)
    computed.grad = leaf.grad = flambeau.tensor(GRAD, dtype=flambeau.float64)
    optimizer = optim.Adam([computed, leaf], differentiable=True)
    with pytest.raises(RuntimeError, match=r"parameter 1 of the group is a leaf.*p\.clone\(\)"):
        optimizer.step()
    assert computed.tolist() == leaf.tolist() == list(START)
    with pytest.raises(ValueError, match="computed from others"):
        optim.Adam([double(flambeau, START).clone()])


# PyTorch starts a momentum with a gradient cut off from the graph, and writes over averages that
# its own gradients have yet to read: these cases are compared for one step from a given state.
FROM_A_STATE = [
    ("SGD", {"momentum": 0.9, "dampening": 0.2}, ["momentum_buffer"]),
    ("SGD", {"momentum": 0.9, "nesterov": True, "maximize": True}, ["momentum_buffer"]),
    ("Adam", {"amsgrad": True}, ["exp_avg", "exp_avg_sq", "max_exp_avg_sq"]),
    ("Adamax", {}, ["exp_avg", "exp_inf"]),
    ("RMSprop", {"centered": True, "momentum": 0.9}, ["grad_avg", "square_avg", "momentum_buffer"]),
    ("Rprop", {}, ["prev", "step_size"]),
]
SEVERAL_STEPS = [
    (kind, options)
    for kind, options in CASES
    if kind not in ("Adamax", "Rprop") and not {"momentum", "amsgrad"} & set(options)
]
# What it says of backward(create_graph=True).
cycles = pytest.mark.filterwarnings("ignore:Using backward")


@pytest.fixture
def torch():
    """PyTorch with double precision, in which it keeps eta, mu and the product of momenta."""
    module = pytest.importorskip("torch")
    module.set_default_dtype(module.float64)
    yield module
    module.set_default_dtype(module.float32)


@cycles
@pytest.mark.oracle
@pytest.mark.parametrize(("kind", "options"), SEVERAL_STEPS, ids=str)
def test_steps_against_pytorch(torch, kind, options):
    def function(lib, start, grad):
        return after_steps(lib, start, grad, maker(lib, kind, lr=0.05, **options))

    compare(torch, function, START, GRAD)


@cycles
@pytest.mark.oracle
@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW"])
def test_rates_against_pytorch(torch, kind):
    def function(lib, start, grad, lr, decay):
        return after_steps(lib, start, grad, maker(lib, kind, lr=lr, weight_decay=decay))

    compare(torch, function, START, GRAD, 0.05, 0.1)


@pytest.mark.oracle
@pytest.mark.parametrize(("kind", "options", "names"), FROM_A_STATE, ids=str)
def test_a_step_from_a_state_against_pytorch(torch, kind, options, names):
    def function(lib, start, grad, *states):
        p = start.clone()
        p.grad = grad.clone()
        optimizer = maker(lib, kind, lr=0.5, **options)([p])
        optimizer.state[p].update({"step": lib.tensor(3.0, dtype=lib.float64)})
        optimizer.state[p].update((n, s.clone()) for n, s in zip(names, states, strict=True))
        optimizer.step()
        weights = lib.tensor([1.0, 2.0, 3.0], dtype=lib.float64)
        return sum((weights * each).sum() for each in (p, *(optimizer.state[p][n] for n in names)))

    states = ([0.1, -0.2, 0.3], [0.4, 0.9, 0.7], [0.6, 0.5, 0.8])
    compare(torch, function, START, GRAD, *states[: len(names)])


def compare(torch, function, *inputs):
    """The value of a function and its gradients by all inputs, here and there."""
    np.testing.assert_allclose(
        *(gradients(lib, function, inputs) for lib in (flambeau, torch)), rtol=1e-9, atol=1e-12
    )


def gradients(lib, function, inputs):
    """One library's value and gradients, in one row; no gradient is a gradient of 0."""
    leaves = [double(lib, values) for values in inputs]
    value = function(lib, *leaves)
    value.backward()
    found = [lib.zeros_like(each) if each.grad is None else each.grad for each in leaves]
    return np.concatenate([[value.item()], *(np.ravel(each.tolist()) for each in found)])
