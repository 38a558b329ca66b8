"""The link check of tensor-core meets the clash that it is there for."""

import shutil
import subprocess
import sys

import inventory
import pytest

SCRIPT = inventory.ROOT / "packages" / "tensor-core" / "cmake" / "check_isa_symbols.py"
SHARED = "template <class T> __attribute__((noinline)) T three(T n) { return n * 3; }\n"
OWN = f"namespace LEVEL {{ {SHARED} }}\n"

pytestmark = pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")


def check(folder, header, call):
    """Compile one source at two levels and run the check on the objects."""
    source = folder / "kernel.cpp"
    source.write_text(f"{header}namespace LEVEL {{ int f(int n) {{ return {call}(n); }} }}\n")
    words = []
    for level in ("v2", "v3"):
        target = folder / f"{level}.o"
        compile_it = ["g++", "-O2", f"-DLEVEL={level}", "-c", str(source), "-o", str(target)]
        subprocess.run(compile_it, check=True)
        words += [level, str(target)]
    command = [sys.executable, str(SCRIPT), "nm", *words]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_template_shared_by_two_levels_is_refused(tmp_path):
    run = check(tmp_path, SHARED, "three")
    assert run.returncode == 1
    assert "int three<int>(int) (v2, v3)" in run.stdout


def test_a_template_of_each_level_is_accepted(tmp_path):
    assert check(tmp_path, OWN, "LEVEL::three").returncode == 0
