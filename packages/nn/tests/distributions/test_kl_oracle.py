"""Every registered divergence beside PyTorch's."""

import numpy as np
import pytest
from distribution_examples import EXAMPLES, default_dtype, made

import flambeau

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.oracle
#: At low = 0 and high = 1 PyTorch answers infinity, though the supports are the same: no example.
CLASSES_OF_CLASSES = ("ExponentialFamily", "TransformedDistribution", "Independent")
PAIRS = sorted((p.__name__, q.__name__) for p, q in torch.distributions.kl._KL_REGISTRY
               if p.__name__ not in CLASSES_OF_CLASSES)
SETS = {}
for _name, _parameters in EXAMPLES:
    SETS.setdefault(_name, []).append(_parameters)
SETS["Uniform"].append({"low": np.array([0.1, 0.2, 0.3]), "high": np.array([0.6, 0.7, 0.9])})
SETS["Uniform"].append({"low": np.array([-1.0, -0.2, -0.3]), "high": np.array([3.0, 1.7, 1.1])})
SETS["Uniform"].append({"low": np.array([3.0, 4.0, 5.0]), "high": np.array([4.0, 9.0, 7.0])})


@pytest.fixture(autouse=True)
def _in_double_precision():
    with default_dtype("float64", flambeau, torch):
        yield


def _independent(library, parameters, dtype):
    normal, _ = made(library, "Normal", parameters, dtype)
    return library.distributions.Independent(normal, 1)


def _divergence(library, p, q):
    try:
        return library.distributions.kl_divergence(p, q)
    except NotImplementedError:
        return None
    except IndexError:      # PyTorch does not broadcast all of them
        return "no broadcasting"


@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_divergences(p, q):
    for first in SETS[p]:
        for second in SETS[q]:
            mine = _divergence(flambeau, *(made(flambeau, n, s, flambeau.float64)[0]
                                           for n, s in ((p, first), (q, second))))
            other = _divergence(torch, *(made(torch, n, s, torch.float64)[0]
                                         for n, s in ((p, first), (q, second))))
            if isinstance(other, str):
                continue
            assert (mine is None) == (other is None)
            if mine is not None:
                # infinities of PyTorch's do not broadcast
                expected = np.broadcast_to(other.numpy(), mine.shape)
                np.testing.assert_allclose(mine.numpy(), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["LogNormal", "LogisticNormal", "Wishart", "Chi2", "InverseGamma",
                                  "OneHotCategoricalStraightThrough", "RelaxedBernoulli"])
def test_divergences_of_parent_classes(name):
    for parameters in SETS[name]:
        mine, other = (
            _divergence(lib, made(lib, name, parameters, lib.float64)[0],
                        made(lib, name, parameters, lib.float64)[0].expand(
                            made(lib, name, parameters, lib.float64)[0].batch_shape))
            for lib in (flambeau, torch))
        assert (mine is None) == (other is None)
        if mine is not None:
            np.testing.assert_allclose(mine.detach().numpy(), other.detach().numpy(), atol=1e-7)


def test_independent_distributions():
    first, second = SETS["Normal"][0], {"loc": np.zeros(3), "scale": np.ones((2, 3))}
    mine, other = (lib.distributions.kl_divergence(_independent(lib, first, lib.float64),
                                                   _independent(lib, second, lib.float64))
                   for lib in (flambeau, torch))
    np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-12)
