"""`python -m public_programs CLONES FLAMBEAU PYTORCH [--page PAGE] [--only WORD ...]`.

CLONES has a folder OWNER/NAME for each repository of `programs.txt`; FLAMBEAU and PYTORCH are the
Pythons of two environments, the first with Flambeau and without PyTorch. Words choose programs
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


class Library:
    """A process that has imported one of the two libraries, and runs programs."""

    def __init__(self, command: list[str]) -> None:
        paths = os.pathsep.join(map(str, (HERE.parent, LIBRARIES)))
        self.process = subprocess.Popen(
            [*command, str(HERE / "worker.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, pass_fds=[terminal()],
            env={**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": "0"})

    def run(self, program: Program, options: argparse.Namespace) -> dict[str, Any]:
        """What one program does in a fresh copy of its repository."""
        assert self.process.stdin is not None and self.process.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "repository"
            shutil.copytree(options.clones / program.repository, copy, ignore=LEFT, symlinks=True,
                            ignore_dangling_symlinks=True)
            script, result, said = copy / program.path, Path(folder) / "result", Path(folder) / "x"
            for each in program.data:
                maker, _, where = each.partition(":")
                data.MAKERS[maker](script.parent / where)
            job = {"script": script.name, "arguments": program.arguments, "result": str(result),
                   "repository": str(copy), "folder": str(script.parent), "said": str(said),
                   "steps": options.steps, "seconds": options.seconds, "terminal": terminal(),
                   "timeout": int(60 + 20 * options.seconds)}
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()
            if not self.process.stdout.readline():
                raise RuntimeError("the process that runs the programs has ended")
            found = json.loads(result.read_text()) if result.exists() else \
                {"error": "took too long, or ended early", "losses": [], "times": []}
            return {**found, "said": said.read_text(errors="replace")[-6000:]}


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
    parser.add_argument("--only", nargs="+", dest="words", default=[])
    options = parser.parse_args()
    kept = options.results
    known = json.loads(kept.read_text()) if kept is not None and kept.exists() else {}
    libraries = {"pytorch": Library([options.pytorch]),
                 "flambeau": Library([options.flambeau, "-m", "flambeau.as_torch"])}
    for program in programs():
        title = table.title(program.repository, program.path, program.arguments)
        if options.words and not any(word in title for word in options.words):
            continue
        if options.words or title not in known:
            pair: dict[str, list[dict[str, Any]]] = {"flambeau": [], "pytorch": []}
            for _ in range(options.rounds):
                for name, library in libraries.items():
                    pair[name].append(library.run(program, options))
            known[title] = pair
            if kept is not None:
                kept.write_text(json.dumps(known))
        print(table.row(title, known[title]), flush=True)
    print(table.summary(known))
    if options.page is not None:
        table.fill(options.page, known)


if __name__ == "__main__":
    main()
