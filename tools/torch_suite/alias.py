"""The alias that programs run with, and what PyTorch's own tests need beyond it.

`import torch` is answered by `flambeau.as_torch`, as it is for users. Added are the library of the
tests, executed from PyTorch's own text wherever that lies; the few private names of `names`; and,
while the files of the tests are imported, stubs for names that PyTorch has dropped since.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import names
from .stubs import Clock, absent

ROOTS = ("torch", "functorch", "torchgen", "caffe2")
#: Files of the frames between a question and the one that asks it.
BETWEEN = ("/as_torch/", "importlib")


class SourceFinder(importlib.abc.MetaPathFinder):
    """The first finder: modules that are executed from PyTorch's text."""

    def __init__(self, sources: Path | None) -> None:
        self.folders = source_folders(sources)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not names.is_source(name):
            return None
        for folder in self.folders:
            base = folder.joinpath(*name.split("."))
            for file in (base / "__init__.py", base.with_suffix(".py")):
                if file.is_file():
                    places = [str(base)] if file.name == "__init__.py" else None
                    return importlib.util.spec_from_file_location(
                        name, file, submodule_search_locations=places
                    )
        return None


class DroppedModule(types.ModuleType):
    """A module that PyTorch has dropped: names of the table, then stubs."""

    def __getattr__(self, name: str) -> Any:
        full = f"{self.__name__}.{name}"
        return names.value(full) if full in names.NAMES else absent(full)


class DroppedFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last finder: modules that PyTorch has dropped, while test files are imported."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in ROOTS or Clock.running:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return DroppedModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def source_folders(sources: Path | None) -> list[Path]:
    """Where PyTorch's text is: the tree of the tests, then the installed wheel."""
    folders = [sources] if sources else []
    wheel = importlib.machinery.PathFinder.find_spec("torchgen")
    if wheel and wheel.origin:
        folders.append(Path(wheel.origin).parent.parent)
    return folders


def tolerant(look_up: Callable[[str, str], Any]) -> Callable[[str, str], Any]:
    """What the alias finds, else the table's answer, else a stub while test files are imported."""

    def found(module: str, name: str) -> Any:
        full = ".".join(("torch", *filter(None, (module, name))))
        if full in names.NAMES:
            return names.value(full)
        value = look_up(module, name)
        if name == "__all__" and not Clock.running:     # lists of classes, of a module not made
            return [] if value is None else value
        stands_for = getattr(value, "_stands_for", None)
        if (value is None or stands_for) and not Clock.running and not name.startswith("__") \
                and asks():
            return absent(full)
        return value

    return found


def known_first(placeholder: Callable[[str], Any]) -> Callable[[str], Any]:
    """The table's answer for a name below a placeholder, else the alias's."""

    def found(name: str) -> Any:
        full = f"torch.{name}"
        return names.value(full) if full in names.NAMES else placeholder(name)

    return found


def asks() -> bool:
    """Say whether a file of the tests looks the name up, rather than Flambeau or a library."""
    frame = sys._getframe(2)
    while frame.f_back and any(word in frame.f_code.co_filename for word in BETWEEN):
        frame = frame.f_back
    file = frame.f_code.co_filename
    library = tuple(importlib.import_module("flambeau").__path__)
    return "/torch/testing/" in file or not ("site-packages" in file or file.startswith(library))


def install(sources: Path | None) -> None:
    """Make `torch` mean Flambeau in this process."""
    importlib.import_module("flambeau.as_torch")
    placeholders: Any = importlib.import_module("flambeau.as_torch.placeholders")
    placeholders.look_up = tolerant(placeholders.look_up)
    placeholders.placeholder = known_first(placeholders.placeholder)
    sys.meta_path.insert(0, SourceFinder(sources))
    sys.meta_path.append(DroppedFinder())


def adjust() -> None:
    """What old test files do at import and a newer PyTorch refuses."""
    quantized: Any = importlib.import_module("torch.backends.quantized")
    quantized.supported_engines = [*quantized.supported_engines, "none"]
    keep_global_hooks()
    leave_library_of_tests()


def leave_library_of_tests() -> None:
    """Let set-ups load PyTorch's compiled classes for tests, which few of the tests use.

    The operators that its library makes for tests are made in a way that PyTorch has given up.
    """
    ops: Any = importlib.import_module("torch").ops
    ops._torch_testing = absent("torch.ops._torch_testing")
    load = ops.load_library

    def load_library(path: str) -> None:
        if not path.endswith("libtorchbind_test.so"):
            load(path)

    ops.load_library = load_library


def keep_global_hooks() -> None:
    """Let tests empty the tables of the hooks of all modules by assigning them."""
    module: Any = importlib.import_module("torch.nn.modules.module")

    def __setattr__(self: types.ModuleType, name: str, value: Any) -> None:
        names.ASSIGNED.get(f"torch.nn.modules.module.{name}", lambda value: None)(value)
        types.ModuleType.__setattr__(self, name, value)

    module.__class__ = type("WithTables", (type(module),), {"__setattr__": __setattr__})
