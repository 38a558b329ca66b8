"""L-BFGS: against PyTorch, SciPy's minimum, and what it promises about evaluations."""

import numpy as np
import pytest
from leaves import leaf

import flambeau
from flambeau import optim

START = [-1.2, 1.0, 0.5, 2.0]


def rosenbrock(x):
    """The function and its gradient."""
    a, b = x[:-1], x[1:]
    value = np.sum(100 * (b - a * a) ** 2 + (1 - a) ** 2)
    grad = np.zeros_like(x)
    grad[:-1] += -400 * a * (b - a * a) - 2 * (1 - a)
    grad[1:] += 200 * (b - a * a)
    return value, grad


def walk(t, steps, start=START, dtype="float64", **options):
    """The parameters after every step; two tensors, the gradient set by hand."""
    dtype = getattr(t, dtype)
    params = [t.tensor(start[:1], dtype=dtype), t.tensor([start[1:]], dtype=dtype)]
    params = [leaf(p) for p in params] if t is flambeau else params
    optimizer = t.optim.LBFGS(params, **options)
    calls, trace = [], []

    def closure():
        x = np.concatenate([p.detach().numpy().ravel() for p in params]).astype(np.float64)
        value, grad = rosenbrock(x)
        params[0].grad = t.tensor(grad[:1], dtype=dtype)
        params[1].grad = t.tensor(grad[None, 1:], dtype=dtype)
        calls.append(x)
        return t.tensor(value, dtype=dtype)

    for _ in range(steps):
        loss = optimizer.step(closure)
        trace.append(np.concatenate([[float(loss)], *(p.numpy().ravel() for p in params)]))
    return np.array(trace), np.array(calls), optimizer


OPTIONS = [
    {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "history_size": 2, "max_iter": 5},
    {"line_search_fn": "strong_wolfe", "max_iter": 3, "max_eval": 4, "lr": 0.1},
    {"lr": 1e-3, "max_iter": 4},
    {"lr": 1e-3, "history_size": 3, "max_iter": 4, "tolerance_change": 1e-4},
]


@pytest.mark.oracle
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_evaluation_is_that_of_pytorch(options):
    torch = pytest.importorskip("torch")
    _, mine, _ = walk(flambeau, 25, **options)
    _, theirs, _ = walk(torch, 25, **options)
    # Far along a search, rounding decides which of two equal points is taken.
    shown = 40 if "line_search_fn" in options else len(theirs)
    np.testing.assert_allclose(mine[:shown], theirs[:shown], rtol=1e-6, atol=1e-7)
    assert len(mine) == pytest.approx(len(theirs), abs=len(theirs) - shown)


def test_it_finds_the_minimum():
    trace, _, _ = walk(flambeau, 8, line_search_fn="strong_wolfe")
    # One of the two minima in four dimensions, known to these digits.
    np.testing.assert_allclose(trace[-1][1:], [-0.775659, 0.613093, 0.382063, 0.145972], atol=1e-5)


def test_a_quadratic_takes_as_many_iterations_as_dimensions():
    """With exact curvature pairs and an exact search, which the first cubic is on a parabola."""
    scales = flambeau.tensor([1.0, 3.0], dtype=flambeau.float64)
    p = leaf([1.0, 1.0], dtype=flambeau.float64)
    optimizer = optim.LBFGS([p], max_iter=6, line_search_fn="strong_wolfe")

    def closure():
        p.grad = scales * p.detach()
        return (0.5 * scales * p.detach() ** 2).sum()

    assert float(optimizer.step(closure)) == 2.0
    assert np.abs(p.tolist()).max() < 1e-3


def test_evaluations_are_limited():
    for limit in (1, 3, 7):
        _, calls, optimizer = walk(flambeau, 1, max_eval=limit, line_search_fn="strong_wolfe")
        assert len(calls) <= limit + 1
        state = optimizer.state[optimizer.param_groups[0]["params"][0]]
        assert state["func_evals"] == len(calls)


