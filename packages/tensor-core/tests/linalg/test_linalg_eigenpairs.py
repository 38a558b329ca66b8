"""The largest and smallest eigenvalues: ``lobpcg``."""

import numpy as np
import pytest

import flambeau


def _symmetric(*shape):
    a = np.random.default_rng(1).standard_normal(shape)
    return a + np.swapaxes(a, -1, -2)


@pytest.mark.parametrize("largest", (None, True, False))
def test_eigenpairs(largest):
    a = _symmetric(2, 9, 9)
    values, vectors = flambeau.lobpcg(flambeau.tensor(a), k=3, largest=largest)
    expected = np.linalg.eigvalsh(a)
    expected = expected[:, :3] if largest is False else expected[:, :-4:-1]
    np.testing.assert_allclose(values.numpy(), expected)
    np.testing.assert_allclose(a @ vectors.numpy(), vectors.numpy() * expected[:, None], atol=1e-9)


def test_generalized():
    a, b = _symmetric(6, 6), np.diag(np.arange(1.0, 7.0)) + 0.1
    values, vectors = flambeau.lobpcg(flambeau.tensor(a), B=flambeau.tensor(b), k=2)
    x = vectors.numpy()
    np.testing.assert_allclose(a @ x, b @ x * values.numpy(), atol=1e-9)
    np.testing.assert_allclose(x.T @ b @ x, np.eye(2), atol=1e-9)
    np.testing.assert_allclose(
        values.numpy(), np.sort(np.linalg.eigvals(np.linalg.solve(b, a)).real)[:-3:-1])


def test_how_many():
    a = flambeau.tensor(_symmetric(5, 5))
    assert flambeau.lobpcg(a)[1].shape == (5, 1)
    assert flambeau.lobpcg(a, X=flambeau.ones(5, 2))[0].shape == (2,)


@pytest.mark.parametrize(("options", "text"), (
    ({"k": 0}, "between 1 and"), ({"k": 6}, "between 1 and"), ({"method": "other"}, "method"),
    ({"A": flambeau.ones(5, 4)}, "square"), ({"tracker": print}, "leave tracker out"),
))
def test_refusals(options, text):
    with pytest.raises((ValueError, NotImplementedError), match=text):
        flambeau.lobpcg(**{"A": flambeau.eye(5), **options})


def test_gradients_are_symmetric():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    a = flambeau.tensor(_symmetric(5, 5), requires_grad=True)
    values, vectors = flambeau.lobpcg(a, k=2)
    (values.sum() + vectors.abs().sum()).backward()
    assert flambeau.allclose(a.grad, a.grad.T)
    assert flambeau.autograd.gradcheck(lambda a: flambeau.lobpcg(a, k=2)[0], (a,))
