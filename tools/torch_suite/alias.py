"""`import torch` answered by Flambeau.

Each module `torch.x` becomes an object of its own that looks a name up, in this order, in the
table of `names`, in `flambeau.x`, and among the stubs. The modules of PyTorch that are tests or
plain Python on top of its public names are executed from PyTorch's own text, wherever that lies.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import names, stand_ins
from .stubs import Clock, absent

LIBRARY = "flambeau"
NOTHING = object()
ROOTS = ("torch", "functorch", "torchgen", "caffe2")


class AliasModule(types.ModuleType):
    """`torch.x`, whose names are those of `flambeau.x`."""

    def __init__(self, name: str, target: types.ModuleType) -> None:
        super().__init__(name)
        self.__dict__["_target"] = target
        self.__dict__["__path__"] = []
        self.__dict__["__file__"] = getattr(target, "__file__", None)

    def __getattr__(self, name: str) -> Any:
        full = f"{self.__name__}.{name}"
        if full in names.NAMES:
            return names.value(full)
        found = getattr(self._target, name, NOTHING)
        if names.has_below(full):
            return importlib.import_module(full)
        if _is_library(found):      # under the name it has itself, as `F.grad` is `nn.grad`
            own = getattr(found, "__name__", "").removeprefix(LIBRARY)
            return importlib.import_module(f"torch{own}")
        if found is not NOTHING:
            return found
        if full.startswith("torch._foreach_") and not names.is_missing(full):
            return getattr(stand_ins.lists(), name)
        return self.__dir__() if name == "__all__" else absent(full)

    def __setattr__(self, name: str, value: Any) -> None:
        """Assign in Flambeau, as a test that replaces a function does; modules are kept here."""
        if isinstance(value, types.ModuleType) or name.startswith("__"):
            # A function hides the module of its name, as `torch.autograd.gradcheck` does.
            if not callable(getattr(self._target, name, None)):
                self.__dict__[name] = value
        elif (full := f"{self.__name__}.{name}") in names.ASSIGNED:
            names.ASSIGNED[full](value)
        else:
            setattr(self._target, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._target, name)

    def __dir__(self) -> list[str]:
        return sorted(name for name in dir(self._target) if not name.startswith("_"))


def _is_library(value: object) -> bool:
    return isinstance(value, types.ModuleType) and value.__name__.startswith(LIBRARY)


class AbsentModule(types.ModuleType):
    """A module that Flambeau does not have: names of the table, then stubs."""

    def __getattr__(self, name: str) -> Any:
        full = f"{self.__name__}.{name}"
        return names.value(full) if full in names.NAMES else absent(full)


class AliasFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules of PyTorch's names."""

    def __init__(self, sources: Path | None) -> None:
        self.sources = source_folders(sources)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in ROOTS:
            return None
        if names.is_source(name) and (spec := self.source(name)):
            return spec
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def source(self, name: str) -> importlib.machinery.ModuleSpec | None:
        for folder in self.sources:
            base = folder.joinpath(*name.split("."))
            for file in (base / "__init__.py", base.with_suffix(".py")):
                if file.is_file():
                    places = [str(base)] if file.name == "__init__.py" else None
                    return importlib.util.spec_from_file_location(
                        name, file, submodule_search_locations=places
                    )
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        try:
            return AliasModule(spec.name, importlib.import_module(names.flambeau_name(spec.name)))
        except ImportError:
            if Clock.running and not names.has_below(spec.name):
                raise ModuleNotFoundError(f"Unsupported: {spec.name}", name=spec.name) from None
            return AbsentModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def source_folders(sources: Path | None) -> list[Path]:
    """Where PyTorch's text is: the tree of the tests, then the installed wheel."""
    folders = [sources] if sources else []
    wheel = importlib.machinery.PathFinder.find_spec("torchgen", outside_shim())
    if wheel and wheel.origin:
        folders.append(Path(wheel.origin).parent.parent)
    return folders


def outside_shim() -> list[str]:
    shim = str(Path(__file__).parent / "shim")
    return [entry for entry in sys.path if entry != shim]


def install(sources: Path | None) -> types.ModuleType:
    """Make `torch` mean Flambeau in this process; return it."""
    for name in [name for name in sys.modules if name.partition(".")[0] in ROOTS]:
        del sys.modules[name]
    sys.meta_path.insert(0, AliasFinder(sources))
    torch = importlib.import_module("torch")
    methods = {name: getattr(torch.Tensor, other) for name, other in names.METHODS.items()}
    importlib.import_module("flambeau.core._core").install_tensor_methods(methods)
    importlib.import_module("flambeau.random").set_algorithm("mt19937")     # seeds give its numbers
    return torch
