"""What stands for a name that PyTorch has and Flambeau has not.

A placeholder may be imported, subclassed and asked about with `isinstance`, as libraries do while
they are imported. Using it raises, and says what to write instead. A module that is being imported
may call one, as a decorator for example, and gets it again.
"""
from __future__ import annotations

import abc
import functools
import sys
from types import FrameType, ModuleType

from flambeau import rooms
from flambeau.as_torch import elsewhere, names, naming, stands

TYPE_CHECKING = False  # typing would cost milliseconds at every start
if TYPE_CHECKING:
    from typing import Any

#: What is asked about parts that are not made, by the last word of the question.
ANSWERS = {"is_available": False, "is_built": False, "is_initialized": False, "device_count": 0,
           "is_compiling": False, "is_in_onnx_export": False, "kineto_available": False,
           "is_traceable_wrapper_subclass": False,
           "_are_functorch_transforms_active": False, "is_tracing": False,
           "_is_tracing": False, "_is_checkpoint_valid": True,
           "has_triton": False, "has_triton_package": False,
           "is_exporting": False, "is_enabled": False, "_is_in_bad_fork": False}

#: How settings of PyTorch's compiler of scripts begin: there is none here that they could change.
COMPILER_SETTINGS = ("_jit_set_", "_jit_override_can_fuse_", "_jit_can_fuse_", "_debug_set_")

#: What marks functions for compilers of PyTorch's, which are not there: they stay what they are.
MARKS = frozenset((
    "_dynamo.allow_in_graph", "_dynamo.assume_constant_result", "_dynamo.disable",
    "_dynamo.disallow_in_graph", "_dynamo.forbid_in_graph", "_dynamo.mark_dynamic",
    "_dynamo.maybe_mark_dynamic", "_dynamo.run", "_dynamo.skip",
    "_dynamo.mark_static", "_dynamo.mark_static_address", "_dynamo.nonstrict_trace",
    "_jit_internal._copy_to_script_wrapper", "_jit_internal._drop", "_jit_internal.export",
    "_jit_internal.ignore", "_jit_internal.unused", "jit._drop", "jit._overload_method",
    "jit._overload"))


#: Modules of which the functions are operators: what Flambeau has elsewhere stands there, too.
OPERATORS = ("", "_VF")
#: Where PyTorch keeps the functions of `nn.functional` that are written in C++.
FUNCTIONS = "_C._nn"


def hint(name: str) -> str:
    """What to write instead of a name, where a table says so."""
    while name:
        if name in rooms.RESERVED:
            return f": {rooms.RESERVED[name]}"
        name = name.rpartition(".")[0]
    return ""


def _error(name: str) -> NotImplementedError:
    return NotImplementedError(
        f"{names.shown(name)} is not part of Flambeau, which this program runs with{hint(name)}")


def _is_imported(frame: FrameType) -> bool:
    """Say whether a frame is of a module that is being imported."""
    return bool(getattr(frame.f_globals.get("__spec__"), "_initializing", False))


class _PlaceholderType(abc.ABCMeta):
    """The type of placeholders, and of what is derived from them, abstract classes included."""

    _stands_for = ""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if _is_imported(sys._getframe(1)):
            return placeholder(cls._stands_for)
        raise _error(cls._stands_for)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return placeholder(f"{cls._stands_for}.{name}")

    def __instancecheck__(cls, instance: object) -> bool:
        return False

    def __subclasscheck__(cls, subclass: type) -> bool:
        return cls in getattr(subclass, "__mro__", ())

    def __repr__(cls) -> str:
        return f"<{names.shown(cls._stands_for)}, which Flambeau has not>"

    def __str__(cls) -> str:
        return names.shown(cls._stands_for)     # what programs parse, as of ``str(torch.float32)``

    def __bool__(cls) -> bool:
        return False

    def __iter__(cls) -> Any:
        raise _error(cls._stands_for)

    def __or__(cls, other: Any) -> Any:
        return cls

    __ror__ = __or__

    def __getitem__(cls, item: object) -> Any:
        """An annotation such as ``SequentialBackend[int]``."""
        return cls

    def __enter__(cls) -> Any:
        raise _error(cls._stands_for)

    def __exit__(cls, *error: object) -> None:
        """Never entered."""


