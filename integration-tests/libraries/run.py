"""Runs libraries written for PyTorch with Flambeau and with PyTorch, and makes a page of it.

`python run.py FLAMBEAU PYTORCH [--page PAGE] [PROGRAM ...]`: the Pythons of two environments with
the libraries of `versions.txt`, one with Flambeau and without PyTorch, one with PyTorch.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from compare import difference

HERE = Path(__file__).resolve().parent
SECONDS = 3600
#: Program -> library, what is run, how far results may be apart.
PROGRAMS = {
    "torchvision_models": ("torchvision", "networks of all families: results, gradients", 1e-4),
    "torchvision_ops": ("torchvision", "operators and their gradients, against plain loops", 1e-5),
    "torchvision_transforms": ("torchvision", "transforms v1 and v2, data sets, pictures", 1e-4),
    "timm_models": ("timm", "300 networks: results; of 30, gradients", 1e-4),
    "transformers_models": ("transformers", "8 networks: loss, gradients, words that they write, "
                            "files, 20 steps of Trainer", 1e-4),
    "others": ("", "the main use", 1e-4),
}


def versions() -> dict[str, str]:
    """The table of libraries: name -> version."""
    lines = (HERE / "versions.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def results(python: list[str], program: str) -> dict[str, Any]:
    """What the cases of a program give."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/results"
        environment = {**os.environ, "PYTHONPATH": str(HERE), "HF_HUB_OFFLINE": "1"}
        subprocess.run([*python, str(HERE / "worker.py"), program, path], check=False, cwd=HERE,
                       env=environment, timeout=SECONDS)
        with open(path, "rb") as file:
            found: dict[str, Any] = pickle.load(file)
            return found


def judged(ours: tuple[Any, ...], theirs: tuple[Any, ...], tolerance: float) -> str:
    """An empty string where results are equal, else what is wrong."""
    if ours[0] == theirs[0] == "value":
        found = difference(ours[1], theirs[1])
        return "" if found <= tolerance else f"differs by {found:.2g}"
    if ours[0] == theirs[0]:
        return ""       # neither can do it
    return str(ours[1] if ours[0] == "error" else f"PyTorch: {theirs[1]}").splitlines()[0]


def rows(program: str, ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Lines of the table."""
    library, what, tolerance = PROGRAMS[program]
    bad = {}
    for name, found in ours.items():
        if name in theirs and (said := judged(found, theirs[name], tolerance)):
            bad[name] = said
    for name, said in bad.items():
        print(f"{program}: {name}: {said}")
    if library:
        good = f"{len(ours) - len(bad)} of {len(ours)}"
        return [f"| {library} | {versions()[library]} | {what} | {good} | {tolerance} |"]
    return [f"| {name} | {versions()[name.replace('_', '-')]} | {what} | "
            f"{'no' if name in bad else 'yes'} | {tolerance} |" for name in ours]


def main() -> None:
    """Read the command line."""
    words = sys.argv[1:]
    page = words.pop(words.index("--page") + 1) if "--page" in words else None
    flambeau, pytorch, *chosen = [word for word in words if word != "--page"]
    table = []
    for program in chosen or PROGRAMS:
        theirs = results([pytorch], program)
        table += rows(program, results([flambeau, "-m", "flambeau.as_torch"], program), theirs)
    print("\n".join(table))
    if page is not None:
        text = Path(page).read_text()
        start, end = text.index("|---|") + text[text.index("|---|"):].index("\n") + 1, \
            text.index("\n\n", text.index("|---|"))
        Path(page).write_text(text[:start] + "\n".join(table) + text[end:])


if __name__ == "__main__":
    main()
