"""Compiled modules, which are modules: they have parameters, modes and a ``state_dict``."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from flambeau.core.homes import own_module


def base_of(model: object) -> type | None:
    """The class ``flambeau.nn.Module`` where an object is one; this package does not import it."""
    for cls in type(model).__mro__:
        if cls.__name__ == "Module" and own_module(cls).startswith("flambeau.nn."):
            return cls
    return None


def _rebuild(module: Any, make: Callable[[Any], Any]) -> Any:
    base = base_of(module)
    assert base is not None
    return wrapping_class(base)(module, make)


@cache
def wrapping_class(base: type) -> type:
    """A module around another one, which it calls in its own way."""
    own = {*vars(base()), "_orig_mod", "_compiled", "_make"}

    class OptimizedModule(base):
        """What ``compile`` gives for a module, which is its child ``_orig_mod``.

        What is set on it is set on the module, but for hooks, which are run around the compiled
        call.

        Args:
            module: the module.
            make: a function to one that is compiled.
        """

        _members_at_once = True     # although there is a __getattr__: nn/modules/module/_asking.py
        _wraps_module = True        # hooks of all modules run around that one: _calls.py

        def __init__(self, module: Any, make: Callable[[Any], Any]) -> None:
            self.__dict__.update(_compiled=make(module), _make=make)
            super().__init__()
            super().__setattr__("_orig_mod", module)

        @property
        def training(self) -> bool:
            """That of the module."""
            return bool(self._orig_mod.training)

        @training.setter
        def training(self, mode: bool) -> None:
            if "_orig_mod" in vars(self) or "_orig_mod" in vars(self).get("_modules", ()):
                self._orig_mod.training = mode

        @property
        def dynamo_ctx(self) -> Callable[[Any], Any]:
            """What compiles another function in the same way, as Lightning does with its steps."""
            make: Callable[[Any], Any] = self._make
            return make

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            """Call the module."""
            return self._compiled(*args, **kwargs)

        def explain(self, *args: Any, **kwargs: Any) -> Any:
            """See ``Compiled.explain``."""
            return self._compiled.explain(*args, **kwargs)

        def __getattr__(self, name: str) -> Any:
            if name == "_orig_mod":
                raise AttributeError(name)
            return getattr(self._orig_mod, name)

        def __setattr__(self, name: str, value: Any) -> None:
            if name in own or hasattr(type(self), name):
                super().__setattr__(name, value)
            else:
                setattr(self._orig_mod, name, value)

        def __delattr__(self, name: str) -> None:
            if name in own or hasattr(type(self), name):
                super().__delattr__(name)
            else:
                delattr(self._orig_mod, name)

        def __dir__(self) -> list[str]:
            return sorted({*super().__dir__(), *dir(self._orig_mod)})

        def __len__(self) -> int:
            return len(self._orig_mod)

        def __getitem__(self, index: Any) -> Any:
            return self._orig_mod[index]

        def __iter__(self) -> Any:
            return iter(self._orig_mod)

        def __contains__(self, item: object) -> bool:
            return item in self._orig_mod

        def __bool__(self) -> bool:
            return True

        def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
            return _rebuild, (self._orig_mod, self._make)

    return OptimizedModule
