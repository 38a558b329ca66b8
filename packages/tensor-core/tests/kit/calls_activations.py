"""Calls of the activation functions (see ``calls.py``)."""

from __future__ import annotations

from call import FLOATS, TWO, nn
from call import call_of as _c


def _f(name, *args, d=TWO, **options):
    return _c(lambda lib, x: getattr(nn(lib), name)(x, *args, **options), (3, 4), d=d)


ACTIVATIONS = {
    "hardtanh": [_f("hardtanh", d=(*FLOATS, "int32")),
                 _f("hardtanh", -0.5, 1.5, d=(*TWO, "int32"))],
    "relu6": [_c(lambda lib, x: nn(lib).relu6(x * 4), d=(*FLOATS, "int32"))],
    "softshrink": [_f("softshrink", d=FLOATS), _f("softshrink", 1.5)],
    "threshold": [_f("threshold", 0.5, -1.0, d=FLOATS), _f("threshold", 1, 7, d=("int32",)),
                  _c(lambda lib, x: lib.threshold(x, 0.1, 20))],
    "celu": [_f("celu", d=FLOATS), _f("celu", 0.5), _c(lambda lib, x: lib.celu(x, 2.0))],
    "selu": [_f("selu", d=FLOATS), _c(lambda lib, x: lib.selu_(x.clone()))],
    "softsign": [_f("softsign", d=(*FLOATS, "int32", "complex64"))],
    "tanhshrink": [_f("tanhshrink", d=(*FLOATS, "int32"))],
    "glu": [_f("glu", d=FLOATS), _c(lambda lib, x: nn(lib).glu(x, 0), (6, 3))],
    "prelu": [_c(lambda lib, x, w: lib.prelu(x, w), (2, 3, 4), (3,), d=FLOATS),
              _c(lambda lib, x, w: x.prelu(w), (5,), (1,))],
    "rrelu": [_f("rrelu", d=FLOATS[2:]), _c(lambda lib, x: lib.rrelu(x, 0.1, 0.5, False))],
}
