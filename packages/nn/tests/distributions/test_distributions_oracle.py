"""Every distribution beside PyTorch's: values, gradients, shapes, what is refused."""

import numpy as np
import pytest
from distribution_examples import EXAMPLES, default_dtype, made

import flambeau

torch = pytest.importorskip("torch")

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore:.*[Ss]ingular samples? ")]
CASES = [pytest.param(name, parameters, id=f"{name}-{i}")
         for i, (name, parameters) in enumerate(EXAMPLES)]
DTYPES = ["float32", "float64"]
#: Where PyTorch answers NaN, and the value is known: see the tests of these classes.
KNOWN = {("Kumaraswamy", "mode"), ("Dirichlet", "mode")}
TOLERANCES = {"float32": {"rtol": 2e-4, "atol": 2e-5}, "float64": {"rtol": 1e-9, "atol": 1e-9}}


@pytest.fixture(autouse=True)
def _default_of_the_test(request):
    dtype = request.node.callspec.params.get("dtype", "float64")
    with default_dtype(dtype, flambeau, torch):
        yield


def both(name, parameters, dtype="float64", requires_grad=False):
    ours, our_tensors = made(flambeau, name, parameters, getattr(flambeau, dtype), requires_grad)
    theirs, their_tensors = made(torch, name, parameters, getattr(torch, dtype), requires_grad)
    return ours, theirs, our_tensors, their_tensors


def values_of(theirs, *shape):
    """Values in the support, as PyTorch draws them."""
    torch.manual_seed(3)
    return theirs.sample(shape).numpy()


def check(ours, theirs, dtype="float64", name=""):
    assert ours.shape == theirs.shape
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
    # PyTorch's Bessel functions of von Mises have seven digits
    tolerance = TOLERANCES["float32" if name == "VonMises" else dtype]
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), **tolerance)


def answers(distribution, what, *args):
    """A result, or that there is none."""
    try:
        found = getattr(distribution, what)
        return found(*args) if callable(found) else found
    except NotImplementedError:
        return None


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_moments(name, parameters, dtype):
    ours, theirs, _, _ = both(name, parameters, dtype)
    assert (ours.batch_shape, ours.event_shape) == (theirs.batch_shape, theirs.event_shape)
    assert ours.has_rsample == theirs.has_rsample
    assert ours.has_enumerate_support == theirs.has_enumerate_support
    for what in ("mean", "mode", "variance", "stddev", "entropy", "perplexity",
                 "enumerate_support"):
        if (name, what) in KNOWN:
            continue
        mine, other = answers(ours, what), answers(theirs, what)
        assert (mine is None) == (other is None), what
        if mine is not None:
            check(mine, other, dtype, name)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_densities_and_chances(name, parameters, dtype):
    ours, theirs, _, _ = both(name, parameters, dtype)
    values = values_of(theirs, 4)
    pair = flambeau.tensor(values), torch.tensor(values)
    check(ours.log_prob(pair[0]), theirs.log_prob(pair[1]), dtype, name)
    chances = np.linspace(0.05, 0.95, values.size).reshape(values.shape).astype(dtype)
    for what, at in (("cdf", pair), ("icdf", (flambeau.tensor(chances), torch.tensor(chances)))):
        mine, other = answers(ours, what, at[0]), answers(theirs, what, at[1])
        assert (mine is None) == (other is None), what
        if mine is not None:
            check(mine, other, dtype, name)


@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_gradients(name, parameters):
    for what in ("log_prob", "entropy", "mean"):
        ours, theirs, tensors, their_tensors = both(name, parameters, requires_grad=True)
        values = values_of(theirs)
        args = [flambeau.tensor(values)], [torch.tensor(values)]
        if what != "log_prob":
            args = [], []
        mine, other = answers(ours, what, *args[0]), answers(theirs, what, *args[1])
        if other is None or not other.requires_grad:
            continue
        mine.nan_to_num(0, 0, 0).sum().backward()
        other.nan_to_num(0, 0, 0).sum().backward()
        for key, tensor in tensors.items():
            other = their_tensors[key].grad
            if other is not None:
                # of a factor only the lower triangle counts; infinite means have no slope
                grads = [g.tril() if key == "scale_tril" else g for g in (tensor.grad, other)]
                check(*(g.nan_to_num(0, 0, 0) for g in grads), name=name)


@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_expanded(name, parameters):
    ours, theirs, _, _ = both(name, parameters)
    ours, theirs = (d.expand((2, *d.batch_shape)) for d in (ours, theirs))
    assert (ours.batch_shape, ours.event_shape) == (theirs.batch_shape, theirs.event_shape)
    values = values_of(theirs)
    check(ours.log_prob(flambeau.tensor(values)), theirs.log_prob(torch.tensor(values)),
          name=name)
    assert ours.sample((3,)).shape == theirs.sample((3,)).shape
    assert ours._validate_args == theirs._validate_args


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_samples(name, parameters, dtype):
    ours, theirs, _, _ = both(name, parameters, dtype, requires_grad=True)
    for shape in ((), (5,), (2, 3)):
        mine, other = ours.sample(shape), theirs.sample(shape)
        assert mine.shape == other.shape
        assert str(mine.dtype).split(".")[1] == str(other.dtype).split(".")[1]
        assert not mine.requires_grad
        assert ours.support.check(mine).all()
    if ours.has_rsample and name != "Uniform":
        assert ours.rsample((2,)).requires_grad == theirs.rsample((2,)).requires_grad


@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_texts_and_constraints(name, parameters):
    ours, theirs, _, _ = both(name, parameters)
    assert repr(ours.support).replace(", dtype=flambeau.float64", "") == repr(
        theirs.support).replace(", dtype=torch.float64", "")
    assert list(ours.arg_constraints) == list(theirs.arg_constraints)
    assert ours.support.event_dim == theirs.support.event_dim
    assert ours.support.is_discrete == theirs.support.is_discrete
    values = values_of(theirs)
    for wrong in (values + 0.5, values - 100, values * np.nan):
        try:
            theirs.log_prob(torch.tensor(wrong))
        except ValueError:
            with pytest.raises(ValueError, match="support"):
                ours.log_prob(flambeau.tensor(wrong))
        else:
            ours.log_prob(flambeau.tensor(wrong))
