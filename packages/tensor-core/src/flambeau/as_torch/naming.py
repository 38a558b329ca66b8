"""The modules that classes and functions say they are of: PyTorch's, where it has them.

Programs look at `type(x).__module__`, and pickles name it. What a module defines gets PyTorch's
name once, when the module has been executed; `tools/pytorch_homes.py` makes the table of what
PyTorch has in another module. `core.homes.own_module` remembers what was so.
"""
from __future__ import annotations

import functools
import os
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

from flambeau import rooms
from flambeau.as_torch import names
from flambeau.core import _core
from flambeau.core.homes import defined
from flambeau.core.named_outputs import NamedOutputs

TYPE_CHECKING = False  # typing would cost milliseconds at every start
if TYPE_CHECKING:
    from typing import Any

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pytorch_homes.txt")
_FUNCTIONS = ("function", "builtin_function_or_method", "cython_function_or_method")


def homes_in(table: str) -> dict[str, dict[str, str]]:
    """Module -> name in it -> another module, of a file whose lines are two modules and names."""
    found: dict[str, dict[str, str]] = {}
    with open(table, encoding="ascii") as file:
        for line in file:
            module, home, *inside = line.split()
            found.setdefault(module, {}).update(dict.fromkeys(inside, home.strip(".")))
    return found


@functools.cache
def _homes() -> dict[str, dict[str, str]]:
    """Module of ours -> name in it -> PyTorch's module."""
    return homes_in(FILE)


@functools.cache
def _owners() -> dict[tuple[str, str], str]:
    """Module of PyTorch's, name in it -> our module."""
    return {(home, name): own for own, inside in _homes().items() for name, home in inside.items()}


def owner(module: str, name: str) -> str | None:
    """The module of ours that defines ``torch.module.name``; None: the table does not say.

    Args:
        module: A dotted name without ``torch``.
        name: The name in it.
    """
    own = _owners().get((module, name))
    return own and rooms.PREFIX + own


def show(module: ModuleType) -> None:
    """Let a module, and what it defines, say that they are PyTorch's."""
    below = module.__name__.removeprefix(rooms.PREFIX)
    if names.has_module(below):
        vars(module)["__name__"] = f"torch.{below}"
    else:   # where `typing.get_type_hints` looks for what the annotations of its classes name
        sys.modules.setdefault(f"torch.{below}", module)
    for value in list(vars(module).values()):
        if isinstance(value, type) or type(value).__name__ in _FUNCTIONS:
            _show_one(value)


def _show_one(value: Any) -> None:
    own = value.__module__
    if isinstance(own, str) and own.partition(".")[0] == "flambeau":
        home = _home(own.removeprefix("flambeau").removeprefix("."), value.__name__,
                     isinstance(value, type))
        if home is not None:
            defined[value] = own
            _core.show_in(value, home)


def _home(own: str, name: str, is_class: bool) -> str | None:
    """PyTorch's module of a class or function; of other classes, the same below `torch`."""
    home = _homes().get(own, {}).get(name)
    if home is None:
        if not is_class and (name.startswith("_") or not names.has_module(own)):
            return None
        home = own
    return f"torch.{home}" if home else "torch"


class Finder:
    """Finds what others find, and has modules of this library shown once they are executed."""

    def find_spec(self, name: str, *where: Any) -> ModuleSpec | None:
        """Answer for modules of this library."""
        if not name.startswith(rooms.PREFIX):
            return None
        for finder in sys.meta_path:
            if finder is not self and (spec := finder.find_spec(name, *where)) is not None:
                _show_later(spec)
                return spec
        return None


def _show_later(spec: ModuleSpec) -> None:
    loader: Any = spec.loader
    if loader is None:
        return
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        execute(module)
        show(module)

    loader.exec_module = exec_module


def start() -> None:
    """Show what is loaded, and what will be."""
    _show_package()
    for name, module in list(sys.modules.items()):
        if name.startswith(rooms.PREFIX) and isinstance(module, ModuleType):
            show(module)
    for outputs in NamedOutputs.__subclasses__():
        _show_one(outputs)
    sys.meta_path.insert(0, Finder())


def _show_package() -> None:
    import flambeau

    loader: Any = flambeau.__loader__
    spec = ModuleSpec("torch", loader, origin=flambeau.__file__, is_package=True)
    spec.submodule_search_locations = flambeau.__path__
    spec.has_location = True
    vars(flambeau).update(__name__="torch", __package__="torch", __spec__=spec)
