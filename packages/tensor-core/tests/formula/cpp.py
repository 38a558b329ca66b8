"""Compile rendered formulas and call them on NumPy arrays."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

FLAGS = "-std=c++17 -O3 -fPIC -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-tree-pre"
C_TYPES = {
    "f32": "float",
    "f64": "double",
    "i32": "int32_t",
    "i64": "int64_t",
    "bool": "uint8_t",
    "c64": "fl_c64",
    "c128": "fl_c128",
}
DTYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "i32": np.int32,
    "i64": np.int64,
    "bool": np.uint8,
    "c64": np.complex64,
    "c128": np.complex128,
}


def loop(name: str, result: str, kinds: list[str]) -> str:
    """A loop over a rendered function ``name``, as kernels have it."""
    pointers = [f"const {C_TYPES[kind]} *__restrict x{i}" for i, kind in enumerate(kinds)]
    call = ", ".join(f"x{i}[i]" for i in range(len(kinds)))
    return f"""
extern "C" void loop_{name}(long n, {C_TYPES[result]} *__restrict out, {", ".join(pointers)}) {{
    int rare = 0;
    for (long i = 0; i < n; i++) {{ out[i] = {name}({call}); rare |= (int){name}_rare({call}); }}
    for (long i = 0; {name}_has_rare && rare && i < n; i++)
        if ({name}_rare({call})) out[i] = {name}_slow({call});
}}
"""


@dataclass
class Compiler:
    """g++ and a folder for what it makes."""

    program: str
    folder: Path
    cpu_has_fma: bool
    built: dict[tuple[str, str], ctypes.CDLL] = field(default_factory=dict)

    @classmethod
    def find(cls, folder: Path) -> Compiler | None:
        program = shutil.which("g++")
        if program is None:
            return None
        info = Path("/proc/cpuinfo")
        text = info.read_text() if info.exists() else ""
        words = set(text.split())
        return cls(program, folder, {"fma", "avx2"} <= words)

    def library(self, source: str, flags: str = "") -> ctypes.CDLL:
        """Build and load; the same source is built once."""
        key = (source, flags)
        if key not in self.built:
            path = self.write(source)
            target = path.with_suffix(".so")
            self.run(f"{FLAGS} {flags} -shared -o {target} {path}")
            self.built[key] = ctypes.CDLL(str(target))
        return self.built[key]

    def vectorized(self, source: str, flags: str) -> set[str]:
        """Names of the loops that the compiler says it vectorized."""
        path = self.write(source)
        text = self.run(f"{FLAGS} {flags} -fopt-info-vec -c -o /dev/null {path}")
        lines = source.splitlines()
        names = set()
        for match in re.finditer(r":(\d+):\d+: optimized: loop vectorized", text):
            number = int(match[1]) - 1
            while not lines[number].startswith('extern "C" void loop_'):
                number -= 1
            names.add(lines[number].split("(")[0].split("loop_")[1])
        return names

    def write(self, source: str) -> Path:
        path = self.folder / f"source{len(list(self.folder.iterdir()))}.cpp"
        path.write_text(source)
        return path

    def run(self, arguments: str) -> str:
        done = subprocess.run(
            [self.program, *arguments.split()], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stderr


def run_loop(library: ctypes.CDLL, name: str, result: str, *inputs: np.ndarray) -> np.ndarray:
    """Call ``loop_NAME`` on contiguous arrays of equal length."""
    out = np.empty(len(inputs[0]), DTYPES[result])
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (out, *inputs)]
    getattr(library, f"loop_{name}")(ctypes.c_long(len(out)), *pointers)
    return out


def same_bits(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Equal bit for bit, any nan equal to any other."""
    integer = {4: np.int32, 8: np.int64}
    if a.dtype.kind == "c":
        return same_bits(a.real.copy(), b.real.copy()) & same_bits(a.imag.copy(), b.imag.copy())
    if a.dtype.kind != "f":
        return a == b.astype(a.dtype)
    kind = integer[a.dtype.itemsize]
    return (a.view(kind) == b.view(kind)) | ((a != a) & (b != b))
