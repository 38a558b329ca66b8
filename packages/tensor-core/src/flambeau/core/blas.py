"""Where the BLAS library lies; it is opened when the first large product needs it."""
from __future__ import annotations

import os
import sys

from flambeau.core import _core


def library_path() -> str:
    """The path of scipy-openblas32's library, without importing the package; "" without it."""
    for folder in sys.path:
        library = os.path.join(folder, "scipy_openblas32", "lib", "libscipy_openblas.so")
        if os.path.exists(library):
            return library
    return ""


def find() -> None:
    """Tell the kernels the path of the library."""
    if library := library_path():
        _core._set_blas_path(library)
