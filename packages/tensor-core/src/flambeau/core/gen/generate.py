"""Write every generated source: ``python generate.py --out FOLDER``.

Runs before the package can be imported, so ``flambeau`` and ``flambeau.core`` are put in
place as bare packages that run no code of their own.
"""
from __future__ import annotations

import argparse
import sys
import types
from pathlib import Path

CORE = Path(__file__).resolve().parent.parent


def _bare_packages() -> None:
    for name, folder in (("flambeau", CORE.parent), ("flambeau.core", CORE)):
        module = types.ModuleType(name)
        module.__path__ = [str(folder)]
        sys.modules[name] = module


def _write(path: Path, text: str) -> None:
    """Write only what changed, so that nothing is compiled again for nothing."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, type=Path)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    _bare_packages()
    from flambeau.core.gen import kernels, slots, stubs, tables

    for module in (tables, kernels, slots, stubs):
        for name, text in module.files().items():
            path = out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, text)


if __name__ == "__main__":
    main()
