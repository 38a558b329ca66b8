"""Second and third derivatives of complex functions: what PyTorch gives, and finite differences."""
import pytest

import flambeau
import flambeau.autograd

NAMES = ("acos acosh asin asinh atan atanh cos cosh exp exp2 expm1 log log10 log1p log2 reciprocal "
         "rsqrt sigmoid sin sinh sqrt tan tanh").split()
VALUES = [0.3 + 0.4j, -0.5 + 0.2j, 1.3 - 0.7j, -0.2 - 0.9j]


def gradients(library, function, values, order):
    """The gradients of real functions of the results, each of the one before."""
    x = library.tensor(values, dtype=library.complex128, requires_grad=True)
    y, found = function(x), []
    for _ in range(order):
        (y,) = library.autograd.grad((y.real * 0.75 + y.imag * 1.5).sum(), x, create_graph=True)
        found.append(y.detach().resolve_conj().tolist())
    return found


@pytest.mark.oracle
@pytest.mark.parametrize("name", NAMES)
def test_pytorch_gives_the_same(name):
    torch = pytest.importorskip("torch")
    ours = gradients(flambeau, getattr(flambeau, name), VALUES, 3)
    theirs = gradients(torch, getattr(torch, name), VALUES, 3)
    for one, other in zip(ours, theirs, strict=True):
        assert one == pytest.approx(other, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("function", [
    lambda x, y: x * y.conj(), lambda x, y: x / y, lambda x, y: x**y,
    lambda x, y: flambeau.logaddexp(x, y)])
def test_finite_differences(function):
    x = flambeau.tensor(VALUES, dtype=flambeau.complex128, requires_grad=True)
    y = flambeau.tensor(VALUES[::-1], dtype=flambeau.complex128, requires_grad=True)
    assert flambeau.autograd.gradgradcheck(function, (x, y))
