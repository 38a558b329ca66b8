"""Modules of Python's library that importing PyTorch brings along, and programs take for granted.

``import multiprocessing`` does not import ``multiprocessing.connection``; importing PyTorch does.
Here such a module is imported when a program asks for it.
"""
from __future__ import annotations

import sys

TYPE_CHECKING = False  # typing would cost milliseconds at every start
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

#: Package -> what importing PyTorch leaves in it.
BROUGHT = {
    "concurrent": ("futures",),
    "http": ("client",),
    "importlib": ("abc", "machinery", "metadata", "resources", "util"),
    "multiprocessing": ("connection", "context", "process", "reduction", "resource_sharer",
                        "resource_tracker", "spawn", "util"),
    "urllib": ("error", "parse", "request", "response"),
}


def widen(module: ModuleType) -> None:
    """Let a package import what PyTorch would have imported of it, when it is asked for."""
    names = BROUGHT[module.__name__]

    def __getattr__(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}",
                                 name=name, obj=module)
        from importlib import import_module

        return import_module(f"{module.__name__}.{name}")

    vars(module).setdefault("__getattr__", __getattr__)


def _register_members(optree: ModuleType) -> None:
    """Let optree, which looks at exact types, take the dicts of modules for dicts."""
    from flambeau import rooms

    if not rooms.installed("nn"):
        return
    kind = rooms.import_module(f"{rooms.PREFIX}nn.modules.module._members").Members
    optree.register_pytree_node(
        kind, lambda members: (list(members.values()), list(members), list(members)),
        lambda names, values: dict(zip(names, values, strict=True)),
        namespace=vars(optree.registry)["__GLOBAL_NAMESPACE"])


#: Module -> what is done with it once it is imported.
LATER: dict[str, Callable[[ModuleType], None]] = {
    **dict.fromkeys(BROUGHT, widen), "optree": _register_members}


def widen_loaded() -> None:
    """The same for all that are imported already."""
    for name, change in LATER.items():
        if name in sys.modules:
            change(sys.modules[name])


class Widening:
    """Loads one of these modules as Python does, and then changes it."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As Python makes it."""
        module: ModuleType | None = self.loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Run it, give it its own loader back, and change it."""
        self.loader.exec_module(module)
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        LATER[module.__name__](module)


def spec_of(name: str, path: Sequence[str] | None, target: Any) -> ModuleSpec | None:
    """Where Python finds one of these modules.

    Args:
        name: Its name.
        path: As a finder is given it.
        target: The same.
    """
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec(name, path, target)
    if spec is not None and spec.loader is not None:
        spec.loader = Widening(spec.loader)  # type: ignore[assignment]
    return spec
