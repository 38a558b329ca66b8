"""Special functions whose derivatives are other operators, and results of several dtypes."""
import math

from flambeau.autograd._table import rule
from flambeau.autograd.rules._help import conj, not_implemented, zeros_like
from flambeau.core import ops

_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)

# ---- gamma and zeta ----------------------------------------------------------------------------
rule("lgamma", self=lambda g, self: g * ops.digamma(self))
rule("digamma", self=lambda g, self: g * ops.trigamma(self))
rule("trigamma", self=lambda g, self: g * -2 * ops.zeta(3, self))
rule("zeta", self=not_implemented("zeta", "self"),
     other=lambda g, self, other: g * -self * ops.zeta(self + 1, other))


def _gamma_density(a, x):
    return ((a - 1) * x.log() - x - ops.lgamma(a)).exp()


rule("igamma", self=not_implemented("igamma", "self"),
     other=lambda g, self, other: g * _gamma_density(_tensor(self, g), other))
rule("igammac", self=not_implemented("igammac", "self"),
     other=lambda g, self, other: -g * _gamma_density(_tensor(self, g), other))


def _tensor(value, like):
    return value if hasattr(value, "dtype") else ops.full_of((), value, dtype=like.dtype)


# ---- Bessel ------------------------------------------------------------------------------------
def _i1_slope(g, self, result):
    """``i0(x) - i1(x) / x``, 1/2 at 0."""
    return g * ops.where(self == 0, 0.5, ops.i0(self) - result / self)


def _i1e_slope(g, self, result):
    return g * ops.where(self == 0, 0.5, ops.i0e(self) - result * (self.sign() + 1 / self))


rule("i0", self=lambda g, self: g * ops.i1(self))
rule("i0e", self=lambda g, self, result: g * (ops.i1e(self) - self.sign() * result))
rule("i1", self=_i1_slope)
rule("i1e", self=_i1e_slope)

def _j1_slope(g, self, result):
    """``j0(x) - j1(x) / x``, 1/2 at 0."""
    return g * ops.where(self == 0, 0.5, ops.bessel_j0(self) - result / self)


def _spherical_slope(g, self, result):
    return g * ops.where(self == 0, 0, (self.cos() - result) / self)


rule("bessel_j0", self=lambda g, self: g * -ops.bessel_j1(self))
rule("bessel_j1", self=_j1_slope)
rule("bessel_y0", self=lambda g, self: g * -ops.bessel_y1(self))
rule("bessel_y1", self=lambda g, self, result: g * (ops.bessel_y0(self) - result / self))
rule("modified_bessel_k0", self=lambda g, self: g * -ops.modified_bessel_k1(self))
rule("modified_bessel_k1",
     self=lambda g, self, result: g * -(ops.modified_bessel_k0(self) + result / self))
rule("scaled_modified_bessel_k0",
     self=lambda g, self, result: g * (result - ops.scaled_modified_bessel_k1(self)))
rule("scaled_modified_bessel_k1", self=lambda g, self, result: g * (
    result * (1 - 1 / self) - ops.scaled_modified_bessel_k0(self)))
rule("spherical_bessel_j0", self=_spherical_slope)

# ---- error function and normal distribution ----------------------------------------------------
_ROOT_TWO_PI = math.sqrt(2 * math.pi)
#: Coefficients of 1 / (2 x**2) in the derivative of erfcx for large x.
_ERFCX_TAIL = (1.0, -3.0, 15.0, -105.0, 945.0, -10395.0, 135135.0, -2027025.0)


def _erfcx_slope(g, self, result):
    """``2 x erfcx(x) - 2 / sqrt(pi)``; its asymptotic series where the difference cancels."""
    h = 0.5 / (self * self)
    series = _ERFCX_TAIL[-1]
    for c in reversed(_ERFCX_TAIL[:-1]):
        series = series * h + c
    near = 2 * self * result - _TWO_OVER_ROOT_PI
    return g * ops.where(self > 12, series * h * -_TWO_OVER_ROOT_PI, near)


rule("erfinv", self=lambda g, result: g * (result * result).exp() / _TWO_OVER_ROOT_PI)
rule("erfcx", self=_erfcx_slope)
rule("ndtr", self=lambda g, self: g * (self * self * -0.5).exp() / _ROOT_TWO_PI)
rule("ndtri", self=lambda g, result: g * (result * result * 0.5).exp() * _ROOT_TWO_PI)
rule("log_ndtr",
     self=lambda g, self: g / ops.erfcx(self * -math.sqrt(0.5)) * math.sqrt(2 / math.pi))


# ---- signs, angles, exponents ------------------------------------------------------------------
def _sgn(g, self, result):
    """0; of complex numbers what is left of g at right angles to z, over the size of z."""
    if not self.is_complex():
        return zeros_like(g)
    size = self.abs()
    across = (g - result * ops.real_part(g * conj(result))) / size
    return ops.where(size == 0, 0, across)


def _angle_of_complex(g, self):
    """A quarter turn from z, over the size of z; 0 at 0."""
    zero = self == 0
    return g * ops.where(zero, 0, self * 1j / ops.square(ops.where(zero, 1, self).abs()))


rule("sgn", self=_sgn)


def _nextafter_self(g, self, other):
    """1, but 0 where nothing moves: as PyTorch has it."""
    return ops.where(self == other, 0, g)


rule("nextafter_wide", self=_nextafter_self, other=lambda g: zeros_like(g))
rule("nextafter_narrow", self=_nextafter_self, other=lambda g: zeros_like(g))
rule("angle_of", self=lambda g: zeros_like(g))
rule("angle_of_complex", self=_angle_of_complex)
rule("frexp", self=lambda g, result1: ops.ldexp(g, -result1))
