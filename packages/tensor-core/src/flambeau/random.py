"""Random number streams: seeds and states of the default generator."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flambeau.core import (
    Generator,
    default_generator,
    exchange_own_generator,
    get_algorithm,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_algorithm,
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


@contextmanager
def use_generator(generator: Generator) -> Iterator[None]:
    """Let this thread draw from ``generator`` where no generator is given.

    The body leaves the default generator alone, and so do other threads the given one.

    Args:
        generator: Where random numbers come from in the body; ``manual_seed`` and
            ``get_rng_state`` mean it too.

    Example:
        >>> import flambeau
        >>> own = flambeau.Generator().manual_seed(7)
        >>> with flambeau.random.use_generator(own):
        ...     seed = flambeau.initial_seed()
        >>> seed
        7
    """
    former = exchange_own_generator(generator)
    try:
        yield
    finally:
        exchange_own_generator(former)


__all__ = ["default_generator", "fork_rng", "get_algorithm", "get_rng_state", "initial_seed",
           "manual_seed", "seed", "set_algorithm", "set_rng_state", "use_generator"]
