"""Functions that stop and go on: each step of a generator or coroutine is a call of its own."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import wraps
from typing import Any

_GENERATOR, _COROUTINE = 0x20, 0x80     # flags of code objects


def step_by_step(fn: Any, make: Callable[[Any], Any]) -> Any:
    """The function; one that stops and goes on runs each step in a call that ``make`` makes.

    Args:
        fn: any callable.
        make: a function to one in whose calls kernels wait.
    """
    code = getattr(getattr(fn, "__func__", fn), "__code__", None)
    flags = getattr(code, "co_flags", 0)
    if flags & _GENERATOR:
        @wraps(fn)
        def generate(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            return (yield from _drive(fn(*args, **kwargs), make))
        return generate
    if flags & _COROUTINE:
        @wraps(fn)
        async def run(*args: Any, **kwargs: Any) -> Any:
            return await _Awaited(fn(*args, **kwargs), make)
        return run
    return fn


class _Awaited:
    """A coroutine, driven by whoever awaits this."""

    def __init__(self, coroutine: Any, make: Callable[[Any], Any]) -> None:
        self.coroutine = coroutine
        self.make = make

    def __await__(self) -> Generator[Any, Any, Any]:
        return _drive(self.coroutine, self.make)


def _drive(steps: Any, make: Callable[[Any], Any]) -> Generator[Any, Any, Any]:
    """Yield what ``steps`` yields, and give it what is sent and thrown."""
    send, throw = make(steps.send), make(steps.throw)
    value: Any = None
    error: BaseException | None = None
    while True:
        try:
            item = send(value) if error is None else throw(error)
        except StopIteration as stop:
            return stop.value
        try:
            value, error = (yield item), None
        except GeneratorExit:
            steps.close()
            raise
        except BaseException as thrown:
            error = thrown
