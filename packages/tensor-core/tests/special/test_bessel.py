"""Bessel functions, Airy's and orthogonal polynomials against mpmath, and their ends."""

from __future__ import annotations

import math

import mpmath as mp
import numpy
import pytest

import flambeau

INF, NAN = math.inf, math.nan
POSITIVE = numpy.concatenate([numpy.geomspace(1e-300, 1, 20), numpy.linspace(0.9, 30, 60),
                              numpy.geomspace(30, 600, 20)])
BOTH = numpy.linspace(-60, 60, 121)


def _values(name, x):
    return getattr(flambeau.special, name)(flambeau.tensor(x)).numpy()


def _expected(function, x):
    with mp.workdps(30):
        return numpy.array([float(function(mp.mpf(float(v)))) for v in x])


@pytest.mark.parametrize(("name", "function"), (
    ("modified_bessel_k0", lambda x: mp.besselk(0, x)),
    ("modified_bessel_k1", lambda x: mp.besselk(1, x)),
    ("scaled_modified_bessel_k0", lambda x: mp.besselk(0, x) * mp.exp(x)),
    ("scaled_modified_bessel_k1", lambda x: mp.besselk(1, x) * mp.exp(x))))
def test_second_kind_modified(name, function):
    numpy.testing.assert_allclose(_values(name, POSITIVE), _expected(function, POSITIVE),
                                  rtol=3e-15)
    numpy.testing.assert_array_equal(_values(name, [0.0, INF, -1.0, NAN]), [INF, 0, NAN, NAN])


@pytest.mark.parametrize(("name", "function", "x"), (
    ("bessel_j0", lambda x: mp.besselj(0, x), BOTH),
    ("bessel_j1", lambda x: mp.besselj(1, x), BOTH),
    ("bessel_y0", lambda x: mp.bessely(0, x), abs(BOTH) + 0.3),
    ("bessel_y1", lambda x: mp.bessely(1, x), abs(BOTH) + 0.5),
    ("spherical_bessel_j0", lambda x: mp.sin(x) / x if x else 1, numpy.append(BOTH, 1e-5)),
    ("airy_ai", mp.airyai, numpy.linspace(-60, 3, 200))))
def test_waves(name, function, x):
    numpy.testing.assert_allclose(_values(name, x), _expected(function, x), atol=5e-14, rtol=0)


def test_airy_keeps_its_digits_where_it_is_small():
    x = numpy.linspace(0.0, 90.0, 80)
    numpy.testing.assert_allclose(_values("airy_ai", x), _expected(mp.airyai, x), rtol=5e-13)


def test_ends():
    ends = [0.0, INF, -1.0, NAN]
    for name in ("bessel_y0", "bessel_y1"):
        numpy.testing.assert_array_equal(_values(name, ends), [-INF, 0, NAN, NAN])
    numpy.testing.assert_array_equal(_values("spherical_bessel_j0", [0.0, INF, NAN]), [1, 0, NAN])
    numpy.testing.assert_array_equal(_values("airy_ai", [INF, 200.0, NAN]), [0, 0, NAN])


POLYNOMIALS = {
    "chebyshev_polynomial_t": mp.chebyt,
    "chebyshev_polynomial_u": mp.chebyu,
    "shifted_chebyshev_polynomial_t": lambda n, x: mp.chebyt(n, 2 * x - 1),
    "shifted_chebyshev_polynomial_u": lambda n, x: mp.chebyu(n, 2 * x - 1),
    "hermite_polynomial_h": mp.hermite,
    "laguerre_polynomial_l": lambda n, x: mp.laguerre(n, 0, x),
    "legendre_polynomial_p": mp.legendre}


@pytest.mark.parametrize("name", POLYNOMIALS)
@pytest.mark.parametrize("n", (0, 1, 2, 7, 8, 21))
def test_polynomials(name, n):
    x = numpy.append(numpy.linspace(-1.97, 2, 21), [1.0 + 1e-9, 0.3])
    given = getattr(flambeau.special, name)(flambeau.tensor(x), n).numpy()
    with mp.workdps(40):
        expected = [float(POLYNOMIALS[name](n, mp.mpf(float(v)))) for v in x]
    scale = numpy.maximum(numpy.abs(expected), 1)
    numpy.testing.assert_allclose(given / scale, expected / scale, atol=1e-13)


@pytest.mark.parametrize("n", (1, 2, 9, 14))
def test_third_and_fourth_kind_of_chebyshev(n):
    """V and W are differences and sums of neighbours of the second kind."""
    x = flambeau.tensor(numpy.linspace(-1.5, 1.5, 31))
    u = flambeau.special.chebyshev_polynomial_u
    for name, other in (("v", -1), ("w", 1)):
        given = getattr(flambeau.special, f"chebyshev_polynomial_{name}")(x, n)
        numpy.testing.assert_allclose(given.numpy(), (u(x, n) + other * u(x, n - 1)).numpy(),
                                      rtol=1e-11, atol=1e-11)


def test_odd_degrees():
    t = flambeau.special.chebyshev_polynomial_t
    x = flambeau.tensor([0.5], dtype=flambeau.float64)
    assert t(x, -1).item() == 0
    assert t(x, 2.9).item() == -0.5
    assert math.isnan(t(x, NAN).item())
    assert math.isnan(flambeau.special.legendre_polynomial_p(x, 1e18).item())
    assert t(flambeau.tensor([1.0, -1.0]), 10**9 + 1).tolist() == [1.0, -1.0]
    with pytest.raises(RuntimeError, match=r"special\.bessel_j0\(\)|bessel_j0\(\): not impl"):
        flambeau.special.bessel_j0(flambeau.tensor(1j))


def test_second_kind_modified_of_the_least_number():
    least = numpy.array([5e-324])
    numpy.testing.assert_allclose(_values("modified_bessel_k0", least), [744.55600343703964],
                                  rtol=3e-15)
    numpy.testing.assert_array_equal(_values("modified_bessel_k1", least), [INF])


@pytest.mark.parametrize("order", [0, 1])
def test_second_kind_modified_around_the_change_of_series(order):
    x = numpy.array([numpy.nextafter(1, 0), 1.0, numpy.nextafter(1, 2), 1e300])
    numpy.testing.assert_allclose(
        _values(f"scaled_modified_bessel_k{order}", x),
        _expected(lambda v: mp.besselk(order, v) * mp.exp(v) if v < 2 else mp.sqrt(mp.pi / 2 / v),
                  x), rtol=1e-15)
