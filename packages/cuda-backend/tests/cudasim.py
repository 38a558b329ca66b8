"""Device ``cudasim``: the generated CUDA C, built by g++ under a shim and run on the CPU.

For tests only. Pointwise and reduction operators run the very text that a GPU would compile; the
compositions run with NumPy instead of CuPy. Memory is NumPy's.
"""
from __future__ import annotations

import ctypes
import hashlib
import subprocess
from functools import cache
from pathlib import Path

import numpy as np

from flambeau.cuda import source
from flambeau.cuda.compositions import run_composition
from flambeau.cuda.generated import GeneratedBackend
from flambeau.testing import arrays

_FLAGS = ["-std=c++17", "-O1", "-w", "-mfma", "-ffp-contract=off", "-fPIC", "-shared"]
_SHIM = Path(__file__).parent


def shimmed(module: source.Module) -> str:
    """A module's text with a launcher for every kernel."""
    launchers = [f"FL_LAUNCHER({name}, {kind})" for name, kind in module.kernels.items()]
    return "\n".join(['#include "shim.h"', module.text, *launchers, ""])


class SimulatedBackend(GeneratedBackend):
    """Threads as loop variables."""

    name = "cudasim"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.launched: set[str] = set()
        self.library = cache(self._library)

    def allocate(self, index, nbytes):
        memory = np.empty(max(nbytes, 1), np.uint8)
        return memory.ctypes.data, memory

    def copy(self, index, dst, src, nbytes, kind):
        ctypes.memmove(dst, src, nbytes)

    def _library(self, group: str, kind: str) -> ctypes.CDLL:
        text = shimmed(source.module(group, kind))
        stem = self.folder / f"{group}_{kind}_{hashlib.sha256(text.encode()).hexdigest()[:12]}"
        built = stem.with_suffix(".so")
        if not built.exists():
            stem.with_suffix(".cpp").write_text(text)
            subprocess.run(["g++", *_FLAGS, f"-I{_SHIM}", str(stem.with_suffix(".cpp")), "-o",
                            str(built)], check=True, capture_output=True, text=True)
        return ctypes.CDLL(str(built))

    def launch(self, group, kind, kernel, threads, argument, index):
        library = self.library(group, kind)
        size = getattr(library, f"size_{kernel}")()
        assert size == len(argument), f"{kernel} takes {size} bytes, got {len(argument)}"
        self.launched.add(kernel)
        blocks = min(3, (threads + 63) // 64)
        getattr(library, f"launch_{kernel}")(argument, blocks, 64)

    def run_composition(self, op, args, outs):
        return run_composition(np, arrays.load, arrays.store, op, args, outs)