@functools.cache
def placeholder(name: str) -> Any:
    """The placeholder of ``torch.name``; always the same object.

    Args:
        name: A dotted name without ``torch``.
    """
    home, _, last = name.rpartition(".")
    if stand := stands.stand_of(name):
        return getattr(rooms.import_module(stand), last)
    if home == FUNCTIONS and (found := getattr(rooms.enter("nn").functional, last, None)):
        return found
    if name in MARKS:
        return _mark
    if last in ANSWERS:
        return _answer(name, ANSWERS[last])
    if last.startswith(COMPILER_SETTINGS) and home == "_C":
        return _answer(name, False)
    inside = {"__module__": names.shown(home), "_stands_for": name}
    made: type = (type(last, (base,), inside) if (base := _base(last)) is not None
                  else _PlaceholderType(last, (), inside))
    made.__doc__ = f"Stands for {names.shown(name)}, which Flambeau has not{hint(name)}."
    return made


def _base(last: str) -> type[Exception] | None:
    """The base of a class that programs catch or filter by; None where it is none."""
    if last.endswith("Warning"):
        return UserWarning
    return RuntimeError if last.endswith(("Error", "Exception")) else None


def _mark(function: Any = None, *args: Any, **kwargs: Any) -> Any:
    """What is marked, as it is; without it, a decorator."""
    return _mark if function is None or isinstance(function, str) else function


def _answer(name: str, value: object) -> Any:
    def ask(*args: Any, **kwargs: Any) -> Any:
        return value

    ask.__name__ = ask.__qualname__ = name.rpartition(".")[2]
    ask.__doc__ = f"{value!r}: Flambeau has no torch.{name.rpartition('.')[0]}."
    return ask


class PlaceholderModule(ModuleType):
    """A module that PyTorch has and Flambeau has not."""

    __path__: list[str] = []        # whatever is below it may be imported, too

    def __getattr__(self, name: str) -> Any:
        below = self.__name__.removeprefix("torch.").removeprefix("flambeau.")
        found = look_up(below, name)
        if found is None and names.is_near(below, name):
            found = placeholder(f"{below}.{name}")      # imported there from another module
        if found is not None:
            return found
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name,
                             obj=self)

    def __setattr__(self, name: str, value: object) -> None:
        """A module that is imported does not hide a function of its name that is made."""
        stands_here = isinstance(value, ModuleType) and stands.stand_of(
            f"{self.__name__.removeprefix('torch.')}.{name}")
        if not stands_here:
            super().__setattr__(name, value)


def look_up(module: str, name: str) -> Any:
    """What a module of PyTorch's has under a name that Flambeau's has not; None: neither has it.

    Args:
        module: A dotted name without ``torch``, empty for ``torch`` itself.
        name: The name in it.
    """
    if name.startswith("__"):
        return None
    full = f"{module}.{name}".removeprefix(".")
    if stand := stands.stand_of(full):
        return getattr(rooms.import_module(stand), name)
    if (own := naming.owner(module, name)) is not None:
        return getattr(rooms.import_module(own), name)
    if module in OPERATORS and (found := _operator(module, name)) is not None:
        return found
    if names.is_inherited(module, name):
        return _inherited(module, name)
    if (home := elsewhere.public_home(module, name)) is not None:
        return getattr(rooms.import_module(f"{rooms.PREFIX}{home}".rstrip(".")), name)
    if names.is_listed(full):
        return rooms.import_module(f"torch.{full}")
    return placeholder(full) if names.has_name(module, name) else None


def _operator(module: str, name: str) -> Any:
    """An operator: the public function of that name, else one of those that `ops` alone has."""
    if module:
        return getattr(sys.modules["flambeau"], name, None)
    if not names.has_name("", name) or name[0].isupper():
        return None
    return rooms.import_module(f"{rooms.PREFIX}library.aten_functions").OWN.get(name)


def _inherited(module: str, name: str) -> Any:
    """The object of a package above."""
    while module:
        module = module.rpartition(".")[0]
        package = sys.modules.get(f"flambeau.{module}".rstrip("."))
        if package is not None and not isinstance(package, PlaceholderModule):
            if hasattr(package, name):
                return getattr(package, name)
    return None
