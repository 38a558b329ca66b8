"""The package stands alone: the build imports it before anything is built."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "flambeau"

SCRIPT = """
import sys, types
for name, folder in (("flambeau", {root!r}), ("flambeau.core", {root!r} + "/core")):
    stub = types.ModuleType(name)
    stub.__path__ = [folder]
    sys.modules[name] = stub
before = set(sys.modules)
import flambeau.core.formula, flambeau.core.formula.bytecode, flambeau.core.formula.interpreter
new = {{name.split(".")[0] for name in set(sys.modules) - before}}
print(*sorted(new - set(sys.stdlib_module_names)))
"""


def test_only_the_standard_library_is_imported():
    script = SCRIPT.format(root=str(SOURCE))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["flambeau"]
