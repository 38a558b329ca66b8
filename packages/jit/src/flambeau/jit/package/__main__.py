"""``python -m flambeau.jit.package MODEL.program --to DIR``."""
from __future__ import annotations

import argparse
import sys
from pathlib import Path

from flambeau.jit.errors import ProgramError
from flambeau.jit.package.folder import package


def main(words: list[str] | None = None) -> int:
    """Read the command line and write the folder."""
    parser = argparse.ArgumentParser(
        prog="python -m flambeau.jit.package",
        description="Write a folder that builds and runs a saved program from C and C++.")
    parser.add_argument("program", type=Path, help="a file of Program.save()")
    parser.add_argument("--to", type=Path, required=True, metavar="DIR", help="the folder")
    parser.add_argument("--name", help="what files and functions are called; the file's name")
    parser.add_argument("--runtime", type=Path, metavar="PREFIX",
                        help="where the runtime is installed; where this wheel put it")
    parser.add_argument("--without-runtime", action="store_true",
                        help="copy no runtime: find_package() looks for an installed one")
    parser.add_argument("--blas", action="store_true", help="copy OpenBLAS, 25 MB: large products "
                        "and linear algebra are then those of Python bit for bit")
    given = parser.parse_args(words)
    try:
        written = package(given.program, given.to, name=given.name, runtime=given.runtime,
                          copy_runtime=not given.without_runtime, blas=given.blas)
    except (ProgramError, OSError, ValueError) as error:
        print(f"flambeau.jit.package: {error}", file=sys.stderr)
        return 1
    for path in written:
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
