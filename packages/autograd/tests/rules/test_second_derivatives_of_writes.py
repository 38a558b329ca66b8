"""Second derivatives of functions that write in place to memory that they made."""
import pytest

import flambeau as fl
from flambeau import func


def view(x, b):
    b[:2].add_(x[1:] ** 2)
    return b.sin().sum()


def held_view(x, b):
    part = b[:2]
    part.copy_(x[1:] ** 2)
    return b.sin().sum()


def twice(x, b):
    b = b.view(3, 1).expand(3, 2).clone()
    b[:, 0].copy_(x * x)
    b[:, 1] = x
    b[:, 1].mul_(b[:, 0].clone())
    return (b.sum(1) * x).sum()


def all_of_it(x, b):
    return (x * b.copy_(x)).sum()


def added(x, b):
    return (x * b.add_(x * x)).sum()


# sin(u²) has the second derivative 2 cos(u²) - 4 u² sin(u²)
SINES = [0.0, 10.801552, -16.658526]
DIAGONALS = {view: SINES, held_view: SINES, twice: [18.0, 60.0, 126.0],
             all_of_it: [2.0, 2.0, 2.0], added: [6.0, 12.0, 18.0]}


@pytest.mark.parametrize("second", [
    func.hessian, lambda f: func.jacfwd(func.jacfwd(f)), lambda f: func.jacrev(func.jacrev(f)),
    lambda f: func.jacrev(func.jacfwd(f))], ids=["hessian", "jacfwd²", "jacrev²", "rev of fwd"])
@pytest.mark.parametrize("f", DIAGONALS)
def test_second_derivatives(f, second):
    found = second(lambda x: f(x, fl.zeros(3)))(fl.tensor([1.0, 2.0, 3.0]))
    assert found.diagonal().tolist() == pytest.approx(DIAGONALS[f], rel=1e-4)
    assert (found - fl.diag(found.diagonal())).abs().max().item() < 1e-5
