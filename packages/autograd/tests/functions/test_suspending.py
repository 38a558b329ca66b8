"""Modes across suspensions: decorated coroutines, and blocks that end in another mode."""

import asyncio
import inspect

import pytest

import flambeau
from flambeau.autograd import enable_grad, inference_mode, no_grad, set_grad_enabled


def mode():
    return flambeau.is_grad_enabled()


def test_coroutines_switch_at_each_suspension():
    @no_grad()
    async def inner():
        seen = [mode()]
        for _ in range(3):
            await asyncio.sleep(0)
            seen.append(mode())
        return seen

    async def outer():
        task = asyncio.ensure_future(inner())
        seen = []
        while not task.done():
            await asyncio.sleep(0)
            seen.append(mode())
        return task.result(), seen

    inside, outside = asyncio.run(outer())
    assert inside == [False] * 4
    assert set(outside) == {True}
    assert inspect.iscoroutinefunction(inner)


def test_asynchronous_generators():
    closed = []

    @no_grad()
    async def numbers():
        try:
            for i in range(3):
                await asyncio.sleep(0)
                got = yield i, mode()
                if got:
                    yield got
        except KeyError:
            yield "caught", mode()
        finally:
            closed.append(mode())

    async def use():
        seen = [(await anext(source := numbers())), mode()]
        seen += [await source.asend("sent"), mode()]
        seen += [await source.athrow(KeyError()), mode()]
        await source.aclose()
        async for item in numbers():
            seen.append((*item, mode()))
        return seen

    assert asyncio.run(use()) == [(0, False), True, "sent", True, ("caught", False), True,
                                  (0, False, True), (1, False, True), (2, False, True)]
    assert closed == [False, False]


def test_errors_of_coroutines_come_through():
    @inference_mode()
    async def fails():
        await asyncio.sleep(0)
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        asyncio.run(fails())
    assert mode()


def test_generators_return_close_and_send():
    @enable_grad()
    def echo():
        got = yield mode()
        got = yield got
        return got, mode()

    with no_grad():
        source = echo()
        assert next(source) is True
        assert mode() is False
        assert source.send(1) == 1
        with pytest.raises(StopIteration) as stop:
            source.send(2)
        assert stop.value.value == (2, True)


def test_a_block_that_ends_in_another_mode_raises():
    def leaks():
        with no_grad():
            yield

    source = leaks()
    next(source)
    assert mode() is False
    with enable_grad(), pytest.raises(
            RuntimeError, match="began in the mode no grad and ends in grad.*decorate"):
        next(source)
    set_grad_enabled(True)


def test_an_error_inside_is_not_hidden():
    with pytest.raises(KeyError), no_grad():
        set_grad_enabled(True)
        raise KeyError
    assert mode() is True
