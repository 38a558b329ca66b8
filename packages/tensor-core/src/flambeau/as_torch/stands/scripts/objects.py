"""`torch.jit.script`, and what it gives: functions and modules that run as Python."""
from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, NamedTuple

from flambeau import rooms
from flambeau.as_torch.stands.scripts import sources

_objects = rooms.import_module(f"{rooms.PREFIX}jit.scripted.objects")
_nn = rooms.import_module(f"{rooms.PREFIX}nn")
ExtraFiles = Mapping[str, str | bytes]


class Saved:
    """What scripted functions and modules have in common: they are written to files."""

    @_objects.offered
    def save(self, f: str | os.PathLike[str] | BinaryIO,
             _extra_files: ExtraFiles | None = None) -> None:
        """Write to a file: see `archives.save`.

        Args:
            f: Where.
            _extra_files: Name -> content of what is written along.
        """
        from flambeau.as_torch.stands.scripts.archives import save

        save(self, f, _extra_files)

    @_objects.offered
    def save_to_buffer(self, _extra_files: ExtraFiles | None = None) -> bytes:
        """What `save` would write.

        Args:
            _extra_files: Name -> content of what is written along.
        """
        buffer = io.BytesIO()
        Saved.save.give(self)(buffer, _extra_files)
        return buffer.getvalue()

    @property
    def inlined_graph(self) -> Any:
        """The graph, which has no calls of other graphs in it."""
        return _objects.program_of(self).graph


class ScriptModule(Saved, _objects.ScriptModule, _nn.Module):  # type: ignore[name-defined]
    """A module that was scripted, and the base class of those that are written as scripts."""

    def define(self, src: str) -> None:
        """Give the module a method that a string has the source of.

        Args:
            src: A function, whose first argument is the module.
        """
        for name, function in sources.functions(src, sources.caller_names(1)).items():
            object.__setattr__(self, name, function.__get__(self))


RecursiveScriptModule = ScriptModule


class ScriptFunction(Saved, _objects.ScriptFunction):  # type: ignore[name-defined]
    """A function that was scripted."""

    @property
    def name(self) -> str:
        """The function's name."""
        return str(self._fn.__name__)

    @property
    def qualified_name(self) -> str:
        """The name that TorchScript would have for it."""
        return f"__torch__.{self._fn.__qualname__}"



class Attribute(NamedTuple):
    """A value with the type that TorchScript would take it for; a scripted module has the value."""

    value: Any
    type: Any


def script(obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None,
           example_inputs: Any = None) -> Any:
    """A function or module under TorchScript's name, which runs as Python does.

    Args:
        obj: A function or a module; a class, a list or a dictionary is given back as it is.
        optimize: Accepted for compatibility, as are the others.
        _frames_up: Where TorchScript looks for names.
        _rcb: The same.
        example_inputs: What types would be taken from.
    """
    made = _objects.scripted(obj, ScriptModule, ScriptFunction)
    if made is None:
        return obj
    if isinstance(made, ScriptModule):
        unwrap_attributes(made)
    return made


def unwrap_attributes(module: Any) -> None:
    """Replace each `Attribute` in a module and its submodules by its value."""
    for part in module.modules():
        for name, value in list(vars(part).items()):
            if isinstance(value, Attribute):
                setattr(part, name, value.value)


def script_method(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The method as it is.

    Args:
        fn: A method of a `ScriptModule`.
    """
    return fn


def set_module(obj: Any, mod: str) -> None:
    """Set the module that an object says it is of.

    Args:
        obj: A class or a function.
        mod: Its name.
    """
    obj.__module__ = mod
