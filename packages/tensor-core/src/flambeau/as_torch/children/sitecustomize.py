"""Run when a child process starts: PYTHONPATH names this folder.

Lets `torch` mean Flambeau there, too, and then runs the `sitecustomize` that this one hides.
"""
from __future__ import annotations

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _run(name: str, path: str) -> None:
    """Execute a file as a module of this name."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)


def _hidden() -> str | None:
    """The next file of this name on `sys.path`."""
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    return spec.origin if spec is not None else None


def _start() -> None:
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _HERE]
    if os.environ.get("FLAMBEAU_AS_TORCH") == "1":
        _run("flambeau.as_torch.finder", os.path.join(os.path.dirname(_HERE), "finder.py"))
        sys.modules["flambeau.as_torch.finder"].install()
    hidden = _hidden()
    if hidden is not None:
        _run("sitecustomize", hidden)


_start()
