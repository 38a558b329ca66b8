"""Random number streams: seeds and states of the default generator."""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
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
def fork_rng(devices: Iterable[object] | None = None, enabled: bool = True,
             device_type: str = "cuda") -> Iterator[None]:
    """Let the body draw random numbers without moving the default generators on.

    Args:
        devices: GPUs whose generators are put back, too; all when left out.
        enabled: Whether to restore the states at all.
        device_type: Accepted for compatibility.

    Example:
        >>> import flambeau
        >>> _ = flambeau.manual_seed(0)
        >>> with flambeau.random.fork_rng():
        ...     _ = flambeau.rand(3)
        >>> int(flambeau.get_rng_state()[1])
        0
    """
    if not enabled:
        yield
        return
    state, restore = get_rng_state(), _restoring(devices)
    try:
        yield
    finally:
        set_rng_state(state)
        restore()


def _restoring(devices: Iterable[object] | None) -> Callable[[], None]:
    """What puts the generators of GPUs back, if any was used."""
    cuda = sys.modules.get("flambeau.cuda")
    if cuda is None or not cuda.is_initialized():
        return lambda: None
    chosen = list(range(cuda.device_count()) if devices is None else devices)
    states = [cuda.get_rng_state(device) for device in chosen]

    def restore() -> None:
        for device, state in zip(chosen, states, strict=True):
            cuda.set_rng_state(state, device)

    return restore


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
