"""Random number streams: seeds and states of the default generator."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flambeau.core import (
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)


@contextmanager
def fork_rng(devices: object = None, enabled: bool = True) -> Iterator[None]:
    """Let the body draw random numbers without moving the default generator on.

    Args:
        devices: Accepted for compatibility.
        enabled: Whether to restore the state at all.

    Example:
        >>> import flambeau
        >>> _ = flambeau.manual_seed(0)
        >>> with flambeau.random.fork_rng():
        ...     _ = flambeau.rand(3)
        >>> int(flambeau.get_rng_state()[1])
        0
    """
    state = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)


__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed",
           "set_rng_state"]
