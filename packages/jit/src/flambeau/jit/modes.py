"""Modes and generators of the core: history, autocast, inference, random numbers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import flambeau
from flambeau.core import _core
from flambeau.jit.literals import GET_STATE, SET_SEED

Tensor = Any
_GRAD = 1


@contextmanager
def no_grad() -> Iterator[None]:
    """Without recording history, whether or not autograd is installed."""
    before = _core._get_mode()
    _core._set_mode(before & ~_GRAD)
    try:
        yield
    finally:
        _core._set_mode(before)


def without_history(run: Callable[..., Any], *args: Any) -> Any:
    """What a function gives without recording history."""
    before = _core._get_mode()
    _core._set_mode(before & ~_GRAD)
    try:
        return run(*args)
    finally:
        _core._set_mode(before)


@contextmanager
def without_autocast() -> Iterator[None]:
    """Operators as they are called: what autocast did is in the graph."""
    engine = sys.modules.get("flambeau.autograd._engine")
    with ExitStack() as stack:
        for kind, dtype, enabled in engine.open_autocasts() if engine is not None else ():
            if enabled and engine is not None:
                stack.enter_context(engine.AutocastBlock(kind, dtype, False, False))
        yield


def random_state_now() -> list[int]:
    """The default generator's seed and position."""
    return list(_core.get_rng_state().tolist())


@contextmanager
def same_random_numbers() -> Iterator[None]:
    """Leave the default generator where it is: this thread draws what it would from a copy.

    So numbers that other threads draw meanwhile are neither seen nor drawn again.
    """
    copy = _core.Generator()
    copy.set_state(_core.get_rng_state())
    with flambeau.random.use_generator(copy):
        yield


def is_grad_enabled() -> bool:
    """Whether history is recorded."""
    return bool(_core._get_mode() & _GRAD)


def defaults() -> str:
    """The default dtype and device."""
    return f"{_core.get_default_dtype().name} on {_core.get_default_device()}"


def is_inference_mode() -> bool:
    """Whether results are inference tensors."""
    return bool(_core.is_inference_mode_enabled())


def random_state(op: str, generator: Any, value: Any = None) -> list[Tensor]:
    """Read or change a generator, ``None`` for the default one."""
    if op == GET_STATE:
        return [_core.get_rng_state() if generator is None else generator.get_state()]
    whose = _core if generator is None else generator
    if op == SET_SEED:
        whose.manual_seed(value)
    else:
        (_core.set_rng_state if generator is None else generator.set_state)(value)
    return []
