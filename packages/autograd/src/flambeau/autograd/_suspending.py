"""Decorated generators and coroutines: the mode is switched on at each step, off at each
suspension, so that the caller never sees it."""
from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from typing import Any

__all__ = ["decorated_suspending"]

_COROUTINE, _ITERABLE_COROUTINE, _ASYNC_GENERATOR = 0x80, 0x100, 0x200
_Context = Callable[[], AbstractContextManager]


def decorated_suspending(context: _Context, function: Callable, flags: int) -> Callable:
    """A function whose body runs in a context, and whose caller does not.

    Args:
        context: makes the context manager of one step.
        function: a generator function, coroutine function or asynchronous generator function.
        flags: ``co_flags`` of its code.

    Returns:
        A function of the same kind.
    """
    if flags & _ASYNC_GENERATOR:
        return _async_generator(context, function)
    if flags & (_COROUTINE | _ITERABLE_COROUTINE):
        return _coroutine(context, function)
    return _generator(context, function)


def _generator(context: _Context, function: Callable) -> Callable:
    @functools.wraps(function)
    def run(*args, **kwargs):
        return (yield from _driven(context, function(*args, **kwargs)))

    return run


def _coroutine(context: _Context, function: Callable) -> Callable:
    @functools.wraps(function)
    async def run(*args, **kwargs):
        return await _Awaited(context, function(*args, **kwargs))

    return run


def _async_generator(context: _Context, function: Callable) -> Callable:
    @functools.wraps(function)
    async def run(*args, **kwargs):
        generator = function(*args, **kwargs)
        step = generator.asend(None)
        while True:
            try:
                item = await _Awaited(context, step.__await__())
            except StopAsyncIteration:
                return
            try:
                step = generator.asend((yield item))
            except GeneratorExit:
                await _Awaited(context, generator.aclose().__await__())
                raise
            except BaseException as error:
                step = generator.athrow(error)

    return run


class _Awaited:
    """An awaitable whose steps run in a context."""

    def __init__(self, context: _Context, steps: Any) -> None:
        self.context = context
        self.steps = steps

    def __await__(self):
        return _driven(self.context, self.steps)


def _driven(context: _Context, steps: Any) -> Generator:
    """Drive a generator or coroutine; each of its steps runs in a fresh context."""
    if hasattr(steps, "send"):
        step, value = steps.send, None
    else:
        step, value = (lambda _: next(steps)), None
    try:
        while True:
            with context():
                item = step(value)
            try:
                step, value = steps.send, (yield item)
            except GeneratorExit:
                with context():
                    steps.close()
                raise
            except BaseException as error:
                step, value = steps.throw, error
    except StopIteration as stop:
        return stop.value
