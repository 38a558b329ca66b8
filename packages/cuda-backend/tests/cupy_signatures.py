"""Whether calls fit the installed CuPy, which this imports without a GPU.

Reads a list of [name, number of arguments, names of others] from its input, and fails at the first
that does not fit. It runs in a process of its own: the double takes CuPy's place in the tests'.
"""
from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from pathlib import Path

import cupy

PACKAGES = Path(cupy.__file__).parents[1]
ALWAYS = ("cupy.cuda.UnownedMemory", "cupy.cuda.MemoryPointer", "cupy.cuda.alloc",
          "cupy.cuda.Device", "cupy.cuda.ExternalStream", "cupy.ndarray",
          "cupy.cuda.runtime.getDeviceCount", "cupy.cuda.runtime.pointerGetAttributes",
          "cupy.cuda.device.get_cublas_handle", "cupy.cuda.device.get_cusolver_handle")


def real(path: str):
    """A function of CuPy by its full name."""
    home, name = path.rsplit(".", 1)
    return getattr(importlib.import_module(home), name)


def parameters_in(name: str) -> list[str]:
    """Parameters of a function of a library, from its docstring: importing it needs CUDA."""
    for library in (PACKAGES / "cupy_backends/cuda/libs").glob("cu*.so"):
        found = re.search(rb"[\0\n]" + name.encode() + rb"\(([^)]*)\)", library.read_bytes())
        if found:
            return found[1].decode().split(", ")
    raise AttributeError(f"no library of CuPy's has {name}")


def check(path: str, count: int, names: list[str]) -> None:
    if path.startswith("libs."):
        wanted = parameters_in(path.removeprefix("libs."))
        if len(wanted) != count:
            raise TypeError(f"{path} takes {wanted}, was given {count}")
        return
    function = real(path)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):     # ufuncs and compiled functions have none
        return
    signature.bind(*[None] * count, **dict.fromkeys(names))


def main() -> None:
    for path, count, names in json.load(sys.stdin):
        check(path, count, names)
    for path in ALWAYS:
        if not callable(real(path)):
            raise TypeError(path)
    solve = (PACKAGES / "cupyx/scipy/linalg/_solve_triangular.py").read_text()
    if "def solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False," not in solve:
        raise TypeError("solve_triangular")
    words = real("cupy.RawModule").__doc__
    if not all(word in words for word in ("code", "options", "get_function")):
        raise TypeError(words)
    inspect.signature(real("cupyx._ufunc_config.errstate")).bind(linalg="raise")


if __name__ == "__main__":
    main()
