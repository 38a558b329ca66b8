"""Write every generated source: ``python generate.py --out FOLDER --stubs FOLDER``.

Runs before the package can be imported, so ``flambeau`` and ``flambeau.core`` are put in
instead as bare packages that run no code of their own.
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
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--stubs", required=True, type=Path, help="where flambeau/ is typed")
    arguments = parser.parse_args()
    _bare_packages()
    from flambeau.core.codegen import (
        compat_stubs,
        kernels,
        namespace_stubs,
        packed_table,
        programs,
        slots,
        stubs,
        tables,
    )

    sources = (tables, packed_table, kernels, programs, slots)
    typed = (stubs, compat_stubs, namespace_stubs)
    for out, modules in ((arguments.out, sources), (arguments.stubs, typed)):
        for module in modules:
            for name, text in module.files().items():
                _write(out / name, text)


if __name__ == "__main__":
    main()
