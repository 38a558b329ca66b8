"""Calls of the special functions with a rule of their own (see ``samples.py``)."""

from numbers_for_tests import complexes, reals

import flambeau
from flambeau.core import ops


def _of(name, low=-2.0, high=2.0):
    return lambda: (getattr(ops, name), (reals(2, 3, low=low, high=high),))


def _reversed(name):
    """As a function of the second operand, the first one fixed."""
    def make():
        first = reals(2, 3, low=1.5, high=3.0, grad=False)
        return lambda x: getattr(ops, name)(first, x), (reals(2, 3, low=0.4, high=3.0, seed=1),)

    return make


SPECIAL = {
    "lgamma": [_of("lgamma", 0.3, 4.0), _of("lgamma", -0.8, -0.2)],
    "digamma": [_of("digamma", 0.3, 4.0)],
    "trigamma": [_of("trigamma", 0.3, 4.0)],
    "zeta": [_reversed("zeta"), lambda: (lambda x: ops.zeta(2.5, x), (reals(3, low=0.4),))],
    "igamma": [_reversed("igamma"),
               lambda: (lambda x: ops.igamma(flambeau.tensor(1.5).to(x.dtype), x),
                        (reals(3, low=0.4),))],
    "igammac": [_reversed("igammac")],
    "i0": [_of("i0")],
    "i0e": [_of("i0e", 0.2, 3.0), _of("i0e", -3.0, -0.2)],
    "i1": [_of("i1", 0.2, 3.0)],
    "i1e": [_of("i1e", 0.2, 3.0), _of("i1e", -3.0, -0.2)],
    **{name: [_of(name, 0.3, 3.0)] for name in (
        "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_k0",
        "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
        "spherical_bessel_j0")},
    "erfinv": [_of("erfinv", -0.8, 0.8)],
    "erfcx": [_of("erfcx"), _of("erfcx", 11.0, 14.0)],
    "ndtr": [_of("ndtr")],
    "ndtri": [_of("ndtri", 0.1, 0.9)],
    "log_ndtr": [_of("log_ndtr"), _of("log_ndtr", -9.0, -5.0)],
    "sgn": [lambda: (lambda x: flambeau.sgn(x) + x, (reals(3),)),
            lambda: (flambeau.sgn, (complexes(3),))],
    "angle_of": [lambda: (lambda x: ops.angle_of(x) + x, (reals(3),))],
    "angle_of_complex": [lambda: (flambeau.angle, (complexes(3),))],
    "nextafter_wide": [lambda: (flambeau.nextafter, (reals(3), reals(3, seed=1)))],
    "frexp": [lambda: (lambda x: flambeau.frexp(x)[0], (reals(3, low=0.3, high=0.45),))],
}
