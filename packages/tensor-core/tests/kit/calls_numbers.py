"""Calls of arithmetic beyond the four operations and of special functions (see ``calls.py``)."""

from __future__ import annotations

from call import ALL, FLOATS, REAL, TWO
from call import call_of as _c

INTS = ("uint8", "int32", "int64")
_ODD = [0.0, -0.0, 1.0, float("inf"), -float("inf"), float("nan")]
#: Functions of one number, and where (PyTorch's have seven digits: see test_bessel.py).
BESSEL = {
    "modified_bessel_k0": (0.2, 6.0), "modified_bessel_k1": (0.2, 6.0),
    "scaled_modified_bessel_k0": (0.2, 60.0), "scaled_modified_bessel_k1": (0.2, 60.0),
    "bessel_j0": (-2.0, 2.0), "bessel_j1": (0.5, 3.0), "bessel_y0": (1.5, 3.0),
    "bessel_y1": (0.2, 2.0), "spherical_bessel_j0": (-3.0, 3.0), "airy_ai": (-2.0, 3.0)}
POLYNOMIALS = {"chebyshev": "tuvw", "shifted_chebyshev": "tuvw", "hermite": ("h", "he"),
               "laguerre": "l", "legendre": "p"}
_NEXT = [1.0, 0.0, 2.0, 0.0, 1.0, 1.0]
#: What PyTorch computes fake quantization in, and what it rounds the result to.
_TO_FLOAT32 = ("float32", "float16", "bfloat16")


def _method(name, *args, d=TWO, domain=(-3.0, 3.0), shape=(3, 4), **options):
    return _c(lambda lib, x: getattr(x, name)(*args, **options), shape, d=d, domain=domain)


def _special(name, *args, domain=(-3.0, 3.0)):
    return _c(lambda lib, x: getattr(lib.special, name)(x, *args), domain=domain)


def _two(function, domain=(0.2, 5.0), d=TWO):
    return [_c(function, (3, 4), (3, 4), d=d, domain=domain),
            _c(function, (3, 1), (4,), d=TWO, domain=domain)]


def _written(name, *args):
    """The in-place form."""
    return _c(lambda lib, x: getattr(x.clone(), name + "_")(*args), (3, 4), domain=(0.2, 0.9))


