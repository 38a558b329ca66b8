"""`python -m public_programs CLONES FLAMBEAU PYTORCH [--page PAGE] [--rounds N] [WORD ...]`.

CLONES has a folder OWNER/NAME for each repository of `programs.txt`; FLAMBEAU and PYTORCH are the
Pythons of two environments, the first with Flambeau and without PyTorch. Words choose the programs
with one of them in their lines.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from public_programs import data, table

HERE = Path(__file__).resolve().parent
LIBRARIES = HERE.parents[1] / "integration-tests" / "libraries"     # has pytorch_side
LEFT = shutil.ignore_patterns(".git", "*.gif", "*.ipynb", "*.pdf")


@dataclass(frozen=True)
class Program:
    """A line of the list: a program, where it lies, and what it is given."""

    repository: str
    path: str
    arguments: tuple[str, ...]
    data: tuple[str, ...]


def programs() -> list[Program]:
    """The list: `repository | path | arguments | maker:where ...`, a line per program."""
    lines = (HERE / "programs.txt").read_text().splitlines()
    cells = [[cell.strip() for cell in f"{line}|||".split("|")] for line in lines
             if line and not line.startswith("#")]
    return [Program(row[0], row[1], tuple(shlex.split(row[2])), tuple(row[3].split()))
            for row in cells]


@functools.cache
def terminal() -> int:
    """A terminal of 80 columns, which programs may ask for its size."""
    import fcntl
    import pty
    import struct
    import termios

    _, made = pty.openpty()
    fcntl.ioctl(made, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    return made


def run(command: list[str], program: Program, options: argparse.Namespace) -> dict[str, Any]:
    """What one program does in a fresh copy of its repository."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "repository"
        shutil.copytree(options.clones / program.repository, copy, ignore=LEFT, symlinks=True,
                        ignore_dangling_symlinks=True)
        script = copy / program.path
        result = Path(folder) / "result.json"
        for each in program.data:
            maker, _, where = each.partition(":")
            data.MAKERS[maker](script.parent / where)
        paths = os.pathsep.join(map(str, (HERE.parent, LIBRARIES, copy)))
        environment = {**os.environ, "PYTHONPATH": paths, "PROGRAM_STEPS": str(options.steps),
                       "PROGRAM_SECONDS": str(options.seconds)}
        words = [*command, str(HERE / "worker.py"), str(result), script.name, *program.arguments]
        with open(Path(folder) / "said", "w+") as said:
            try:
                subprocess.run(words, cwd=script.parent, env=environment, stdin=terminal(),
                               stdout=said, stderr=said, check=False,
                               timeout=60 + 20 * options.seconds)
            except subprocess.TimeoutExpired:
                return {"error": "took too long", "losses": [], "times": []}
            said.seek(0)
            text = said.read()[-6000:]
        found = json.loads(result.read_text()) if result.exists() else \
            {"error": "ended early", "losses": [], "times": []}
        return {**found, "said": text}


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clones", type=Path)
    parser.add_argument("flambeau")
    parser.add_argument("pytorch")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--results", type=Path, help="keep what was found, and go on from there")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    kept = options.results
    known = json.loads(kept.read_text()) if kept is not None and kept.exists() else {}
    for program in programs():
        title = table.title(program.repository, program.path, program.arguments)
        if options.words and not any(word in title for word in options.words):
            continue
        if options.words or title not in known:
            pair: dict[str, list[dict[str, Any]]] = {"flambeau": [], "pytorch": []}
            for _ in range(options.rounds):
                for name, command in (("pytorch", [options.pytorch]),
                                      ("flambeau", [options.flambeau, "-m", "flambeau.as_torch"])):
                    pair[name].append(run(command, program, options))
            known[title] = pair
            if kept is not None:
                kept.write_text(json.dumps(known))
        print(table.row(title, known[title]), flush=True)
    print(table.summary(known))
    if options.page is not None:
        table.fill(options.page, known)


if __name__ == "__main__":
    main()
