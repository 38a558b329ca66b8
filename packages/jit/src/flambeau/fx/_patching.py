"""What is replaced while a program is recorded, and put back behind it."""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Callable, Iterable
from typing import Any

from flambeau.core import Operator
from flambeau.core.homes import own_module
from flambeau.fx.proxy import Proxy

#: Modules of this library whose functions in Python are recorded when proxies go into them.
_SPACES = ("flambeau", "flambeau.nn.functional", "flambeau.linalg", "flambeau.fft",
           "flambeau.special", "flambeau.signal.windows")
#: What stays a question even there.
_QUESTIONS = ("is_", "get_", "set_", "are_", "use_", "manual_", "seed", "initial_", "compile",
              "load", "save", "typename", "vmap", "no_grad", "enable_grad", "inference_mode",
              "clear_", "can_cast", "promote_types", "result_type", "from_file")
_MISSING = object()


class Patcher:
    """Replaces attributes within a ``with`` block."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self.thread = threading.get_ident()
        self._seen: set[int] = set()

    def __enter__(self) -> Patcher:
        return self

    def __exit__(self, *error: object) -> None:
        while self._undo:
            self._undo.pop()()

    def here(self) -> bool:
        """Whether this is the thread that records."""
        return threading.get_ident() == self.thread

    def item(self, names: dict[str, Any], name: str, value: Any) -> None:
        """Replace an item of a dict, such as a module's names."""
        former = names.get(name, _MISSING)

        def undo() -> None:
            if former is _MISSING:
                names.pop(name, None)
            else:
                names[name] = former

        names[name] = value
        self._undo.append(undo)

    def attribute(self, owner: type, name: str, value: Any) -> None:
        """Replace an attribute of a class."""
        former = vars(owner).get(name, _MISSING)

        def undo() -> None:
            if former is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, former)

        setattr(owner, name, value)
        self._undo.append(undo)

    def first_visit(self, names: dict[str, Any]) -> bool:
        """Whether the names of a module have not been looked through yet."""
        if id(names) in self._seen:
            return False
        self._seen.add(id(names))
        return True


def find_proxy(*trees: Any) -> Proxy | None:
    """A proxy among arguments, or None."""
    for tree in trees:
        if isinstance(tree, Proxy):
            return tree
        if isinstance(tree, list | tuple):
            found = find_proxy(*tree)
        elif isinstance(tree, dict):
            found = find_proxy(*tree.values())
        elif isinstance(tree, slice):
            found = find_proxy(tree.start, tree.stop, tree.step)
        else:
            continue
        if found is not None:
            return found
    return None


def recorder(patcher: Patcher, function: Any, wrapped: bool) -> Any:
    """A function that is recorded when proxies go into it, and called when none do."""
    def record(*args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy(args, kwargs) if patcher.here() else None
        if proxy is None:
            return function(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        if wrapped:
            made.node.meta["is_wrapped"] = True
        return made

    record.__name__ = getattr(function, "__name__", "record")
    record.__wrapped__ = function  # type: ignore[attr-defined]
    return record


def replace_functions(patcher: Patcher, names: dict[str, Any], functions: dict[int, Any]) -> None:
    """Put recorders for functions into the names of a module, where they are."""
    if not patcher.first_visit(names):
        return
    for name, value in list(names.items()):
        if not name.startswith("_") and callable(value) and id(value) in functions:
            patcher.item(names, name, recorder(patcher, value, not is_own(value)))


def is_own(function: Any) -> bool:
    """Whether a function is one of this library."""
    return own_module(function).startswith("flambeau")


def functions_of(modules: Iterable[Any]) -> dict[int, Any]:
    """The functions of modules, by id."""
    return {id(value): value for module in modules for name, value in list(vars(module).items())
            if not name.startswith("_") and callable(value)}


def library_functions() -> dict[int, Any]:
    """This library's functions that are no operators, by id."""
    return {id(value): value for module in library_modules()
            for name, value in list(vars(module).items())
            if not name.startswith(("_", *_QUESTIONS)) and callable(value)
            and not isinstance(value, type | Operator)
            and not isinstance(value, types.BuiltinFunctionType)}


def library_modules() -> list[Any]:
    """The modules that `library_functions` are in."""
    return [sys.modules[name] for name in _SPACES if name in sys.modules]


def place_of(function: Any) -> str:
    """``from file:line in name`` of a function that is written in Python, else nothing."""
    code = getattr(function, "__code__", None)
    if code is None:
        return ""
    return f" from {code.co_filename}:{code.co_firstlineno} in {code.co_name}"
