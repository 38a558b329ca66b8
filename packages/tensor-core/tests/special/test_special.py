"""Special functions with kernels of their own against mpmath, and their ends."""

from __future__ import annotations

import math

import mpmath as mp
import numpy
import pytest

import flambeau

f64 = flambeau.float64
INF, NAN = math.inf, math.nan


def _pairs(function, a, b):
    given = function(flambeau.tensor(a, dtype=f64), flambeau.tensor(b, dtype=f64))
    return given.tolist()


def _close(given, expected, tolerance):
    numpy.testing.assert_allclose(given, [float(e) for e in expected], rtol=tolerance, atol=1e-300)


@pytest.mark.parametrize("scale", (0.01, 1, 30, 1000))
def test_incomplete_gamma(scale):
    a = [scale * f for f in (0.5, 1.0, 1.3, 1.9)]
    x = [scale * f for f in (0.6, 0.7, 1.35, 1.8)]
    with mp.workdps(40):
        lower = [mp.gammainc(mp.mpf(p), 0, mp.mpf(q), regularized=True)
                 for p, q in zip(a, x, strict=True)]
        upper = [mp.gammainc(mp.mpf(p), mp.mpf(q), mp.inf, regularized=True)
                 for p, q in zip(a, x, strict=True)]
    _close(_pairs(flambeau.igamma, a, x), lower, 1e-11)
    _close(_pairs(flambeau.igammac, a, x), upper, 1e-11)


def test_incomplete_gamma_at_its_mean():
    """Q(a, a) = 1/2 - 1 / (3 sqrt(2 pi a)) up to a**(-3/2)."""
    a = [1e5, 1e6, 1e7]
    expected = [0.5 - 1 / (3 * math.sqrt(2 * math.pi * v)) for v in a]
    _close(_pairs(flambeau.igammac, a, a), expected, 1e-8)
    _close(_pairs(flambeau.igamma, a, a), [1 - e for e in expected], 1e-8)


def test_upper_incomplete_gamma_keeps_its_digits_where_it_is_small():
    a, x = [1e-8, 1e-3, 0.2], [0.5, 1e-5, 0.9]
    with mp.workdps(40):
        upper = [mp.gammainc(mp.mpf(p), mp.mpf(q), mp.inf, regularized=True)
                 for p, q in zip(a, x, strict=True)]
    _close(_pairs(flambeau.igammac, a, x), upper, 1e-11)


def test_ends_of_incomplete_gamma():
    a = [0.0, 0.0, 1.0, 1.0, INF, INF, -1.0, 1.0, NAN]
    x = [0.0, 1.0, 0.0, INF, 1.0, INF, 1.0, -1.0, 1.0]
    numpy.testing.assert_array_equal(_pairs(flambeau.igamma, a, x),
                                     [NAN, 1, 0, 1, 0, NAN, NAN, NAN, NAN])
    numpy.testing.assert_array_equal(_pairs(flambeau.igammac, a, x),
                                     [NAN, 0, 1, 0, 1, NAN, NAN, NAN, NAN])


@pytest.mark.parametrize("s", (1.0001, 1.5, 2, 3, 7, 30))
def test_zeta(s):
    q = [1e-3, 0.5, 1.0, 3.7, 50.0, 1e6]
    with mp.workdps(80):        # with 40 it gives 13 digits for s = 30
        expected = [mp.zeta(mp.mpf(s), mp.mpf(x)) for x in q]
    _close(_pairs(flambeau.special.zeta, [s] * len(q), q), expected, 2e-14)


def test_zeta_below_zero():
    """Integer powers only; far below, the terms are those above in the other order."""
    q = [-0.5, -3.3, -19.7, -20.5, -1000.25]
    for s in (2, 3):
        with mp.workdps(40):
            expected = [mp.polygamma(s - 1, mp.mpf(x)) * (-1) ** s / mp.factorial(s - 1) for x in q]
        _close(_pairs(flambeau.special.zeta, [s] * len(q), q), expected, 1e-11)
    assert math.isnan(flambeau.special.zeta(2.5, flambeau.tensor(-0.5)).item())


def test_zeta_at_its_poles():
    assert _pairs(flambeau.special.zeta, [1, 2, 3, 2], [1, 0, -2, INF]) == [INF, INF, INF, 0]
    assert math.isnan(_pairs(flambeau.special.zeta, [0.5], [1])[0])


@pytest.mark.parametrize("n", (0, 1, 2, 3, 10))
def test_polygamma(n):
    x = [0.1, 0.9, 4.0, 77.0]
    with mp.workdps(40):
        expected = [mp.polygamma(n, mp.mpf(v)) for v in x]
    t = flambeau.tensor(x, dtype=f64)
    _close(flambeau.polygamma(n, t).tolist(), expected, 1e-13)
    assert t.polygamma(n).tolist() == flambeau.polygamma(n, t).tolist()


def test_orders_beyond_all_bounds():
    x = flambeau.tensor([1.0, 5.0])
    assert flambeau.polygamma(200, x).tolist()[0] == -INF
    with pytest.raises((RuntimeError, MemoryError), match="overflow|allocate"):
        flambeau.mvlgamma(x, 2**60)


