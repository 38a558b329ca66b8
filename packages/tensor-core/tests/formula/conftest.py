"""The formula package is tested from the source tree, without the built core."""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "flambeau"
PACKAGES = {"flambeau": SOURCE, "flambeau.core": SOURCE / "core"}

if importlib.util.find_spec("flambeau") is None:
    for name, folder in PACKAGES.items():
        stub = types.ModuleType(name)
        stub.__path__ = [str(folder)]
        sys.modules[name] = stub

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def compiler(tmp_path_factory):
    """A C++ compiler with GCC's options, or the test is skipped."""
    from cpp import Compiler

    found = Compiler.find(tmp_path_factory.mktemp("cpp"))
    if found is None:
        pytest.skip("needs g++")
    return found
