"""Compile the C++ tests of the runtime with the build's own flags and run them.

The runtime knows nothing of Python, so neither do its tests: each is a program whose exit status
says whether all its checks held.
"""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CORE = HERE.parents[1] / "src" / "flambeau" / "core"
RUNTIME = CORE / "native" / "runtime"
CXX = os.environ.get("CXX", "g++")
FLAGS = ["-std=gnu++17", "-g1", "-Wall", "-Wextra", "-Werror"]
KERNEL_FLAGS = ["-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
IS_X86 = os.uname().machine in ("x86_64", "AMD64")
LEVELS = ["v2", "v3", "v4"] if IS_X86 else ["neon"]
PROGRAMS = ["error", "dtypes", "isa", "host", "pool", "alloc"]


def compile_cpp(arguments: Sequence[str | Path]) -> None:
    """Run the compiler; its messages become the failure text."""
    include = [f"-I{path}" for path in (CORE / "native", RUNTIME, HERE)]
    others = ["-isystem", CORE / "include", "-isystem", sysconfig.get_path("include")]
    command = [CXX, *FLAGS, *include, *others, *arguments]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def compile_object(source: Path, target: Path, flags: Sequence[str]) -> Path:
    """Compile one source to an object file."""
    compile_cpp([*flags, "-c", source, "-o", target])
    return target


def run_program(program: Path, *arguments: str, **environment: str) -> str:
    """Run a test program, requiring success; returns what it printed."""
    result = subprocess.run(
        [program, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **environment},
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder for objects and programs."""
    return tmp_path_factory.mktemp("native")


@pytest.fixture(scope="session")
def runtime_objects(build: Path) -> list[Path]:
    """The runtime, compiled as the build compiles it."""
    return [
        compile_object(source, build / f"{source.stem}.o", ["-O2"])
        for source in sorted(RUNTIME.glob("*.cpp"))
    ]


@pytest.fixture(scope="session")
def gemm_objects(build: Path) -> list[Path]:
    """The product kernels of every ISA level."""
    kernels = CORE / "native" / "matmul" / "kernels"
    return [
        compile_object(
            kernels / f"{name}.cpp",
            build / f"{name}_{level}.o",
            [*KERNEL_FLAGS, *level_flags(level)],
        )
        for name in ("gemm", "gemm_pairs", "gemm_tiles")
        for level in LEVELS
    ]


def level_flags(level: str) -> list[str]:
    """What makes the compiler target this level."""
    march = [f"-march=x86-64-{level}", "-mprefer-vector-width=512"] if IS_X86 else []
    return [f"-DFL_ISA={level}", *march]


def link(build: Path, name: str, objects: Sequence[Path], *flags: str) -> Path:
    """Build the program of `test_<name>.cpp`."""
    program = build / f"test_{name}"
    source = HERE / f"test_{name}.cpp"
    compile_cpp(["-O1", *flags, source, *objects, "-o", program, "-lpthread", "-ldl"])
    return program


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(
    name: str, build: Path, runtime_objects: list[Path], gemm_objects: list[Path]
) -> None:
    run_program(link(build, name, [*runtime_objects, *gemm_objects]))


@pytest.fixture(scope="session")
def blas_program(build: Path, runtime_objects: list[Path], gemm_objects: list[Path]) -> Path:
    """The test program of products."""
    return link(build, "blas", [*runtime_objects, *gemm_objects])


@pytest.mark.parametrize("level", LEVELS)
def test_products(level: str, blas_program: Path) -> None:
    """Every level; one the processor lacks falls back to its best, which then runs twice."""
    # Importing the module would open the library, which chooses its kernels at that moment.
    folder = Path(find_spec("scipy_openblas32").origin).parent / "lib"
    library = next(folder.glob("libscipy_openblas.*"))
    run_program(blas_program, str(library), FLAMBEAU_ISA=level)


def test_portable_parking(build: Path) -> None:
    """The pool without futexes, as on systems other than Linux."""
    sources = [RUNTIME / f"{name}.cpp" for name in ("error", "host", "park", "pool")]
    run_program(link(build, "pool", sources, "-DFL_NO_FUTEX"))


def sanitized_alloc(build: Path) -> Path:
    """The allocator's program under AddressSanitizer."""
    names = ("error", "host", "alloc", "alloc_cache")
    sources = [RUNTIME / f"{name}.cpp" for name in names]
    return link(build, "alloc", sources, "-fsanitize=address")


def test_sanitizer_catches_an_overrun_by_one_element(build: Path) -> None:
    program = sanitized_alloc(build)
    environment = {**os.environ, "FLAMBEAU_ALLOC": "plain"}
    result = subprocess.run([program, "overrun"], capture_output=True, text=True, env=environment)
    assert result.returncode != 0
    assert "heap-buffer-overflow" in result.stderr


def test_weak_symbols_do_not_leak(gemm_objects: list[Path]) -> None:
    """A weak symbol compiled for a newer level could be linked into code for all levels.

    Tables of kernels are weak, so that a level can lack one; their names say the level.
    """
    table = re.compile(r"fl_\w+_kernels_v\d$")
    for gemm in gemm_objects:
        listing = subprocess.run(
            ["nm", "--defined-only", str(gemm)], capture_output=True, text=True, check=True
        ).stdout
        symbols = [line.split()[1:] for line in listing.splitlines()]
        assert not [name for kind, name in symbols if kind in "WVu" and not table.match(name)]
