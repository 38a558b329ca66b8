"""Random numbers of GPUs: each has a generator, which follows ``flambeau.manual_seed``."""
from __future__ import annotations

from typing import Any

import flambeau
import flambeau.cuda.runtime as runtime

__all__ = ["get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed",
           "manual_seed_all", "seed", "seed_all", "set_rng_state", "set_rng_state_all"]


def _available() -> bool:
    from flambeau.cuda import is_available

    return is_available()


def generator(device: Any = None) -> Any:
    """The generator that a GPU's random numbers are drawn from where none is given."""
    found, index = runtime.place(_named(device))
    return found.generators.of(index)


def _named(device: Any) -> Any:
    """A device; the name of the type alone stands for the current one."""
    return None if device in ("cuda", runtime.device_type()) else device


def manual_seed(seed: int) -> None:
    """Seed the random numbers of the current GPU. Does nothing where there is none.

    Args:
        seed: As for ``flambeau.manual_seed``.

    Example:
        >>> import flambeau.cuda
        >>> flambeau.cuda.manual_seed(0)
    """
    if _available():
        generator().manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the random numbers of all GPUs. Does nothing where there is none."""
    for index in range(runtime.backend().device_count() if _available() else 0):
        generator(index).manual_seed(seed)


def seed() -> None:
    """Seed the current GPU with a number that differs each time."""
    if _available():
        generator().seed()


def seed_all() -> None:
    """Seed all GPUs with one number that differs each time."""
    import secrets

    manual_seed_all(secrets.randbits(63))


def initial_seed() -> int:
    """What the current GPU's generator was seeded with."""
    return int((generator() if _available() else flambeau).initial_seed())


def get_rng_state(device: Any = "cuda") -> Any:
    """State of a GPU's generator, as a tensor of the host."""
    return generator(device).get_state()


def get_rng_state_all() -> list[Any]:
    """The states of all GPUs' generators; none where there is no GPU."""
    count = runtime.backend().device_count() if _available() else 0
    return [get_rng_state(index) for index in range(count)]


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Put the state of a GPU's generator back."""
    generator(device).set_state(new_state)


def set_rng_state_all(new_states: Any) -> None:
    """Put the states of all GPUs' generators back."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
