"""Settings of determinism and warnings; those without effect are in ``table.py``."""

from flambeau.core import _core

_state = {"deterministic": False, "warn_only": False, "warn_always": False, "fill": True}


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Ask for the same bits on every run; operators of the CPU give them in any case.

    Memory that ``empty``, ``empty_like``, ``empty_strided`` and ``resize_`` hand out is filled
    with NaN, the largest integer or True, so that a program which reads it does the same on every
    run; ``flambeau.utils.deterministic.fill_uninitialized_memory = False`` turns that off.

    Args:
        mode: Whether they are asked for.
        warn_only: Kept for ``is_deterministic_algorithms_warn_only_enabled``.
    """
    for name, value in (("mode", mode), ("warn_only", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(f"use_deterministic_algorithms(): argument '{name}' must be bool, not "
                            f"{type(value).__name__}")
    _state.update(deterministic=mode, warn_only=warn_only)
    _core.set_fill_uninitialized(mode and _state["fill"])


def fill_uninitialized_memory(fill=None):
    """Whether deterministic algorithms fill memory that ``empty`` and the like hand out.

    Args:
        fill: What it should be from now on; as it is when left out.
    """
    if fill is not None:
        _state["fill"] = bool(fill)
        _core.set_fill_uninitialized(_state["deterministic"] and _state["fill"])
    return _state["fill"]


def are_deterministic_algorithms_enabled():
    """Whether ``use_deterministic_algorithms`` was asked for."""
    return _state["deterministic"]


def is_deterministic_algorithms_warn_only_enabled():
    """Whether ``use_deterministic_algorithms`` was asked to warn only."""
    return _state["warn_only"]


def get_deterministic_debug_mode():
    """0, 1 or 2: nothing asked, warnings asked for, or errors asked for."""
    return 0 if not _state["deterministic"] else 1 if _state["warn_only"] else 2


def set_deterministic_debug_mode(debug_mode):
    """``use_deterministic_algorithms`` by number or name.

    Args:
        debug_mode: 0 or ``"default"``, 1 or ``"warn"``, 2 or ``"error"``.
    """
    names = ("default", "warn", "error")
    if debug_mode not in (0, 1, 2, *names):
        raise RuntimeError(f"set_deterministic_debug_mode(): debug_mode is 0, 1, 2 or one of "
                           f"{names}, got {debug_mode!r}")
    mode = names.index(debug_mode) if isinstance(debug_mode, str) else debug_mode
    use_deterministic_algorithms(bool(mode > 0), warn_only=mode == 1)


def set_warn_always(b, /):
    """Ask for warnings of this library each time; Python's filters decide on those they are given.

    Args:
        b: Whether it is asked for.
    """
    _state["warn_always"] = bool(b)


def is_warn_always_enabled():
    """What ``set_warn_always`` was told."""
    return _state["warn_always"]


FUNCTIONS = {f.__name__: f for f in (  # type: dict[str, object]
    use_deterministic_algorithms, are_deterministic_algorithms_enabled,
    is_deterministic_algorithms_warn_only_enabled, get_deterministic_debug_mode,
    set_deterministic_debug_mode, set_warn_always, is_warn_always_enabled)}
