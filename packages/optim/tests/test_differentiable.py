"""Steps with ``differentiable=True``: they give the values that other steps give."""

import itertools

import numpy as np
import pytest
from leaves import leaf

import flambeau
from flambeau import optim

STEPS = 10
BETAS = (0.8, 0.9)
OWN = {
    "SGD": [
        {},
        {"momentum": 0.9},
        {"momentum": 0.9, "dampening": 0.3},
        {"momentum": 0.9, "nesterov": True},
    ],
    "Adam": [{}, {"amsgrad": True, "betas": BETAS}, {"decoupled_weight_decay": True}],
    "AdamW": [{}, {"amsgrad": True}],
    "Adamax": [{}, {"betas": BETAS, "eps": 0.1}],
    "NAdam": [{}, {"momentum_decay": 0.1}, {"decoupled_weight_decay": True}],
    # With a second beta of 0.9 some steps only average and others do not.
    "RAdam": [{}, {"betas": BETAS}, {"betas": BETAS, "decoupled_weight_decay": True}],
    "Adagrad": [{}, {"lr_decay": 0.1, "initial_accumulator_value": 0.5}],
    "Adadelta": [{}, {"rho": 0.5, "eps": 1e-2}],
    "RMSprop": [
        {"centered": centered, "momentum": momentum}
        for centered, momentum in itertools.product((False, True), (0, 0.9))
    ],
    "Rprop": [{}, {"etas": (0.3, 2.0), "step_sizes": (0.02, 0.1)}],
    "ASGD": [{}, {"t0": 3, "lambd": 0.1, "alpha": 0.5}],
}
CASES = [
    (kind, {**own, "maximize": maximize, **decay})
    for kind, options in OWN.items()
    for own in options
    for maximize in (False, True)
    for decay in ([{}] if kind == "Rprop" else [{"weight_decay": 0}, {"weight_decay": 0.1}])
]


def walk(kind, options, dtype, differentiable):
    """The parameters after every step, and the last state; one element has no slope."""
    rng = np.random.default_rng(0)
    shapes = ((3, 2), ())
    params = [leaf(flambeau.tensor(rng.standard_normal(s)).to(dtype)) for s in shapes]
    optimizer = getattr(optim, kind)(params, lr=0.05, differentiable=differentiable, **options)
    trace = []
    for step in range(STEPS):
        for i, (param, shape) in enumerate(zip(params, shapes, strict=True)):
            values = rng.standard_normal(shape)
            values[(0,) * len(shape)] *= i
            grad = flambeau.tensor(values).to(dtype)
            param.grad = grad if i == 0 or step % 3 == 0 else None
        optimizer.step()
        trace += [flat(param) for param in params]
    state = optimizer.state[params[0]].values()
    return np.concatenate(trace), [flat(s) for s in state if isinstance(s, flambeau.Tensor)]


def flat(tensor):
    return np.array(tensor.reshape(-1).to(flambeau.complex128).tolist())


@pytest.mark.parametrize(("kind", "options"), CASES, ids=str)
def test_values(kind, options):
    mine = walk(kind, options, flambeau.float64, True)
    fused = walk(kind, options, flambeau.float64, False)
    np.testing.assert_allclose(mine[0], fused[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(mine[1], fused[1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", OWN)
@pytest.mark.parametrize(
    ("dtype", "rtol"),
    [(flambeau.float32, 1e-5), (flambeau.bfloat16, 2e-2), (flambeau.complex128, 1e-12)],
    ids=str,
)
def test_dtypes(kind, dtype, rtol):
    options = OWN[kind][-1]
    mine, fused = (walk(kind, options, dtype, each)[0] for each in (True, False))
    np.testing.assert_allclose(mine, fused, rtol=rtol, atol=rtol)


def test_a_rate_as_a_tensor():
    p = leaf([1.0, 2.0], grad=[0.5, 1.0], dtype=flambeau.float64)
    optim.SGD([p], lr=flambeau.tensor([0.25]), differentiable=True).step()
    assert p.tolist() == [0.875, 1.75]


def test_groups_differ():
    """One group's steps may be differentiable and another's not."""
    a, b = leaf([1.0], grad=[1.0]), leaf([1.0], grad=[1.0])
    groups = [{"params": [a], "differentiable": True}, {"params": [b]}]
    optim.SGD(groups, lr=0.5).step()
    assert a.tolist() == b.tolist() == [0.5]


def test_the_state_is_replaced_not_written_over():
    p = leaf([1.0], grad=[1.0])
    optimizer = optim.Adam([p], lr=0.5, differentiable=True)
    optimizer.step()
    before = optimizer.state[p]["exp_avg"]
    optimizer.step()
    assert before.tolist() == pytest.approx([0.1])
    assert optimizer.state[p]["exp_avg"].tolist() == pytest.approx([0.19])


@pytest.mark.parametrize("kind", ["LBFGS", "Adafactor", "Muon"])
def test_others_have_no_such_option(kind):
    with pytest.raises(TypeError, match="differentiable"):
        getattr(optim, kind)([leaf([[1.0]])], differentiable=True)
