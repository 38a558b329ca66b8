"""Compiled modules, which are modules: they have parameters, modes and a ``state_dict``."""

from __future__ import annotations

from functools import cache
from typing import Any

from flambeau.jit.compiling import Compiled, compile


def base_of(model: object) -> type | None:
    """The class ``flambeau.nn.Module`` where an object is one; this package does not import it."""
    for cls in type(model).__mro__:
        if cls.__name__ == "Module" and cls.__module__.startswith("flambeau.nn."):
            return cls
    return None


@cache
def compiled_class(base: type) -> type:
    """A module around another one, in whose calls kernels wait."""

    class CompiledModule(base):
        """What ``compile`` gives for a module, which is its child ``_orig_mod``.

        Args:
            module: the module.
        """

        def __init__(self, module: Any) -> None:
            super().__init__()
            self._orig_mod = module
            self.training = module.training
            self.__dict__["_compiled"] = Compiled(module)

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            """Call the module."""
            return self._compiled(*args, **kwargs)

        def explain(self) -> str:
            """See ``Compiled.explain``."""
            return str(self._compiled.explain())

        def __getattr__(self, name: str) -> Any:
            if "_orig_mod" not in self.__dict__:
                raise AttributeError(name)
            return getattr(self._orig_mod, name)

        def __reduce__(self) -> tuple[Any, ...]:
            return compile, (self._orig_mod,)

    return CompiledModule
