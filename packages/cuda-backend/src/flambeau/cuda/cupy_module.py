"""CuPy on first use, and what stands in its way."""
from __future__ import annotations

import importlib.util
from functools import cache
from types import ModuleType

_INSTALL = "pip install flambeau-cuda-backend[cuda12] (or [cuda13], as your driver has it)"


@cache
def why_unavailable() -> str | None:
    """What is missing to compute on a GPU; None when nothing is.

    Asks for the driver's library first, which costs no import.
    """
    if not _has_driver():
        return "no NVIDIA driver on this machine (libcuda.so.1 was not found); use device='cpu'"
    if importlib.util.find_spec("cupy") is None:
        return f"CuPy is not installed: {_INSTALL}"
    try:
        import cupy

        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:
        return f"CuPy cannot reach a GPU: {error}"
    return None if count else "the driver sees no GPU; is CUDA_VISIBLE_DEVICES empty?"


def _has_driver() -> bool:
    import ctypes  # slow to import, and only who asks for a GPU needs it

    for name in ("libcuda.so.1", "nvcuda.dll"):
        try:
            ctypes.CDLL(name)
            return True
        except OSError:
            continue
    return False


def cupy() -> ModuleType:
    """The CuPy module.

    Raises:
        RuntimeError: there is no GPU to use; the text says what is missing.
    """
    problem = why_unavailable()
    if problem is not None:
        raise RuntimeError(f"device 'cuda' is not available: {problem}")
    import cupy as module

    return module
