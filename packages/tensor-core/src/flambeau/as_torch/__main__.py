"""``python -m flambeau.as_torch [-m module | -c code | script.py] arguments``."""
from __future__ import annotations

import importlib.util
import os
import runpy
import sys
from types import CodeType, ModuleType
from typing import Any

import flambeau.as_torch  # noqa: F401  # installs it

USAGE = """usage: python -m flambeau.as_torch [-m module | -c code | script.py] arguments
Runs a PyTorch program with Flambeau: `import torch` gives flambeau there."""


def start(name: str, code: CodeType, file: str | None, spec: object = None) -> None:
    """Run a program as `__main__`, which stays: threads and children may outlive its last line."""
    main = ModuleType("__main__")
    main.__dict__.update(__spec__=spec, __package__=name.rpartition(".")[0] or None,
                         __builtins__=__builtins__)
    if file is not None:
        main.__file__ = sys.argv[0] = file
    sys.modules["__main__"] = main
    exec(code, main.__dict__)


def run_module(name: str) -> None:
    """Run what ``python -m name`` does."""
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = importlib.util.find_spec(name + ".__main__")
    loader: Any = spec.loader if spec is not None else None
    code = loader.get_code(spec.name) if spec is not None and hasattr(loader, "get_code") else None
    if spec is None or code is None:
        sys.exit(f"{sys.executable}: no module named {name}, or it cannot be run")
    start(spec.name, code, spec.origin, spec)


def run_file(path: str) -> None:
    """Run what ``python path`` does."""
    if not os.path.isfile(path):
        runpy.run_path(path, run_name="__main__")
        return
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(os.path.abspath(path))
    with open(path, "rb") as file:
        start("", compile(file.read(), path, "exec", dont_inherit=True), path)


def main() -> None:
    """Read the command line as Python does."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
    elif arguments[0] == "-m" and len(arguments) > 1:
        sys.argv = arguments[1:]
        run_module(arguments[1])
    elif arguments[0] == "-c" and len(arguments) > 1:
        if not sys.flags.safe_path:
            sys.path[0] = ""
        sys.argv = ["-c", *arguments[2:]]
        start("", compile(arguments[1], "<string>", "exec", dont_inherit=True), None)
    elif arguments[0].startswith("-"):
        sys.exit(f"python -m flambeau.as_torch: {arguments[0]} is not known; {USAGE}")
    else:
        sys.argv = arguments
        run_file(arguments[0])


if __name__ == "__main__":
    main()
