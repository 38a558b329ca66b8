"""Gradients at ties, NaN, zero and infinity: the values are PyTorch's."""

import math

import pytest

import flambeau
from flambeau.core import ops

nan, inf = math.nan, math.inf
HERE = (-inf, -2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 2.0, inf, nan)


def gradient(function, *data):
    x = flambeau.tensor(data, dtype=flambeau.float64, requires_grad=True)
    function(x).sum().backward()
    return x.grad.tolist()


@pytest.mark.parametrize(("data", "expected"), [
    ((1.0, nan), [0.0, 1.0]), ((nan, nan, 1.0), [0.5, 0.5, 0.0]), ((2.0, 2.0), [0.5, 0.5]),
])
@pytest.mark.parametrize("name", ["max", "min"])
def test_extreme_of_all(name, data, expected):
    assert gradient(lambda x: getattr(x, name)(), *data) == expected


@pytest.mark.parametrize("function", [
    lambda x: x.amax(0), lambda x: x.amin(0, keepdim=True), lambda x: x.aminmax(dim=0)[0],
    lambda x: flambeau.zeros(3, dtype=x.dtype).scatter_reduce(0, x.isnan().long() * 0, x, "amax"),
    lambda x: flambeau.zeros(3, dtype=x.dtype).index_reduce(0, x.isnan().long() * 0, x, "amin"),
    lambda x: flambeau.cdist(x[:, None], x[:, None], inf),
], ids=["amax", "amin", "aminmax", "scatter_reduce", "index_reduce", "cdist"])
def test_nan_is_seen_along_dimensions(function):
    assert all(math.isnan(g) for g in gradient(function, 1.0, nan))


@pytest.mark.parametrize("function", [
    lambda x: x.max(0)[0], lambda x: x.cummax(0)[0][-1:], lambda x: x.sort()[0][-1:],
    lambda x: x.median(), lambda x: x.topk(1)[0],
], ids=["max", "cummax", "sort", "median", "topk"])
def test_nan_is_picked_by_index(function):
    assert gradient(function, 1.0, nan) == [0.0, 1.0]


@pytest.mark.parametrize(("base", "expected"), [
    (0.0, [-inf] * 4 + [0.0] * 5 + [nan]),
    (-0.0, [-inf, -inf, inf, -inf] + [0.0] * 5 + [nan]),
])
@pytest.mark.parametrize("power", [
    lambda base, x: base ** x, flambeau.float_power, flambeau.pow,
], ids=["operator", "float_power", "pow"])
def test_powers_of_zero(base, expected, power):
    assert str(gradient(lambda x: power(base, x), *HERE)) == str(expected)


@pytest.mark.parametrize("base", [flambeau.tensor([-1.0, -1.0], dtype=flambeau.float64), -1.0])
def test_complex_powers_of_a_negative_number(base):
    exponent = flambeau.tensor([1 + 1j, 2 - 1j], requires_grad=True, dtype=flambeau.complex128)
    (base ** exponent).backward(flambeau.ones(2, dtype=flambeau.complex128))
    expected = [0.13576052815j, -72.69862997412j]       # conj(base ** exponent * log(base))
    assert exponent.grad.tolist() == pytest.approx(expected)


@pytest.mark.parametrize(("name", "initial", "expected"), [
    ("max", None, [0.0, 1.0, 0.5, 0.5, 0.0, 1.0, 0.0]),
    ("max", 6.0, [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]),
    ("min", None, [1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0]),
    ("min", 1.0, [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]),
])
def test_extremes_of_segments(name, initial, expected):
    lengths = flambeau.tensor([2, 3, 0, 2])
    numbers = (1.0, 2.0, 5.0, 5.0, 3.0, nan, 7.0)
    assert gradient(lambda x: flambeau.segment_reduce(
        x, name, lengths=lengths, axis=0, initial=initial), *numbers) == expected


def test_the_product_of_a_segment_by_its_only_nan():
    """The derivative is the product of the others, which is a number."""
    lengths = flambeau.tensor([1, 2, 0, 1])
    found = gradient(lambda x: flambeau.segment_reduce(x, "prod", lengths=lengths, axis=0),
                     1.0, nan, 3.0, 4.0)
    assert found[:2] == [1, 3]
    assert found[2] != found[2]
    assert found[3] == 1


@pytest.mark.parametrize(("beta", "wanted"), (
    (0.0, [0.5, 0.5, 0.5, math.nan]), (math.inf, [0.0, math.nan, 1.0, 0.0]),
    (-1.0, [1 / (1 + math.exp(-1)), 0.5, 1 / (1 + math.exp(2)), 1.0])))
def test_softplus_divides_by_no_beta(beta, wanted):
    x = flambeau.tensor([-1.0, 0.0, 2.0, -math.inf], dtype=flambeau.float64, requires_grad=True)
    ops.softplus(x, beta=beta).sum().backward()
    assert x.grad.tolist() == pytest.approx(wanted, nan_ok=True)
