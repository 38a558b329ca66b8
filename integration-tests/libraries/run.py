"""Runs libraries written for PyTorch with Flambeau and with PyTorch, and makes a page of it.

`python run.py FLAMBEAU PYTORCH [--page PAGE] [--keep FOLDER] [PROGRAM ...]`: the Pythons of two
environments with the libraries of `versions.txt`, one with Flambeau and without PyTorch, one with
PyTorch. Results that lie in FOLDER are not computed again. Of a page, the lines of the programs
that are named are replaced, or all.
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
    "transformers_kinds": ("transformers", "small networks of all kinds: results, gradients", 1e-4),
    "others": ("", "the main use", 1e-4),
    "lightning_runs": ("lightning", "Trainer with checkpoints, resumed runs, metrics, averages; "
                       "Fabric", 1e-4),
    "gpytorch_models": ("gpytorch", "exact and variational processes, trained; samples; linear "
                        "operators", 1e-4),
    "pyro_models": ("pyro-ppl", "SVI with guides of all kinds, NUTS, HMC, enumeration, "
                    "flows", 1e-4),
    "further_pictures": ("", "the main use", 1e-4),
    "further_layers": ("", "the main use", 1e-4),
    "further_chances": ("", "the main use", 1e-4),
    "further_tools": ("", "the main use", 1e-4),
    "further_science": ("", "the main use", 1e-4),
    "further_training": ("", "the main use", 1e-4),
    "further_used": ("", "the main use", 1e-4),
    "further_attention": ("", "the main use", 1e-4),
    "further_models": ("", "the main use", 1e-4),
    "further_fields": ("", "the main use", 1e-4),
    "further_ground": ("", "the main use", 1e-4),
    "further_wider": ("", "the main use", 1e-4),
    "further_reach": ("", "the main use", 1e-4),
    "torchmetrics_metrics": ("torchmetrics", "metrics of all kinds, their states, wrappers", 1e-4),
    "geometric_layers": ("torch-geometric", "20 layers on edges, COO, CSR and dense matrices, "
                         "batches, training", 1e-4),
}


def versions() -> dict[str, str]:
    """The table of libraries: name -> version."""
    lines = (HERE / "versions.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def results(python: list[str], program: str, path: str) -> dict[str, Any]:
    """What the cases of a program give, which lies in a file then."""
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
    if theirs[0] == "error":
        return f"PyTorch: {theirs[1]}".splitlines()[0]
    return str(ours[1]).splitlines()[0]


def rows(program: str, ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Lines of the table."""
    library, what, tolerance = PROGRAMS[program]
    bad = {}
    for name, found in ours.items():
        if said := judged(found, theirs.get(name, ("error", "not run")), tolerance):
            bad[name] = said
    for name, said in bad.items():
        print(f"{program}: {name}: {said}")
    if library:
        good = f"{len(ours) - len(bad)} of {len(ours)}"
        return [f"| {library} | {versions()[library]} | {what} | {good} | {tolerance} |"]
    return [f"| {each} | {versions()[each]} | {what} | {'no' if name in bad else 'yes'} | "
            f"{tolerance} |" for name in ours for each in [name.replace("_", "-")]]


def same_line(old: str, new: str) -> bool:
    """Say whether two lines are of the same library and what was run."""
    return all(old.split("|")[i] == new.split("|")[i] for i in (1, 3))


def fill(page: Path, table: list[str], is_whole: bool) -> None:
    """Put lines into the table of a page, in place of those of the same cases, or of all."""
    before, line, rest = page.read_text().partition("|---|---|---|---|---|\n")
    old, after = rest.split("\n\n", 1)
    kept = [] if is_whole else old.split("\n")
    for new in table:
        places = [i for i, each in enumerate(kept) if same_line(each, new)]
        if places:
            kept[places[0]] = new
        else:
            kept.append(new)
    page.write_text(before + line + "\n".join(kept) + "\n\n" + after)


def taken(words: list[str], option: str) -> str | None:
    """The word after an option; both are taken out."""
    if option not in words:
        return None
    value = words.pop(words.index(option) + 1)
    words.remove(option)
    return value


def main() -> None:
    """Read the command line."""
    words = sys.argv[1:]
    page, keep = taken(words, "--page"), taken(words, "--keep")
    flambeau, pytorch, *chosen = words
    table = []
    with tempfile.TemporaryDirectory() as folder:
        for program in chosen or PROGRAMS:
            place = f"{keep or folder}/{program}"
            theirs = results([pytorch], program, f"{place}.pytorch")
            ours = results([flambeau, "-m", "flambeau.as_torch"], program, f"{place}.flambeau")
            table += rows(program, ours, theirs)
    print("\n".join(table))
    if page is not None:
        fill(Path(page), table, not chosen)


if __name__ == "__main__":
    main()
