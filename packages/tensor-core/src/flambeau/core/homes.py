"""Modules in which classes and functions are defined, whatever they say of themselves.

Under the alias `torch` they say that they are of PyTorch's modules, because programs ask. What this
library asks about its own is answered here, in the same way with and without it.
"""
from __future__ import annotations

from flambeau.core import _core

TYPE_CHECKING = False  # typing would cost milliseconds at every start
if TYPE_CHECKING:
    from typing import Any

#: Classes and functions that say something else -> the module that defines them.
defined: dict[Any, str] = {}


def own_module(thing: Any) -> str:
    """The module that defines a class or a function, or the class of any other object.

    Args:
        thing: Anything.

    Returns:
        The module's name; empty where there is none.

    Example:
        >>> import flambeau
        >>> from flambeau.core.homes import own_module
        >>> own_module(flambeau.Size)
        'flambeau.core.size'
    """
    shown = getattr(thing, "__module__", None)
    if not isinstance(shown, str):
        shown = type(thing).__module__
    if shown.partition(".")[0] != "torch" or _core.shown_package[0] != "torch":
        return shown
    for each in (thing, type(thing)):
        if each.__hash__ is not None and each in defined:
            return defined[each]
    return "flambeau" + shown.removeprefix("torch")     # defined after its module was named


def is_own(names: dict[str, Any]) -> bool:
    """Whether these are the global names of one of this library's modules.

    Args:
        names: What a module, or ``function.__globals__``, holds.

    Example:
        >>> from flambeau.core import homes
        >>> homes.is_own(vars(homes))
        True
    """
    spec = names.get("__spec__")        # below the library its name stays
    name = str(spec.name if spec is not None else names.get("__name__", ""))
    return name.partition(".")[0] == "flambeau" or name == _core.shown_package[0]
