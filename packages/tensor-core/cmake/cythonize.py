"""Translate modules to C++ in one process: Cython takes longer to start than for a short module.

    cythonize.py [-I folder]... module source output [module source output]...

An output that stays the same is not written, so that it is not compiled again. Beside it lies
`output.dep`, which names the files that the source includes. The same file is in tensor-core and
in autograd, since each is built from sources of its own.
"""

from __future__ import annotations

import argparse
import gc
import sys
from pathlib import Path

from Cython.Compiler.Main import CompilationOptions, compile_single
from Cython.Compiler.Options import default_options


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-I", dest="folders", action="append", default=[])
    parser.add_argument("words", nargs="+", metavar="module source output")
    arguments = parser.parse_args()
    gc.disable()  # looking for cycles takes a quarter of the time
    words = iter(arguments.words)
    for module, source, output in zip(words, words, words, strict=True):
        translate(module, source, Path(output), arguments.folders)


def translate(module: str, source: str, output: Path, folders: list[str]) -> None:
    before = output.with_suffix(".before")
    if output.exists():
        output.replace(before)
    # The name is passed because it would otherwise be guessed from folders with an __init__.py,
    # and rooms of the flambeau namespace have none above them.
    options = CompilationOptions(
        default_options,
        cplus=True,
        language_level=3,
        include_path=folders,
        depfile=True,
        output_file=str(output),
    )
    result = compile_single(source, options, full_module_name=module)
    if result.num_errors:
        sys.exit(1)
    if before.exists() and before.read_bytes() == output.read_bytes():
        before.replace(output)


if __name__ == "__main__":
    main()
