"""Definitions by operator family, in the order of the reference pages."""
from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

#: Modules of definitions; each is imported when it is asked for.
NAMES = ("pointwise.arithmetic", "pointwise.comparison", "pointwise.numbers", "pointwise.complex",
         "pointwise.transcendental", "pointwise.activations", "special", "reduce", "statistics",
         "shape", "index", "sort", "matmul", "linalg", "conv", "pool", "norm", "attention",
         "recurrent", "loss", "creation", "random", "resample", "fft")

#: Names of the families: those of folders and files on every floor (docs/guide/layout.md).
FAMILIES = tuple(dict.fromkeys(name.partition(".")[0] for name in NAMES))


#: The same, but first those of formulas and of kernels in rows, which compiled calls look up.
SOUGHT = tuple(sorted(NAMES, key=lambda name: not name.startswith("pointwise")
                      and name not in ("reduce", "norm", "creation", "random")))


def modules(names: tuple[str, ...] = NAMES) -> Iterator[ModuleType]:
    """The modules, in this order."""
    for name in names:
        yield import_module(f"{__name__}.{name}")
