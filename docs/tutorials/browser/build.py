"""Write a folder that a web server can serve: a page that reads digits while they are drawn.

    python docs/tutorials/digits.py --out results
    python docs/tutorials/browser/build.py results/digits.program --to site
    python -m http.server --directory site

``jit.aot`` compiles the program that the digits script saved; LLVM's linker, ``wasm-ld``, which
comes with Debian's ``lld`` and ``emscripten``, makes a module of it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from flambeau import jit

PAGE = ("index.html", "page.js", "drawing.js", "network.js")
LINKERS = ("wasm-ld", *(f"wasm-ld-{version}" for version in range(25, 13, -1)))


def linker() -> str:
    """The linker that is installed, the newest first where names have numbers."""
    for name in LINKERS:
        if shutil.which(name):
            return name
    raise SystemExit("build.py needs wasm-ld, LLVM's linker: apt-get install lld")


def compile_module(program: jit.Program, folder: Path, name: str) -> None:
    """Write NAME.wasm, and NAME.json with the sizes that a caller needs.

    Args:
        program: one of inputs and outputs of float32.
        folder: where to.
        name: of both files.
    """
    sizes = {"N": 1} if "N" in program.graph.symbols else {}
    with tempfile.TemporaryDirectory() as made:
        code = jit.aot(program, Path(made) / f"{name}.o", target="wasm32", sizes=sizes)
        exports = [f"--export={each}" for each in (f"{name}_run", "__heap_base")]
        options = ["--no-entry", "--gc-sections", "--strip-all", *exports]
        subprocess.run([linker(), *options, "-o", folder / f"{name}.wasm", code.object], check=True)
        elements = read_elements(code.header)
    layout = {"run": f"{name}_run", **elements, "arena": code.arena_bytes}
    (folder / f"{name}.json").write_text(json.dumps(layout))


def read_elements(header: Path) -> dict[str, list[int]]:
    """How many numbers each input and output has, as the header says."""
    words = [line.split() for line in header.read_text().splitlines()]
    return {f"{kind}s": [int(word[2]) for word in words if len(word) == 3
                         and f"_{kind.upper()}_" in word[1] and word[1].endswith("_ELEMENTS")]
            for kind in ("input", "output")}


def main(argv: Sequence[str] | None = None) -> None:
    """Write the folder, and say how large it is."""
    parser = argparse.ArgumentParser(description="A page that reads digits.")
    parser.add_argument("program", type=Path, help="what docs/tutorials/digits.py saved")
    parser.add_argument("--to", type=Path, default=Path("site"), help="folder for the page")
    arguments = parser.parse_args(argv)
    to: Path = arguments.to
    to.mkdir(parents=True, exist_ok=True)
    for name in PAGE:
        shutil.copy(Path(__file__).parent / name, to)
    compile_module(jit.load(arguments.program), to, "digits")
    sizes = {path.name: path.stat().st_size for path in sorted(to.iterdir())}
    print(*(f"{size:>8,} {name}" for name, size in sizes.items()), sep="\n")
    print(f"{sum(sizes.values()):>8,} bytes in all")


if __name__ == "__main__":
    main()