def test_a_flat_start_is_left_alone():
    p = leaf([1.0], grad=[0.0])
    optim.LBFGS([p]).step(lambda: flambeau.tensor(0.0))
    assert p.tolist() == [1.0]
    empty = leaf([], grad=[])
    optim.LBFGS([empty]).step(lambda: flambeau.tensor(0.0))


def test_saved_and_resumed():
    options = {"line_search_fn": "strong_wolfe", "max_iter": 3}
    whole, _, _ = walk(flambeau, 6, **options)
    first, _, optimizer = walk(flambeau, 3, **options)
    state = optimizer.state_dict()
    params = [leaf([0.0], dtype=flambeau.float64), leaf([[0.0] * 3], dtype=flambeau.float64)]
    resumed = optim.LBFGS(params)
    resumed.load_state_dict(state)
    values = first[-1][1:]
    params[0].copy_(flambeau.tensor(values[:1]))
    params[1].copy_(flambeau.tensor(values[None, 1:]))

    def closure():
        value, grad = rosenbrock(np.concatenate([p.numpy().ravel() for p in params]))
        params[0].grad, params[1].grad = flambeau.tensor(grad[:1]), flambeau.tensor(grad[None, 1:])
        return flambeau.tensor(value)

    for _ in range(3):
        resumed.step(closure)
    np.testing.assert_array_equal([*params[0].tolist(), *params[1].tolist()[0]], whole[-1][1:])


def test_complex_parameters_are_pairs():
    p = leaf([1.0 + 2.0j], dtype=flambeau.complex128)
    optimizer = optim.LBFGS([p], lr=0.5, max_iter=40)

    def closure():
        p.grad = 2 * p.detach()
        return p.detach().abs().square().sum()

    optimizer.step(closure)
    assert abs(p.tolist()[0]) < 1e-4


def test_options_are_checked():
    p = leaf([1.0])
    with pytest.raises(ValueError, match="one group"):
        optim.LBFGS([{"params": [p]}, {"params": [leaf([1.0])]}])
    with pytest.raises(ValueError, match="strong_wolfe"):
        optim.LBFGS([p], line_search_fn="armijo")
    with pytest.raises(TypeError, match="pass a function"):
        optim.LBFGS([p]).step()


@pytest.mark.parametrize(
    ("options", "evaluations"),
    [
        ({}, 3),
        ({"tolerance_grad": -1}, 3),
        ({"tolerance_grad": -1, "line_search_fn": "strong_wolfe"}, 3),
        ({"tolerance_grad": -1, "tolerance_change": -1}, 60),
    ],
)
def test_no_gradient_moves_nothing(options, evaluations):
    """The evaluations are PyTorch's."""
    param = leaf(flambeau.tensor([1.0, 2.0]))
    optimizer = optim.LBFGS([param], **options)

    def closure():
        param.grad = flambeau.zeros(2)
        return flambeau.tensor(5.0)

    for _ in range(3):
        assert optimizer.step(closure) == 5
    assert param.tolist() == [1, 2]
    assert optimizer.state[param]["func_evals"] == evaluations


def test_a_gradient_that_is_no_number_is_not_remembered():
    param = leaf(flambeau.tensor([1.0, 2.0]))
    optimizer = optim.LBFGS([param], lr=0.1, max_iter=1)
    slopes = [flambeau.tensor([1.0, 1.0]), flambeau.tensor([float("nan"), 1.0])]
    for slope in slopes:

        def closure(slope=slope):
            param.grad = slope.clone()
            return flambeau.tensor(1.0)

        optimizer.step(closure)
    assert optimizer.state[param]["ro"] == []


def test_a_search_along_a_straight_line_goes_as_far_as_it_may():
    """Ten times the step each time, as in PyTorch: 0.5, 5, 50."""
    param = leaf(flambeau.tensor([1.0]))
    optimizer = optim.LBFGS([param], line_search_fn="strong_wolfe", max_eval=3, max_iter=1)

    def closure():
        param.grad = flambeau.tensor([2.0])
        return 2 * param.detach()[0]

    optimizer.step(closure)
    assert param.tolist() == [-99]
