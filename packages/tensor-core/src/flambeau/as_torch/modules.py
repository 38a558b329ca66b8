"""Modules with two names: `torch.x` is the very module `flambeau.x`."""
from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import CodeType, ModuleType

import flambeau
from flambeau import rooms
from flambeau.as_torch import names, placeholders, programs, stands

TYPE_CHECKING = False  # typing would cost milliseconds at every start
if TYPE_CHECKING:
    from typing import Any

#: What importlib writes to a module that it has loaded under a second name: module -> its own spec.
_own_specs: dict[str, ModuleSpec | None] = {}


def own_name(name: str) -> str:
    """Flambeau's name of a module: ``flambeau.nn`` for ``torch.nn``."""
    if name.startswith("functorch"):    # a package beside `torch`, which the same wheel installs
        return f"flambeau.as_torch.{name}"
    return "flambeau" + name.removeprefix("torch")


def _exists(name: str) -> bool:
    """Say whether Flambeau has a module, or will say which package has it."""
    if name.removeprefix(rooms.PREFIX) in rooms.RESERVED:
        return False
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError as error:
        return str(error.name).removeprefix(rooms.PREFIX) in rooms.ROOMS
    except ValueError:      # a module without a spec
        return name in sys.modules


def spec_of(name: str, loader: Any) -> ModuleSpec | None:
    """What `find_spec` says of ``torch.x``; None where PyTorch has no such module."""
    own = own_name(name)
    if _is_run(own):
        return ModuleSpec(name, loader, origin=_run_spec(own).origin)
    if not _exists(own) and not names.has_module(name.removeprefix("torch.")):
        return None
    return ModuleSpec(name, loader, origin="flambeau", is_package=True)


def _is_run(own: str) -> bool:
    """Say whether it is a file that is run as a program, as in ``python -m torch.distributed.run``.

    All modules here are packages, for the sake of placeholders below them; of a package Python runs
    the module `__main__`.
    """
    parent = own.removesuffix(".__main__")
    return parent != own and _exists(parent) and _run_spec(own).submodule_search_locations is None


def _run_spec(own: str) -> ModuleSpec:
    spec = find_spec(own.removesuffix(".__main__"))
    assert spec is not None
    return spec


def code_of(name: str) -> CodeType | None:
    """The code of a module that is run as a program, under Flambeau's name."""
    own = own_name(name).removesuffix(".__main__")
    if not _exists(own):
        return None
    lines = f"import runpy\nrunpy.run_module({own!r}, run_name='__main__', alter_sys=True)\n"
    return compile(lines, f"<{name}>", "exec")


def load(spec: ModuleSpec) -> ModuleType:
    """Flambeau's module of that name, else a placeholder."""
    if "torch" not in sys.modules:      # it is imported now, or a package beside it before it
        programs.prepare()
    name = own_name(spec.name)
    if spec.name == "torch":
        module: ModuleType = flambeau
    elif _exists(name):
        module = rooms.import_module(name)
    elif (home := stands.home_of(spec.name.removeprefix("torch."))) is not None:
        module = rooms.import_module(home)
        _extend(module, spec.name.removeprefix("torch."))
    else:
        module = placeholders.PlaceholderModule(spec.name)
        module.__doc__ = f"Stands for {spec.name}, which Flambeau has not."
        return module
    _own_specs[spec.name] = module.__spec__
    adopt()
    return module


def restore(module: ModuleType) -> None:
    """Undo what importlib writes to a module before it is executed."""
    spec = module.__spec__
    if spec is not None and spec.name in _own_specs:
        module.__spec__ = _own_specs.pop(spec.name)
        adopt()


def adopt() -> None:
    """Give each module of Flambeau that is loaded its second name, and PyTorch's other names."""
    for name, module in list(sys.modules.items()):
        below = name.removeprefix("flambeau").removeprefix(".")
        if name != "flambeau" and not name.startswith(rooms.PREFIX):
            continue
        if below and not names.has_module(below):
            continue
        if isinstance(module, ModuleType) and f"torch.{below}" not in _own_specs:
            sys.modules.setdefault(f"torch.{below}".rstrip("."), module)
            vars(module).setdefault("__path__", [])     # what PyTorch has below it is importable
            _extend(module, below)


class _Keeping:
    """A module in which a function stays where a module of the same name is imported.

    PyTorch has `torch.autograd.gradcheck` twice; importlib writes the module over the function.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, ModuleType) and name not in vars(self):
            found = _own_value(self, name)
            if callable(found) and not isinstance(found, ModuleType):
                vars(self)[name] = found
        if not (isinstance(value, ModuleType) and callable(vars(self).get(name))):
            super().__setattr__(name, value)


def _own_value(package: Any, name: str) -> Any:
    """What a package gives for a name by itself, without placeholders."""
    own = getattr(vars(package).get("__getattr__"), "former", None)
    try:
        return own and own(name)
    except AttributeError:
        return None


def _extend(module: ModuleType, below: str) -> None:
    """Let a module answer for names that PyTorch has in it and Flambeau has not."""
    if hasattr(vars(module).get("__getattr__"), "former"):
        return
    former = getattr(type(module), "__getattr__", None)
    if former is not None:
        former = former.__get__(module)
    else:
        former = vars(module).get("__getattr__")

    def __getattr__(name: str) -> Any:
        found = programs.answer(below, name)
        if found is not None:
            return found
        try:
            if former is None:
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}",
                                     name=name, obj=module)
            found = former(name)
        except AttributeError:
            found = placeholders.look_up(below, name)
            if found is None:
                raise
        if isinstance(found, ModuleType):
            adopt()
        return found

    __getattr__.former = former  # type: ignore[attr-defined]
    vars(module)["__getattr__"] = __getattr__
    if not isinstance(module, _Keeping):
        module.__class__ = type("Keeping", (_Keeping, type(module)), {})
    programs.loaded(module, below)