NUMERIC = {
    "angle": [_method("angle", d=ALL)],
    "conj_physical": [_c(lambda lib, x: lib.conj_physical(x), d=ALL), _written("conj_physical")],
    "deg2rad": [_method("deg2rad", d=(*FLOATS, "int32")), _written("deg2rad")],
    "rad2deg": [_method("rad2deg", d=(*FLOATS, "int32")), _written("rad2deg")],
    "isposinf": [_method("isposinf", d=REAL), _c(lambda lib, x: lib.isposinf(x / 0), (9,))],
    "isneginf": [_method("isneginf", d=REAL), _c(lambda lib, x: lib.isneginf(x / 0), (9,))],
    "isreal": [_method("isreal", d=ALL), _c(lambda lib, x: lib.isreal(x.real + 0j), (9,),
                                            d=("complex64",))],
    "heaviside": [_c(lambda lib, x, y: lib.heaviside(x, y), (3, 4), (4,), d=REAL),
                  _c(lambda lib, x, y: lib.heaviside(x * 0, y), (3, 4), (4,)),
                  _c(lambda lib, x: lib.heaviside(x.log(), x), (9,))],
    "float_power": [_c(lambda lib, x, y: lib.float_power(x, y), (3, 4), (3, 4), d=REAL,
                       domain=(0.2, 3.0)),
                    _c(lambda lib, x: lib.float_power(x, 2), d=ALL),
                    _c(lambda lib, x: lib.float_power(2, x), d=REAL)],
    "ldexp": [_c(lambda lib, x, n: lib.ldexp(x, n), (2, 3), extra=([3, -1, 0],), d=REAL),
              _c(lambda lib, x, n: x.clone().ldexp_(n), (2, 3), extra=([3, -1, 0],))],
    "frexp": [_c(lambda lib, x: tuple(lib.frexp(x)), d=FLOATS),
              _c(lambda lib, x: tuple(lib.frexp(x[2:] * lib.tensor(1e-41))), (9,),
                 d=("float32",)),
              _c(lambda lib, x: tuple((x / 0).frexp()), (9,))],
    "nextafter": [_c(lambda lib, x, y: lib.nextafter(x, y), (30,), (30,), d=FLOATS),
                  _c(lambda lib, x: lib.nextafter(x * 2e-7, -x), (30,), d=("float16",)),
                  _c(lambda lib, x, a, b: lib.nextafter(a.to(x.dtype), b.to(x.dtype)), (1,),
                     extra=(_ODD, _NEXT), d=FLOATS)],
    "nan_to_num": [_method("nan_to_num", d=REAL), _c(lambda lib, x: (x / 0).nan_to_num(), (9,)),
                   _c(lambda lib, x, a: lib.nan_to_num(a.to(x.dtype)), (1,), extra=(_ODD,),
                      d=(*FLOATS, "complex64")),
                   _c(lambda lib, x, a: lib.nan_to_num(a, 1.0, 2.0, -3.0), (1,), extra=(_ODD,))],
    "fake_quantize_per_tensor_affine": [
        _c(lambda lib, x: lib.fake_quantize_per_tensor_affine(x, 0.013, 3, -128, 127), (30,),
           d=_TO_FLOAT32),
        _c(lambda lib, x, s, z: lib.fake_quantize_per_tensor_affine(
            x, s[0], z[0].to(lib.int32), 0, 15), (3, 4), extra=([0.21], [2]),
           d=_TO_FLOAT32)],
    "fake_quantize_per_channel_affine": [
        _c(lambda lib, x, s, z, axis=axis: lib.fake_quantize_per_channel_affine(
            x, s, z.to(lib.int32), axis, 0, 15), (3, 2, 3), extra=([0.1, 0.2, 0.4], [0, 5, 9]),
           d=_TO_FLOAT32)
        for axis in (0, 2)],
    "round.decimals": [_method("round", decimals=2, d=FLOATS),
                       _c(lambda lib, x: lib.round(x * 1000, decimals=-2)),
                       _c(lambda lib, x: lib.special.round(x, decimals=0))],
    "gcd": _two(lambda lib, x, y: lib.gcd(x * 6, y * 4), (-20, 20), INTS)[:1] + [
        _c(lambda lib, x, y: lib.gcd(x, y), (3, 1), (4,), d=INTS)],
    "lcm": _two(lambda lib, x, y: lib.lcm(x * 6, y * 4), (-20, 20), ("int32", "int64"))[:1] + [
        _c(lambda lib, x: lib.lcm(x, x * 0), (3, 4), d=INTS)],
    "polygamma": [_c(lambda lib, x, n=n: lib.polygamma(n, x), domain=(0.2, 6.0))
                  for n in (0, 2, 5)] + [
        # PyTorch's trigamma has ten digits, see test_special.py for float64
        _c(lambda lib, x: lib.polygamma(1, x), d=("float32",), domain=(0.2, 6.0)),
        _c(lambda lib, x: lib.special.polygamma(3, x), domain=(-5.9, -5.1))],
    "polygamma.tensor": [_method("polygamma", 2, domain=(0.2, 6.0)), _written("polygamma", 2)],
    "mvlgamma": [_method("mvlgamma", p, domain=(3.0, 9.0), d=FLOATS[2:]) for p in (1, 3)] + [
        _special("multigammaln", 2, domain=(2.0, 5.0))],
    "igamma": [*_two(lambda lib, a, x: lib.igamma(a, x)),
               *_two(lambda lib, a, x: lib.special.gammainc(a * 30, x * 30), (0.8, 1.2),
                     ("float32",))[:1],     # PyTorch's has nine digits, see test_special.py
               _c(lambda lib, a, x: lib.igamma(a, x), (1,), extra=(_ODD,)), _c(
                   lambda lib, a, x: a.clone().igamma_(x), (4,), (4,), domain=(0.2, 5.0))],
    "igammac": [*_two(lambda lib, a, x: lib.igammac(a, x)),
                *_two(lambda lib, a, x: lib.special.gammaincc(a * 1e-4, x), (0.1, 0.9)),
                _c(lambda lib, a, x: lib.igammac(a, x), (1,), extra=(_ODD,))],
    "zeta": [*_two(lambda lib, s, q: lib.special.zeta(s + 1, q)),
             _c(lambda lib, q: lib.special.zeta(3.0, q), domain=(-5.9, -5.1)),
             _c(lambda lib, s: lib.special.zeta(s, 2), domain=(0.5, 9.0))],
    **{name: [_c(lambda lib, x, name=name: getattr(lib.special, name)(x), d=("float32",),
                 domain=domain)] for name, domain in BESSEL.items()},
    **{f"{name}_polynomial_{kind}": [
        _c(lambda lib, x, n, call=f"{name}_polynomial_{kind}": getattr(lib.special, call)(x, n),
           (3, 5), extra=([0, 1, 2, 3, 6],), d=TWO)]
       for name, kinds in POLYNOMIALS.items() for kind in kinds},
    "logit": [_method("logit", domain=(0.05, 0.95), d=FLOATS), _written("logit"),
              _c(lambda lib, x: lib.special.logit(x, 0.2), domain=(0.0, 1.0))],
}
