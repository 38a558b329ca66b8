"""`python -m flambeau.jit.package` as a user meets it: CMake, compilers, the same bits."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau as fl
from flambeau import jit, nn
from flambeau.core.blas import library_path
from flambeau.core.runtime_files import LIBRARY, runtime_prefix
from flambeau.jit.package import package

BUILD = Path(__file__).resolve().parents[2] / "build" / "core"
STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic"]


def run(*words: Any, **options: Any) -> str:
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the wheel put the runtime; what an in-place build installs, in a tree without one."""
    try:
        return runtime_prefix()
    except FileNotFoundError:
        if not (BUILD / LIBRARY).exists():
            pytest.skip("needs libflambeau_runtime")
        folder = tmp_path_factory.mktemp("prefix")
        run("cmake", "--install", BUILD, "--component", "runtime", "--prefix", folder)
        return folder


def save_digits(folder: Path) -> tuple[Any, Path]:
    model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 10))
    program = jit.trace(model.eval(), fl.randn(3, 1, 8, 8), dynamic={0: {0: "N"}})
    program.save(folder / "digits.program")
    return program, folder / "digits.program"


def build(folder: Path, *options: str) -> None:
    run("cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build", *options,
        "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", folder / "build")


def test_a_folder_builds_and_gives_the_same_bits(prefix: Path, tmp_path: Path) -> None:
    program, path = save_digits(tmp_path)
    words = ["--to", tmp_path / "made", "--runtime", prefix]
    listed = run(sys.executable, "-m", "flambeau.jit.package", path, *words)
    assert str(tmp_path / "made" / "digits.h") in listed.splitlines()
    path.unlink()
    made = tmp_path / "moved"
    (tmp_path / "made").rename(made)
    build(made)
    x = fl.randn(3, 1, 8, 8)
    x.numpy().tofile(tmp_path / "x.raw")
    said = run(made / "build" / "digits", tmp_path / "x.raw", cwd=tmp_path)
    assert said.startswith("output 0: float32[3, 10]")
    assert (tmp_path / "output_0.raw").read_bytes() == program(x).detach().numpy().tobytes()
    assert run(made / "build" / "digits_cpp", cwd=tmp_path) == "float32[3, 10]\n"


def test_an_installed_runtime_is_found(prefix: Path, tmp_path: Path) -> None:
    _, path = save_digits(tmp_path)
    package(path, tmp_path / "made", name="test", copy_runtime=False)
    build(tmp_path / "made", f"-DCMAKE_PREFIX_PATH={prefix}")
    run(tmp_path / "made" / "build" / "test_", cwd=tmp_path)


def test_headers_for_all_kinds_of_inputs(prefix: Path, tmp_path: Path) -> None:
    """A dict, a size that two inputs share, sums of sizes, names that C has, no dimensions."""
    def function(named: Any, mask: Any, number: Any) -> Any:
        return fl.cat([named["x"], named["y"]]) * number, mask.sum(), named["z"]

    named = {"x": fl.ones(2, 3, dtype=fl.float16), "y": fl.ones(5, 3, dtype=fl.float16),
             "z": fl.ones(1, dtype=fl.complex64)}
    program = jit.trace(function, (named, fl.ones(4, dtype=fl.bool), fl.tensor(2, dtype=fl.int64)),
                        dynamic={0: {0: "int"}, 1: {0: "M"}})
    program.save(tmp_path / "many.program")
    package(tmp_path / "many.program", tmp_path / "made", runtime=prefix)
    text = (tmp_path / "made" / "many.h").read_text()
    assert "many_input_0(uint16_t *data, int64_t int_)" in text
    for compiler, standard, source in (("gcc", "-std=c99", "main.c"),
                                       ("g++", "-std=c++17", "main.cpp")):
        run(compiler, standard, *STRICT, "-fsyntax-only", '-DPROGRAM="p"', "-I",
            prefix / "include", tmp_path / "made" / source)


def test_openblas_is_copied_where_it_is_asked_for(prefix: Path, tmp_path: Path) -> None:
    _, path = save_digits(tmp_path)
    package(path, tmp_path / "made", runtime=prefix, blas=True)
    copied = tmp_path / "made" / "runtime" / "lib" / "libscipy_openblas.so"
    assert copied.stat().st_size == Path(library_path()).stat().st_size
    with pytest.raises(ValueError, match="copy_runtime=False leaves out"):
        package(path, tmp_path / "other", blas=True, copy_runtime=False)


def test_what_cannot_be_packaged(tmp_path: Path) -> None:
    (tmp_path / "no.program").write_bytes(b"PK")
    _, path = save_digits(tmp_path)
    command = [sys.executable, "-m", "flambeau.jit.package"]
    for words, why in (([tmp_path / "no.program"], "is not a zip"),
                       ([tmp_path / "absent.program"], "No such file"),
                       ([path, "--runtime", tmp_path], f"there is no lib/{LIBRARY}")):
        done = subprocess.run([*command, *map(str, words), "--to", str(tmp_path / "made")],
                              capture_output=True, text=True)
        assert done.returncode == 1 and why in done.stderr, done.stderr
        assert not (tmp_path / "made").exists()


def test_flambeau_run(prefix: Path, tmp_path: Path) -> None:
    program, path = save_digits(tmp_path)
    command = prefix / "bin" / "flambeau-run"
    if not command.exists():
        command = Path(shutil.which("flambeau-run") or pytest.fail("no flambeau-run"))
    x = fl.randn(2, 1, 8, 8)
    np.save(tmp_path / "x.npy", x.numpy())
    assert run(command, path) == "input 0: float32[N, 1, 8, 8]\noutput 0: float32[N, 10]\n"
    run(command, path, "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy")
    assert np.load(tmp_path / "y.npy").tobytes() == program(x).detach().numpy().tobytes()
