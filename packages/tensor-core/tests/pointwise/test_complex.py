"""Complex functions: accuracy, branch cuts, infinities; construction and random numbers."""

from __future__ import annotations

import numpy
import pytest

import flambeau

FUNCTIONS = {
    "exp": numpy.exp, "log": numpy.log, "sqrt": numpy.sqrt, "sin": numpy.sin, "cos": numpy.cos,
    "tan": numpy.tan, "asin": numpy.arcsin, "acos": numpy.arccos, "atan": numpy.arctan,
    "sinh": numpy.sinh, "cosh": numpy.cosh, "tanh": numpy.tanh, "asinh": numpy.arcsinh,
    "acosh": numpy.arccosh, "atanh": numpy.arctanh,
}
EDGES = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, numpy.inf, -numpy.inf, 1e308, -1e308, 5e-324]
SIZES = (1.0, 1e-3, 30.0, 1e-20, 1e20, 1e-160, 1e160, 1e300, 1e-300)


def _numbers():
    rng = numpy.random.default_rng(5)
    unit = rng.standard_normal(200) + 1j * rng.standard_normal(200)
    flat = rng.standard_normal(200) + 1e-10j * rng.standard_normal(200)
    circle = numpy.exp(1j * rng.uniform(-3.14, 3.14, 200))
    return numpy.concatenate([*(unit * s for s in SIZES), flat, 1j * flat, circle, 1 + 1e-9 * unit])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_accuracy(name):
    """Within a few units in the last place of the value, for sizes of every magnitude."""
    z = _numbers()
    with numpy.errstate(all="ignore"):
        expected = FUNCTIONS[name](z)
        given = getattr(flambeau, name)(flambeau.from_numpy(z)).numpy()
        error = numpy.abs(given - expected) / numpy.abs(expected)
    usual = numpy.isfinite(expected) & (numpy.abs(expected) > 1e-300) & (numpy.abs(z.imag) < 1e15)
    usual &= numpy.abs(z.real) < 1e15 if name in ("sin", "cos", "tan") else True
    assert error[usual].max() < 2e-15


@pytest.mark.parametrize("name", FUNCTIONS)
def test_branch_cuts_and_infinities(name):
    """The values of C's annex G, with the signs of zeros where all parts are finite."""
    z = numpy.array([complex(a, b) for a in EDGES for b in EDGES])
    free = name in ("sin", "sinh")      # the sign where both parts are infinite
    both = numpy.isinf(z.real) & numpy.isinf(z.imag) & free
    with numpy.errstate(all="ignore"):
        expected = FUNCTIONS[name](z)
    given = getattr(flambeau, name)(flambeau.from_numpy(z)).numpy()
    for part in (numpy.real, numpy.imag):
        g, e = part(given), part(expected)
        known = ~numpy.isnan(e) & ~both
        numpy.testing.assert_allclose(g[known], e[known], rtol=1e-12, atol=1e-312)
        signs = known & numpy.isfinite(z)
        numpy.testing.assert_array_equal(numpy.signbit(g[signs]), numpy.signbit(e[signs]))


@pytest.mark.parametrize("name", ("exp", "tan", "tanh", "asin", "acos", "atan", "asinh", "acosh",
                                  "atanh"))
@pytest.mark.parametrize("dtype", ("complex64", "complex128"))
def test_nan_and_infinite_parts(name, dtype):
    """Annex G: infinities and zeros beside NaN stay what they are; their signs are free."""
    edges = [numpy.nan, numpy.inf, -numpy.inf, 0.0, -0.0, 1.0, -40.0, -1000.0]
    z = numpy.array([complex(a, b) for a in edges for b in edges], dtype)
    z = z[~numpy.isfinite(z)]
    with numpy.errstate(all="ignore"):
        expected = FUNCTIONS[name](z)
    given = getattr(flambeau, name)(flambeau.from_numpy(z)).numpy()
    for part in (numpy.real, numpy.imag):
        numpy.testing.assert_allclose(abs(part(given)), abs(part(expected)), rtol=1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_complex64_is_rounded_once(name):
    z = _numbers()[:200].astype("complex64")
    wide = getattr(flambeau, name)(flambeau.from_numpy(z.astype("complex128"))).numpy()
    given = getattr(flambeau, name)(flambeau.from_numpy(z))
    assert given.dtype is flambeau.complex64
    numpy.testing.assert_array_equal(given.numpy(), wide.astype("complex64"))


def test_complex64_does_not_overflow_on_the_way():
    z = flambeau.tensor([3e38 + 3e38j, 1e-40 + 1e-40j], dtype=flambeau.complex64)
    for given in (z.sqrt() ** 2 / z, z.log().exp() / z):
        numpy.testing.assert_allclose(given.numpy(), 1, rtol=2e-4)
    numpy.testing.assert_allclose(z.sgn().numpy(), (1 + 1j) / numpy.sqrt(2), rtol=1e-6)


@pytest.mark.parametrize(("name", "reference"), (
    ("expm1", numpy.expm1), ("log1p", numpy.log1p), ("log2", numpy.log2), ("log10", numpy.log10),
    ("exp2", numpy.exp2), ("rsqrt", lambda z: 1 / numpy.sqrt(z)), ("reciprocal", lambda z: 1 / z),
    ("sigmoid", lambda z: 1 / (1 + numpy.exp(-z)))))
def test_other_functions(name, reference):
    z = _numbers()[:600]
    given = getattr(flambeau, name)(flambeau.from_numpy(z)).numpy()
    numpy.testing.assert_allclose(given, reference(z), rtol=1e-11)


def test_sigmoid_far_out():
    z = flambeau.tensor([800 + 1j, -800 + 1j, -1e300 + 0j], dtype=flambeau.complex128)
    numpy.testing.assert_allclose(z.sigmoid().numpy(), [1, 0, 0], atol=1e-300)


def test_real_methods_and_views():
    z = flambeau.tensor([1 + 2j, -3 - 4j])
    assert z.real.tolist() == [1, -3] and z.imag.tolist() == [2, -4]
    assert z.abs().tolist() == pytest.approx([5**0.5, 5])
    assert flambeau.view_as_complex(flambeau.view_as_real(z)).tolist() == z.tolist()
    assert z.conj().tolist() == z.conj_physical().tolist() == [1 - 2j, -3 + 4j]
    assert not z.conj().is_conj() and not z.is_neg()
    assert flambeau.angle(flambeau.tensor([-1, 2])).tolist() == pytest.approx([numpy.pi, 0])


def test_parts_must_agree():
    x = flambeau.ones(2)
    with pytest.raises(RuntimeError, match="'real' is float32 and 'imag' is float64"):
        flambeau.complex(x, x.double())
    with pytest.raises(RuntimeError, match="not of float16"):
        flambeau.polar(x.half(), x.half())
    with pytest.raises(RuntimeError):
        flambeau.complex(x, flambeau.ones(3))


def test_random_numbers():
    flambeau.manual_seed(3)
    z = flambeau.randn(20000, dtype=flambeau.complex64)
    assert abs(z.mean().item()) < 0.03
    for part in (z.real, z.imag):
        assert part.var().item() == pytest.approx(0.5, abs=0.03)
    u = flambeau.rand(1000, dtype=flambeau.complex128)
    assert (flambeau.view_as_real(u) >= 0).all() and (flambeau.view_as_real(u) < 1).all()
    assert u.real.tolist() != u.imag.tolist()
