"""Switches of PyTorch's that choose between exact and fast, or same and fast: here both hold."""

_PRECISIONS = ("highest", "high", "medium")
_state = {"precision": "highest", "deterministic": False, "warn_only": False, "interop": 1}


def set_float32_matmul_precision(precision):
    """Say how exact products of float32 must be; they are always computed in float32.

    Args:
        precision: ``"highest"``, ``"high"`` or ``"medium"``.
    """
    if precision not in _PRECISIONS:
        raise RuntimeError(f"set_float32_matmul_precision(): precision must be one of "
                           f"{_PRECISIONS}, got {precision!r}")
    _state["precision"] = precision


def get_float32_matmul_precision():
    """What ``set_float32_matmul_precision`` was told: ``"highest"`` at first."""
    return _state["precision"]


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Ask for the same bits on every run; operators of the CPU give them in any case.

    Args:
        mode: Whether they are asked for.
        warn_only: Kept for ``is_deterministic_algorithms_warn_only_enabled``.
    """
    _state.update(deterministic=bool(mode), warn_only=bool(warn_only))


def are_deterministic_algorithms_enabled():
    """Whether ``use_deterministic_algorithms`` was asked for."""
    return _state["deterministic"]


def is_deterministic_algorithms_warn_only_enabled():
    """Whether ``use_deterministic_algorithms`` was asked to warn only."""
    return _state["warn_only"]


def set_num_interop_threads(count):
    """Say how many operators may run at once; they run one after the other in each thread.

    Args:
        count: A positive number.
    """
    if not isinstance(count, int) or count < 1:
        raise RuntimeError(f"set_num_interop_threads(): expected a positive int, got {count!r}")
    _state["interop"] = count


def get_num_interop_threads():
    """What ``set_num_interop_threads`` was told."""
    return _state["interop"]


FUNCTIONS = {f.__name__: f for f in (  # type: dict[str, object]
    set_float32_matmul_precision, get_float32_matmul_precision, use_deterministic_algorithms,
    are_deterministic_algorithms_enabled, is_deterministic_algorithms_warn_only_enabled,
    set_num_interop_threads, get_num_interop_threads)}
