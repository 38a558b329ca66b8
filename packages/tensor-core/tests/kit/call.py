"""One call of an operator, for Flambeau and PyTorch alike: what ``calls.py`` is made of."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import flambeau
from flambeau.core import ops

ALL = ("bool", "uint8", "int8", "int16", "int32", "int64", "bfloat16", "float16", "float32",
       "float64", "complex64", "complex128")
REAL = ALL[:-2]
NUMBERS = ALL[1:]
FLOATS = ("bfloat16", "float16", "float32", "float64")
TWO = ("float32", "float64")


def nn(lib):
    """Where a library keeps the operators of networks."""
    return ops if lib is flambeau else lib.nn.functional


def quiet(function):
    """The function without the warnings it is known to give."""
    @functools.wraps(function)
    def silent(*args):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*args)

    return silent


@dataclass(frozen=True)
class Call:
    """One call: a function of the library and its inputs, their shapes, the dtypes it is for."""

    function: Callable
    shapes: tuple = ((3, 4, 5),)
    dtypes: tuple = ("float32", "float64")
    domain: tuple = (-3.0, 3.0)
    extra: tuple = field(default=())
    factor: float = 1.0

    def inputs(self, lib, dtype: str, layout: str = "contiguous"):
        from arrays import lay_out, make, tensor  # needs NumPy, which `function` does not

        made = [lay_out(tensor(make(s, dtype, self.domain, seed=i), dtype, lib), layout, lib)
                for i, s in enumerate(self.shapes)]
        return [*made, *(lib.tensor(e) for e in self.extra)]

    def run(self, lib, dtype: str, layout: str = "contiguous"):
        return self.function(lib, *self.inputs(lib, dtype, layout))


def call_of(function, *shapes, d=TWO, extra=(), domain=(-3.0, 3.0), factor=1.0):
    return Call(function, shapes or ((3, 4, 5),), d, domain, extra, factor)