def test_whole_numbers():
    least = -2**63
    a = flambeau.tensor([0, -4, 6, least, 2**62, 2**62])
    b = flambeau.tensor([0, 6, -4, 0, 2**62, 3])
    assert flambeau.gcd(a, b).tolist() == [0, 2, 2, least, 2**62, 1]
    assert flambeau.lcm(a, b).tolist()[:3] == [0, 12, 12]
    with pytest.raises(RuntimeError, match=r"gcd\(\): not implemented for dtype float32"):
        flambeau.gcd(flambeau.ones(2), flambeau.ones(2))
    with pytest.raises(RuntimeError, match=r"igamma\(\): not implemented for dtype complex64"):
        flambeau.igamma(flambeau.tensor([1j]), flambeau.tensor([2j]))


def test_results_of_composites_are_written_by_the_rules():
    x = flambeau.tensor([90.0, 180.0])
    target = flambeau.empty(0)
    assert flambeau.deg2rad(x, out=target) is target
    numpy.testing.assert_allclose(target.numpy(), [math.pi / 2, math.pi], rtol=1e-6)
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type int64"):
        flambeau.tensor([1]).deg2rad_()
    text = r"^An output .* had shape \[3\] and the result of \w+\(\) has shape \[2\]"
    with pytest.warns(UserWarning, match=text):
        assert flambeau.deg2rad(x, out=flambeau.zeros(3)).shape == (2,)


def test_square_of_bool_is_a_whole_number():
    given = flambeau.tensor([True, False]).square()
    assert given.dtype is flambeau.int64
    assert given.tolist() == [1, 0]


@pytest.mark.parametrize(("call", "text"), [
    (lambda x: flambeau.polygamma(-1, x), "negative n"),
    (lambda x: flambeau.mvlgamma(x, 0), "p has to be greater"),
    (lambda x: flambeau.heaviside(x, x.int()), "float32 and values is flambeau.int32"),
    (lambda x: flambeau.round(x.int(), decimals=1), "decimals= is for floating"),
    (lambda x: flambeau.frexp(x.int()), "floating dtype"),
    (lambda x: flambeau.isposinf(x + 0j), "does not support complex"),
    (lambda x: flambeau.celu(x, 0.0), "alpha cannot be 0"),
    (lambda x: flambeau.prelu(x.view(1, 3), x[:2]), "numbers = 2 and channel size = 3"),
    (lambda x: flambeau.rrelu(x, 0.5, 0.1), "less than or equal"),
])
def test_mistakes_are_explained(call, text):
    with pytest.raises(RuntimeError, match=text):
        call(flambeau.tensor([1.0, 2.0, 3.0]))


def test_lgamma_of_single_precision_keeps_its_digits_next_to_its_zeros():
    zeros = (1.0, 2.0, -2.4570247, -2.7476826, -3.1435809, -5.9916400)
    x = numpy.concatenate([
        numpy.float32(z) + numpy.arange(-40, 41, dtype="float32") * numpy.spacing(numpy.float32(z))
        for z in zeros] + [numpy.geomspace(1e-38, 1e36, 300), numpy.linspace(-30.3, 30.3, 400)])
    x = x.astype("float32")
    given = flambeau.lgamma(flambeau.tensor(x)).numpy()
    with mp.workdps(30):
        expected = numpy.array([float(mp.log(abs(mp.gamma(mp.mpf(float(v)))))) for v in x])
    step = numpy.spacing(numpy.abs(expected).astype("float32"))
    assert (numpy.abs(given - expected) <= 0.75 * step).all()


@pytest.mark.parametrize("dtype", ("float32", "float64", "bfloat16"))
@pytest.mark.parametrize("count", (1, 5000))
def test_powers_that_are_roots_and_inverses(dtype, count):
    """As in PyTorch also at the ends, where IEEE's power of -0 and -inf is another."""
    ends = flambeau.tensor([0.0, -0.0, INF, -INF, 4.0, -4.0], dtype=getattr(flambeau, dtype))
    x = ends.repeat(count)
    for exponent, expected in ((0.5, [0.0, -0.0, INF, NAN, 2.0, NAN]),
                               (-0.5, [INF, -INF, 0.0, NAN, 0.5, NAN]),
                               (-1, [INF, -INF, 0.0, -0.0, 0.25, -0.25])):
        assert str((x**exponent).tolist()) == str(expected * count)
    positive = flambeau.rand(count, dtype=f64) + 0.1
    numpy.testing.assert_allclose((positive**-0.5).numpy(), positive.numpy() ** -0.5, rtol=1e-15)


def test_the_standards_power_of_infinity_is_no_root():
    x = flambeau.tensor([-INF, -0.0])
    assert str(flambeau.array_api.pow(x, 0.5).tolist()) == "[inf, 0.0]"
    flambeau.set_promotion("array_api")
    try:
        assert str((x**0.5).tolist()) == "[inf, 0.0]"
    finally:
        flambeau.set_promotion("pytorch")
