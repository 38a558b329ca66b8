"""How closely results must agree, by dtype: one table for every comparison in the tests."""
from __future__ import annotations

import numpy as np

#: dtype: (relative, absolute). What is not listed must be equal.
TOLERANCES = {
    "float16": (2e-3, 1e-3),
    "bfloat16": (1.6e-2, 1e-2),
    "float32": (2e-5, 2e-5),
    "float64": (1e-11, 1e-11),
    "complex64": (2e-5, 2e-5),
    "complex128": (1e-11, 1e-11),
}


def difference(got, want, dtype: str) -> str:
    """Say how two arrays differ; an empty text when they agree.

    Args:
        got: The result under test.
        want: The expected values.
        dtype: Name of the dtype that decides the tolerance.
    """
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return f"shape {got.shape} instead of {want.shape}"
    relative, absolute = TOLERANCES.get(dtype, (0.0, 0.0))
    if got.dtype == bool:
        close = got == want
    else:
        with np.errstate(all="ignore"):
            close = np.isclose(got, want, relative, absolute, equal_nan=True)
    if close.all():
        return ""
    at = tuple(int(i) for i in np.argwhere(~np.atleast_1d(close))[0])
    got, want = np.atleast_1d(got), np.atleast_1d(want)
    return (f"{int((~close).sum())} of {close.size} elements differ; at {at}: got {got[at]!r}, "
            f"expected {want[at]!r}")
