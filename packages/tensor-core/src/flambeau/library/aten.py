"""``flambeau.ops.aten``: this library's functions under the names of PyTorch's operators."""
from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import flambeau
from flambeau.core import functional
from flambeau.library.aten_functions import OWN

_FILE = Path(__file__).parent / "aten_names.txt"
_SCHEMAS = Path(__file__).parent / "aten_schemas.txt"


@functools.cache
def _table() -> dict[str, list[str]]:
    rows = (line.partition(":") for line in _FILE.read_text(encoding="ascii").splitlines())
    return {name: rest.split() for name, _, rest in rows}


@functools.cache
def _signatures() -> dict[str, dict[str, str]]:
    """``{"add": {"Tensor": "(Tensor self, ...) -> Tensor"}}``; a star first for composites."""
    found: dict[str, dict[str, str]] = {}
    for line in _SCHEMAS.read_text(encoding="ascii").splitlines():
        head, sign, rest = line.partition("(")
        name, _, form = head.lstrip("*").partition(".")
        found.setdefault(name, {})[form or "default"] = "*" * head.startswith("*") + sign + rest
    return found


@functools.cache
def schema(name: str, form: str) -> Any:
    """The signature of a form of an operator; None for what has no function here."""
    text = _signatures().get(name, {}).get(form)
    if text is None:
        return None
    from flambeau.library.schemas import parse_schema

    dot = "" if form == "default" else "." + form
    return parse_schema(f"aten::{name}{dot}{text.lstrip('*')}")


def forms(name: str) -> list[str]:
    """The forms of an operator whose signatures are known."""
    return list(_signatures().get(name, ()))


def is_composite(name: str) -> bool:
    """Whether PyTorch takes all forms of an operator apart before they reach a kernel."""
    texts = [text for form, text in _signatures().get(name, {}).items() if "out" not in form]
    return all(text.startswith("*") for text in texts)


def overloads(name: str) -> list[str]:
    """Names of an operator's forms."""
    return _table().get(name, ["default"])


def knows(name: str) -> bool:
    """Whether PyTorch has an operator of this name, or there is a function for it here."""
    return name in _table() or _found(name) is not None


@functools.cache
def is_listed(name: str) -> bool:
    """Whether PyTorch has an operator of this name, and there is a function for it."""
    return name in _table() and _found(name) is not None


def function(name: str) -> Callable[..., Any]:
    """The function, method or kernel for an operator of PyTorch's.

    Raises:
        NotImplementedError: there is none.
    """
    found = _found(name)
    if found is None:
        raise NotImplementedError(f"aten::{name} has no counterpart here; call a public function "
                                  "of flambeau instead")
    return found


def named_alike(func: Any) -> Callable[..., Any]:
    """The function that has the name of another library's, which was given tensors of this one.

    Raises:
        TypeError: there is none.
    """
    name = getattr(func, "__name__", "")
    home: Any = flambeau
    for part in (getattr(func, "__module__", None) or "").split(".")[1:]:
        home = getattr(home, part, None)
    found: Any = getattr(home, name, None) if home is not flambeau else None
    found = found if found is not None or not name else _found(name)
    if found is None:
        raise TypeError(
            f"{name or func}() is another library's function, and was given tensors of flambeau, "
            "which has none of that name; convert them, for example with from_dlpack()")
    return found


def _found(name: str) -> Callable[..., Any] | None:
    if name in OWN:
        return OWN[name]
    space, _, rest = name.partition("_")
    homes: list[tuple[Any, str]] = [(flambeau, name), (flambeau.Tensor, name), (functional, name)]
    if rest and space in ("linalg", "fft", "special"):
        homes.insert(0, (getattr(flambeau, space), rest))
    for home, short in homes:
        found: Callable[..., Any] | None = getattr(home, short, None)
        if callable(found) and not isinstance(found, type):
            return found
    return None
