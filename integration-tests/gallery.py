"""The scripts of the gallery, as they are and with PyTorch's name in place of ours.

    python integration-tests/gallery.py [NAME ...]

runs the full scripts in both and prints the rows of the manual's tables: what was learned, and the
seconds of processor time that it took on one thread. Without PyTorch, only ours.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import itertools
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
    "digits": ["digits"],
    "resnet": ["resnet"],
    "gpt": ["letters", "--network", "gpt", "--letters", "0"],  # PyTorch has no cache to write with
    "lstm": ["letters", "--network", "lstm"],
    "vae": ["vae"],
    "languages": ["languages"],
    "cartpole": ["cartpole"],
}
# What scripts import while they run, so that no library's seconds include it.
OTHERS = ("babel", "matplotlib.backends.backend_agg", "sklearn.datasets", "sklearn.model_selection")


def load(name: str, library: str, folder: Path) -> ModuleType:
    """Import a script, written to ``folder`` with another library's name in its import lines."""
    for script in (*SCRIPTS, "helpers"):
        text = (TUTORIALS / f"{script}.py").read_text()
        if library == "torch":
            text = re.sub(r"\bflambeau\b", "torch", text)
            text = text.replace(".safetensors", ".pt")  # which of its own readers it takes
        (folder / f"{script}.py").write_text(text)
        sys.modules.pop(script, None)
    importlib.invalidate_caches()
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))


def run(name: str, library: str, *options: str) -> tuple[dict[str, Any], float]:
    """Run a script; return its figures and the seconds that the processor worked."""
    with tempfile.TemporaryDirectory() as folder:
        module = load(name, library, Path(folder))
        importlib.import_module(library).set_num_threads(1)
        began = time.process_time()
        figures = module.main(["--out", folder, *options])
        return figures, time.process_time() - began


def table(names: list[str]) -> None:
    """Run scripts in both libraries, one after the other, and print a row for each run."""
    libraries = [each for each in ("flambeau", "torch") if importlib.util.find_spec(each)]
    for other in OTHERS:
        importlib.import_module(other)
    print("| script | in | figures | seconds |", "|---|---|---|---|", sep="\n")
    for name, library in itertools.product(names, libraries):
        script, *options = FULL[name]
        figures, seconds = run(script, library, *options)
        last = {key: v[-1] if isinstance(v, list) else v for key, v in figures.items()}
        text = ", ".join(f"{key} {value:.4f}" for key, value in last.items())
        print(f"| {name} | {library} | {text} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    table(sys.argv[1:] or list(FULL))
