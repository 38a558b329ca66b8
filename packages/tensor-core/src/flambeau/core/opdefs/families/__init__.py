"""Definitions by operator family, in the order of the reference pages."""
from __future__ import annotations

from flambeau.core.opdefs.families import (
    attention,
    conv,
    creation,
    fft,
    index,
    linalg,
    loss,
    matmul,
    norm,
    pool,
    random,
    recurrent,
    reduce,
    resample,
    shape,
    sort,
    special,
    statistics,
)
from flambeau.core.opdefs.families.pointwise import (
    activations,
    arithmetic,
    comparison,
    complex,
    numbers,
    transcendental,
)

MODULES = (arithmetic, comparison, numbers, complex, transcendental, activations, special,
           reduce, statistics, shape, index, sort, matmul, linalg, conv, pool, norm, attention,
           recurrent, loss, creation, random, resample, fft)

#: Names of the families: those of folders and files on every floor (docs/guide/layout.md).
FAMILIES = tuple(dict.fromkeys(
    module.__name__.removeprefix(f"{__name__}.").partition(".")[0] for module in MODULES))
