"""What ``compile`` may be told: each choice means something here, is refused, or warns once."""

from __future__ import annotations

import warnings
from typing import Any

#: Whether kernels wait, by backend. PyTorch's names, which programs pass.
BACKENDS = {"inductor": True, "eager": False, "aot_eager": False}
MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
BUDGET = "activation_memory_budget"
_TUNES = ("max-autotune", "max-autotune-no-cudagraphs")
_default_backend = "inductor"
_told: set[str] = set()


def check_choices(backend: Any, mode: str | None, options: dict[str, Any] | None) -> str:
    """The name of the backend.

    Raises:
        RuntimeError: both a mode and options are given.
        ValueError: there is no such mode or backend, or a budget is not between 0 and 1.
    """
    if mode is not None and options:
        raise RuntimeError("jit.compile(): a mode stands for a set of options, so only one of the "
                           "two may be given: leave out mode or options")
    if mode is not None and mode not in MODES:
        raise ValueError(_unknown("mode", mode, MODES))
    if mode in _TUNES:
        _tell_once(f"mode {mode!r}", "code is not tuned by trying variants")
    for name in options or ():
        if name != BUDGET:
            _tell_once(f"option {name!r}", "it is one of PyTorch's code generator")
    return _default_backend if backend is None else check_backend(backend)


def check_budget(options: dict[str, Any] | None) -> float | None:
    """The part of what is saved for backward that may be kept; ``None`` for all."""
    part = (options or {}).get(BUDGET)
    if part is None:
        return None
    if isinstance(part, bool) or not isinstance(part, int | float) or not 0 <= part <= 1:
        raise ValueError(f"jit.compile(): option {BUDGET!r} is the part of what calls save for "
                         f"backward that may be kept, a number from 0 to 1, not {part!r}")
    return float(part)


def check_backend(backend: Any) -> str:
    """A backend that exists."""
    if not isinstance(backend, str) or backend not in BACKENDS:
        raise ValueError(_unknown("backend", backend, BACKENDS))
    return backend


def default_backend() -> str:
    """The backend of those who name none."""
    return _default_backend


def set_default_backend(backend: str | None) -> None:
    """Choose the backend of those who name none; ``None`` is the first choice again."""
    global _default_backend
    _default_backend = "inductor" if backend is None else check_backend(backend)


def _unknown(what: str, value: object, known: Any) -> str:
    return (f"jit.compile(): there is no {what} {value!r}; there are "
            f"{', '.join(map(repr, known))}")


def _tell_once(what: str, why: str) -> None:
    if what not in _told:
        _told.add(what)
        warnings.warn(f"jit.compile(): {what} has no effect: {why}", stacklevel=4)
