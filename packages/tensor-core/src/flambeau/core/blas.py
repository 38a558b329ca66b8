"""Where the BLAS library lies; it is opened when the first large product needs it."""
from __future__ import annotations

import sys

from flambeau.core import _core


def find() -> None:
    """Tell the runtime the path of scipy-openblas32's library, without importing the package."""
    import os

    for folder in sys.path:
        library = os.path.join(folder, "scipy_openblas32", "lib", "libscipy_openblas.so")
        if os.path.exists(library):
            _core._set_blas_path(library)
            return
