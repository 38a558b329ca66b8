"""Functions that run as they would uncompiled, inside compiled ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar, overload

from flambeau.core._core import defer_calls
from flambeau.jit.choices import BACKENDS, check_backend
from flambeau.jit.compiling import Eager, EagerCall, wrap

_F = TypeVar("_F", bound=Callable[..., Any])

#: Whether kernels wait, by stance. There is nothing that a call would have to be compiled anew for.
STANCES = {"default": True, "force_eager": False, "eager_on_recompile": True,
           "fail_on_recompile": True, "eager_then_compile": True, "aot_eager_then_compile": True}


@overload
def disable(fn: None = None, recursive: bool = ..., *,
            reason: str | None = ...) -> Callable[[_F], _F]: ...
@overload
def disable(fn: _F, recursive: bool = ..., *, reason: str | None = ...) -> _F: ...
def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Run a function as if no compiled function had called it: its kernels do not wait.

    Args:
        fn: a function, module or class; without it, a decorator.
        recursive: whether compiled functions that it calls run uncompiled, too.
        reason: for readers.

    Returns:
        A callable of the same kind; for a module a module.

    Example:
        >>> import flambeau
        >>> from flambeau import compiler
        >>> @compiler.disable
        ... def double(x):
        ...     return (2 * x, compiler.is_compiling())
        >>> flambeau.compile(double)(flambeau.ones(1))
        (tensor([2.]), False)
    """
    if fn is None:
        return partial(disable, recursive=recursive, reason=reason)
    return wrap(fn, Eager if recursive else EagerHere)


class EagerHere(Eager):
    """The same, but for compiled functions that it calls."""

    def __init__(self, fn: Any) -> None:
        super().__init__(fn)
        EagerCall.__init__(self, fn, False)


class set_stance:
    """Choose how compiled functions run: as a call, in a ``with`` block or as a decorator.

    Args:
        stance: ``"force_eager"`` has no kernel wait. The others (``"default"``,
            ``"fail_on_recompile"``, ``"eager_on_recompile"``, ``"eager_then_compile"``,
            ``"aot_eager_then_compile"``) are one here: no call is compiled anew.
        skip_guard_eval_unsafe: accepted; nothing is guarded.
        force_backend: ``"eager"`` is the same as ``"force_eager"``.

    Raises:
        ValueError: there is no such stance.

    Example:
        >>> import flambeau
        >>> from flambeau import compiler
        >>> asks = flambeau.compile(lambda: compiler.is_compiling())
        >>> with compiler.set_stance("force_eager"):
        ...     asks()
        False
        >>> asks()
        True
    """

    _waits = True

    def __init__(self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False,
                 force_backend: Any = None) -> None:
        if stance not in STANCES:
            raise ValueError(f"compiler.set_stance(): there is no stance {stance!r}; there are "
                             f"{', '.join(map(repr, STANCES))}")
        self.before = set_stance._waits
        self.wanted = STANCES[stance] and (force_backend is None
                                           or BACKENDS[check_backend(force_backend)])
        self._set(self.wanted)

    @staticmethod
    def _set(waits: bool) -> None:
        set_stance._waits = waits
        defer_calls(waits)

    def __enter__(self) -> set_stance:
        self._set(self.wanted)
        return self

    def __exit__(self, *exc: object) -> None:
        self._set(self.before)

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a function, in whose calls alone the stance holds."""
        self._set(self.before)

        @wraps(fn)
        def run(*args: Any, **kwargs: Any) -> Any:
            before = set_stance._waits
            self._set(self.wanted)
            try:
                return fn(*args, **kwargs)
            finally:
                self._set(before)
        return run
