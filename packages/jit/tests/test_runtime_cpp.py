"""The runtime without Python from C++: ``flambeau/runtime.hpp``, built and run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from runtime import find_library

import flambeau as fl
from flambeau import jit
from flambeau.core import get_include
from flambeau.jit import bridge

LIBRARY = find_library()
COMPILER = shutil.which("c++")
pytestmark = pytest.mark.skipif(LIBRARY is None or COMPILER is None,
                                reason="needs libflambeau_runtime and a C++ compiler")


def test_what_the_wrapper_does(tmp_path: Any) -> None:
    assert LIBRARY is not None and COMPILER is not None
    weight = fl.randn(4, 2)
    program = jit.trace(lambda x: (x @ weight).relu(), fl.ones(3, 4), dynamic={0: {0: "N"}})
    program.save(tmp_path / "layer.program")
    jit.trace(lambda x: x.add_(1), fl.ones(12)).save(tmp_path / "writes.program")
    source = Path(__file__).parent / "data" / "wrapper.cpp"
    words = [COMPILER, "-std=c++17", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pthread",
             f"-I{get_include()}", source, "-o", tmp_path / "wrapper", LIBRARY,
             f"-Wl,-rpath,{LIBRARY.parent}"]
    subprocess.run(list(map(str, words)), check=True)
    command = [tmp_path / "wrapper", tmp_path / "layer.program", tmp_path / "writes.program"]
    found = subprocess.run(list(map(str, command)), capture_output=True, check=False)
    assert found.returncode == 0, found.stderr.decode()
    steps = [fl.tensor(0.1) * fl.tensor(float(i)) for i in range(12)]
    expected = program(fl.stack(steps).reshape(3, 4))
    given = fl.frombuffer(bytearray(found.stdout), dtype=fl.float32).reshape(3, 2)
    assert bridge.same_bits(given, expected)
