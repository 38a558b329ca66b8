"""A newer PyTorch that lets older test files be imported.

Names that it has dropped since are stubs, for the test files and their library only, and only
while they are imported: a test that uses one fails, as it would have at import.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import names
from .stubs import Clock, absent


class Tolerant(types.ModuleType):
    """What the modules of PyTorch become."""

    folders: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        full = f"{self.__name__}.{name}"
        if Clock.running or names.is_missing(full) or not _asks(Tolerant.folders):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return absent(full)


class LaterFinder(importlib.abc.MetaPathFinder):
    """The first finder: what is still to be imported of PyTorch becomes tolerant as well."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not name.startswith(("torch.", "functorch")):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            setattr(spec.loader, "create_module", lambda spec: Tolerant(spec.name))  # noqa: B010
        return spec


class DroppedFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last finder: modules that PyTorch has dropped, where the tests import them."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not name.startswith(("torch.", "functorch.")) or not _asks(Tolerant.folders, True):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return Tolerant(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def _asks(folders: tuple[str, ...], through_import: bool = False) -> bool:
    """Say whether the code that looks a name up lies in one of the folders.

    The import system looks for attributes too, to know whether to import a submodule: it must not
    find a stub.
    """
    frame = sys._getframe(2)
    while through_import and frame.f_back and "importlib" in frame.f_code.co_filename:
        frame = frame.f_back
    return frame.f_code.co_filename.startswith(folders)


def adjust(torch: Any) -> None:
    """What old test files do at import and a newer PyTorch refuses."""
    operator = importlib.import_module("torch._ops").HigherOrderOperator
    direct = type("Direct", (operator,), {"__call__": lambda self, *args: None})
    operator.__new__ = lambda kind, *args, **_: object.__new__(
        direct if kind is operator else kind)
    engines = [*torch.backends.quantized.supported_engines, "none"]
    type(torch.backends.quantized).supported_engines = property(lambda self: list(engines))
    try:
        importlib.import_module("torchvision")
    except RuntimeError:    # its operators are compiled for another build
        sys.modules["torchvision"] = None  # type: ignore[assignment]  # an ImportError, then


def install(suite: Path, sources: Path | None) -> None:
    """Make the modules of PyTorch tolerant, and put the tests' library in front of its own."""
    import torch

    Tolerant.folders = (str(suite), *([str(sources / "torch")] if sources else []))
    sys.meta_path.insert(0, LaterFinder())
    sys.meta_path.append(DroppedFinder())
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("torch", "functorch") and type(module) is types.ModuleType:
            module.__class__ = Tolerant
    adjust(torch)
    if sources:
        for name in [name for name in sys.modules if name.startswith("torch.testing._internal")]:
            del sys.modules[name]
        torch.testing.__path__.insert(0, str(sources / "torch" / "testing"))
