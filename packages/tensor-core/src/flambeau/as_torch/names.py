"""The table of what PyTorch has and Flambeau has not; `tools/pytorch_names.py` makes it."""
from __future__ import annotations

import functools
import os

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pytorch_names.txt")
ANY = "*"
#: Modules of `functorch`, a package beside `torch` that its wheel installs: any name is in them.
BESIDE = ("functorch._src", "functorch.compile", "functorch.dim", "functorch.einops",
          "functorch.experimental")


@functools.cache
def _lines() -> dict[str, str]:
    with open(FILE, encoding="ascii") as file:
        pairs = (line.rstrip("\n").partition(":") for line in file)
        return {name: rest for name, _, rest in pairs}


@functools.cache
def _private() -> frozenset[str]:
    return frozenset(_lines()["private"].split())


@functools.cache
def _names(module: str) -> frozenset[str]:
    return frozenset(_lines().get(module, "").split())


def _is_private(module: str) -> bool:
    """Say whether PyTorch has a private module of this name, or above it."""
    if module.startswith(BESIDE):
        return True
    if "_" not in module:
        return False
    words = module.split(".")
    first = next((i for i, word in enumerate(words) if word.startswith("_")), None)
    return first is not None and ".".join(words[:first + 1]) in _private()


def shown(name: str) -> str:
    """A name as programs write it: with ``torch`` in front, unless it is of ``functorch``."""
    return name if name.startswith("functorch.") else f"torch.{name}".rstrip(".")


@functools.cache
def has_module(module: str) -> bool:
    """Say whether PyTorch has ``torch.module``."""
    return module in _lines() or _is_private(module)


def is_listed(module: str) -> bool:
    """Say whether the table has a module, rather than a private package above it."""
    return module in _lines() or module in _private()


def has_name(module: str, name: str) -> bool:
    """Say whether PyTorch has a name in a module, as far as Flambeau lacks it."""
    names = _names(module)
    return name in names or ANY in names or _is_private(module)


def is_inherited(module: str, name: str) -> bool:
    """Say whether a name is the same object as in a package above the module."""
    return f"^{name}" in _names(module)


@functools.cache
def _near(package: str) -> frozenset[str]:
    """All names that the table has in a package and below it."""
    lines = (line for module, line in _lines().items() if module.startswith(f"{package}."))
    return frozenset(name.lstrip("^") for line in lines for name in line.split())


def is_near(module: str, name: str) -> bool:
    """Say whether a module of the same package has a name, from which this one may import it."""
    return name in _near(module.partition(".")[0])
