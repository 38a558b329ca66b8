"""One run through the data: its random order, its seed, and how to take it up again."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import chain, islice
from typing import Any

import flambeau
from flambeau.core.homes import own_module
from flambeau.random import use_generator

from .sampler import Sampler

_DONE = object()


def draw_seed(generator: Any) -> int:
    """A seed for an epoch, from the loader's generator."""
    return int(flambeau.empty((), dtype=flambeau.int64).random_(generator=generator).item())


def next_seed(generator: Any) -> int:
    """The seed that ``draw_seed`` would give, which stays to be drawn."""
    ahead = flambeau.Generator()
    ahead.set_state((generator or flambeau.default_generator).get_state())
    return draw_seed(ahead)


class Streams:
    """The random streams that a loader's order comes from.

    Args:
        generator: The loader's; ``None`` stands for the default one.
        samplers: The samplers, which may have generators or states of their own.
    """

    def __init__(self, generator: Any, samplers: list[Any]) -> None:
        self._samplers = samplers
        found = [generator, *(getattr(each, "generator", None) for each in samplers)]
        own = [each for each in found if isinstance(each, flambeau.Generator)]
        self._own = list({id(each): each for each in own}.values())
        self._foreign = any(own_module(type(each)) != own_module(Sampler) for each in samplers)

    def state(self) -> dict[str, Any]:
        """Where all streams are now, in lists and numbers."""
        state: dict[str, Any] = {
            "default": flambeau.get_rng_state().tolist(),
            "generators": [each.get_state().tolist() for each in self._own],
            "samplers": [_state_of(each) for each in self._samplers],
        }
        if self._foreign:  # a sampler of the user's may draw from anywhere
            state["python"] = random.getstate()
            if "numpy" in sys.modules:
                state["numpy"] = _numpy_state()
        return state

    def own_states(self) -> list[list[int]]:
        """Where the generators are that the loader does not share with the program."""
        return [each.get_state().tolist() for each in self._own]

    def set_own_states(self, states: list[list[int]]) -> None:
        """Put those generators somewhere else.

        Raises:
            ValueError: There are more or fewer than when the state was taken.
        """
        if len(states) != len(self._own):
            raise ValueError(
                f"the state of the DataLoader has {len(states)} generators, but this loader has "
                f"{len(self._own)}: pass the same generator= arguments as then"
            )
        for each, state in zip(self._own, states, strict=True):
            each.set_state(_tensor_of(state))

    @contextmanager
    def at(self, state: dict[str, Any]) -> Iterator[None]:
        """Let the body draw from where the streams were; put them back afterwards."""
        now = self.own_states()
        python = random.getstate()
        numpy = _numpy_state() if "numpy" in state else None
        start = flambeau.Generator()
        start.set_state(_tensor_of(state["default"]))
        self.set_own_states(state["generators"])
        for each, saved in zip(self._samplers, state["samplers"], strict=True):
            if saved is not None:
                each.load_state_dict(saved)
        if "python" in state:
            version, words, gauss = state["python"]
            random.setstate((version, tuple(words), gauss))
        if numpy is not None:
            _set_numpy_state(state["numpy"])
        try:
            with use_generator(start):
                yield
        finally:
            self.set_own_states(now)
            random.setstate(python)
            if numpy is not None:
                _set_numpy_state(numpy)


def begin(
    orders: Any, generator: Any, streams: Streams, at: dict[str, Any] | None, skip: int
) -> Iterator[Any]:
    """The jobs of an epoch after the first ``skip``; everything random is drawn here and now.

    Args:
        orders: A function that gives the iterator over all jobs.
        generator: The loader's.
        streams: What it draws from.
        at: The streams' state at the epoch's start, to begin it once more; ``None``: now.
        skip: How many jobs are done already.
    """
    with streams.at(at) if at is not None else nullcontext():
        if at is not None and not at.get("kept"):
            draw_seed(generator)  # as when the epoch began for the first time
        jobs = iter(orders())
        for _ in islice(jobs, skip):
            pass
        first = next(jobs, _DONE)  # samplers draw their order when they are asked for the first
    return iter(()) if first is _DONE else chain((first,), jobs)


def _state_of(sampler: Any) -> Any:
    get = getattr(sampler, "state_dict", None)
    return get() if callable(get) and hasattr(sampler, "load_state_dict") else None


def _tensor_of(state: list[int]) -> Any:
    return flambeau.tensor(state, dtype=flambeau.uint64)


def _numpy_state() -> list[Any]:
    kind, words, position, has_gauss, gauss = sys.modules["numpy"].random.get_state()
    return [str(kind), words.tolist(), int(position), int(has_gauss), float(gauss)]


def _set_numpy_state(state: list[Any]) -> None:
    sys.modules["numpy"].random.set_state(tuple(state))
