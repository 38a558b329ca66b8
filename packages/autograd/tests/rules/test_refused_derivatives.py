"""Functions whose derivative nobody has written refuse it: a gradient without them is wrong."""
import pytest

import flambeau

SYMMETRIC = ((2.0, 1.0), (1.0, 3.0))
FUNCTIONS = {
    "unique": lambda x: flambeau.unique(x),
    "unique with counts": lambda x: flambeau.unique(x, return_counts=True)[0],
    "unique rows": lambda x: flambeau.unique(x, dim=0),
    "unique_consecutive": lambda x: flambeau.unique_consecutive(x),
    "histogram": lambda x: flambeau.histogram(x, 3)[0],
    "histogramdd": lambda x: flambeau.histogramdd(x, [2, 2])[0],
    "bincount": lambda x: flambeau.bincount(flambeau.arange(4), x.reshape(-1)),
    "heaviside": lambda x: flambeau.heaviside(x, flambeau.ones(2, 2)),
    "heaviside of values": lambda x: flambeau.heaviside(flambeau.zeros(2, 2), x),
    "geqrf": lambda x: flambeau.geqrf(x)[1],
    "ldl_factor": lambda x: flambeau.linalg.ldl_factor(x)[0],
    "ldl_solve": lambda x: flambeau.linalg.ldl_solve(
        *flambeau.linalg.ldl_factor(x.detach()), x),
    "floor_divide": lambda x: x // 2,
    "floor_divide by": lambda x: 2 // x,
    "floor_divide_": lambda x: x.clone().floor_divide_(x),
    "binomial": lambda x: flambeau.binomial(flambeau.ones(2, 2), x / 10),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_derivative_is_refused(name):
    x = flambeau.tensor(SYMMETRIC, requires_grad=True)
    y = FUNCTIONS[name](x)
    assert y.requires_grad
    with pytest.raises(RuntimeError, match="the derivative for .* is not implemented"):
        (y.sum() + x.sum()).backward()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_without_recording_nothing_is_refused(name):
    x = flambeau.tensor(SYMMETRIC, requires_grad=True)
    assert not FUNCTIONS[name](x.detach()).requires_grad
    with flambeau.no_grad():
        assert not FUNCTIONS[name](x).requires_grad


def test_numbers_and_positions_carry_no_history():
    x = flambeau.tensor([2.0, 1.0, 2.0], requires_grad=True)
    values, indices, counts = flambeau.unique(x, return_inverse=True, return_counts=True)
    assert values.requires_grad
    assert not (indices.requires_grad or counts.requires_grad)


@pytest.mark.parametrize("name", [
    "unique", "histogram", "bincount", "heaviside", "heaviside of values", "floor_divide",
    "floor_divide by"])
def test_forward_mode(name):
    x = flambeau.tensor(SYMMETRIC)
    with pytest.raises(NotImplementedError):
        flambeau.func.jvp(FUNCTIONS[name], (x,), (x,))


@pytest.mark.parametrize("mode", ["floor", "trunc"])
def test_rounded_quotients_are_flat(mode):
    x = flambeau.tensor([3.5, -3.5], requires_grad=True)
    y = flambeau.tensor([2.0, 2.0], requires_grad=True)
    quotient = flambeau.div(x, y, rounding_mode=mode)
    assert quotient.tolist() == ([1, -2] if mode == "floor" else [1, -1])
    quotient.sum().backward()
    assert x.grad.tolist() == y.grad.tolist() == [0, 0]
    quotient, slope = flambeau.func.jvp(
        lambda x: flambeau.div(x, 2, rounding_mode=mode), (x.detach(),), (y.detach(),))
    assert slope.tolist() == [0, 0]


def test_inside_transforms():
    x = flambeau.tensor([2.0, 1.0, 2.0])
    with pytest.raises(RuntimeError, match="the derivative for 'unique' is not implemented"):
        flambeau.func.grad(lambda x: flambeau.unique(x).sum())(x)
    assert flambeau.func.grad(lambda x: (flambeau.heaviside(x.detach(), x.detach()) * x).sum())(
        x).tolist() == [1, 1, 1]


@pytest.mark.parametrize("draw", [flambeau.bernoulli, flambeau.poisson])
def test_what_is_drawn_has_a_gradient_of_zeros(draw):
    x = flambeau.tensor([0.5, 0.25], requires_grad=True)
    y = draw(x)
    (g,) = flambeau.autograd.grad(y.sum(), x)
    assert g.tolist() == [0, 0]
    _, moved = flambeau.func.jvp(draw, (x.detach(),), (flambeau.ones(2),))
    assert moved.tolist() == [0, 0] and not moved.requires_grad
