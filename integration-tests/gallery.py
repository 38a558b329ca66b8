"""The scripts of the gallery, as they are and with PyTorch's name in place of ours.

    python integration-tests/gallery.py [NAME ...]

runs the full scripts in both and prints the table of the manual: what was learned, and how long
it took. Without PyTorch, only ours.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import re
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType
from typing import Any

# First, since PyTorch's library of threads finds no room once scikit-learn has loaded its own.
with contextlib.suppress(ImportError):
    importlib.import_module("torch")

TUTORIALS = Path(__file__).parent.parent / "docs" / "tutorials"
SCRIPTS = ("cartpole", "digits", "languages", "letters", "resnet", "vae")
FULL = {
    "resnet": ["resnet"],
    "gpt": ["letters", "--network", "gpt"],
    "lstm": ["letters", "--network", "lstm"],
    "vae": ["vae"],
    "languages": ["languages"],
    "cartpole": ["cartpole"],
}
ONLY_OURS = {"gpt": ["--letters", "0"]}  # PyTorch has no key-value cache: its GPT does not write


def load(name: str, library: str, folder: Path) -> ModuleType:
    """Import a script, written to ``folder`` with another library's name in its import lines."""
    for script in (*SCRIPTS, "helpers"):
        text = (TUTORIALS / f"{script}.py").read_text()
        (folder / f"{script}.py").write_text(re.sub(r"\bflambeau\b", library, text))
        sys.modules.pop(script, None)
    importlib.invalidate_caches()
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))


def run(name: str, library: str, *options: str) -> tuple[dict[str, Any], float]:
    """Run a script; return its figures and the seconds that it took."""
    with tempfile.TemporaryDirectory() as folder:
        module = load(name, library, Path(folder))
        began = time.perf_counter()
        figures = module.main(["--out", folder, *options])
        return figures, time.perf_counter() - began


def table(names: list[str]) -> None:
    """Run scripts in both libraries, one after the other, and print a row for each run."""
    libraries = [each for each in ("flambeau", "torch") if importlib.util.find_spec(each)]
    rows = ["| script | in | figures | seconds |", "|---|---|---|---|"]
    for name in names:
        script, *options = FULL[name]
        options += ONLY_OURS.get(name, [])
        for library in libraries:
            figures, seconds = run(script, library, *options)
            last = {key: v[-1] if isinstance(v, list) else v for key, v in figures.items()}
            text = ", ".join(f"{key} {value:.4f}" for key, value in last.items())
            rows.append(f"| {name} | {library} | {text} | {seconds:.1f} |")
    print("\n".join(rows))


if __name__ == "__main__":
    table(sys.argv[1:] or list(FULL))
