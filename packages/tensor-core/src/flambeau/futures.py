"""Results that come later: what a thread computes, or a callback sets."""
from __future__ import annotations

import concurrent.futures
from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")


class Future(Generic[T]):
    """A value that is set once, by whoever has it, and waited for by others.

    Args:
        devices: Devices that the value is on; it is complete here when it is set.

    Example:
        >>> import flambeau
        >>> future = flambeau.futures.Future()
        >>> later = future.then(lambda done: done.value() + 1)
        >>> future.set_result(2)
        >>> later.wait()
        3
    """

    def __init__(self, *, devices: list[Any] | None = None) -> None:
        self._future: concurrent.futures.Future[T] = concurrent.futures.Future()

    def done(self) -> bool:
        """Whether there is a value or an error."""
        return self._future.done()

    def wait(self) -> T:
        """Wait for the value.

        Raises:
            Exception: What ``set_exception`` was given.
        """
        return self._future.result()

    def value(self) -> T:
        """The value, which must be there.

        Raises:
            RuntimeError: It is not.
        """
        if not self.done():
            raise RuntimeError("Future.value(): there is no value yet; use wait()")
        return self._future.result()

    def set_result(self, result: T) -> None:
        """Give the value, once."""
        self._check_open("set_result")
        self._future.set_result(result)

    def set_exception(self, result: BaseException) -> None:
        """Give an error, which ``wait`` raises."""
        if not isinstance(result, BaseException):
            raise TypeError(f"set_exception(): takes an exception, got {type(result).__name__}")
        self._check_open("set_exception")
        self._future.set_exception(result)

    def __reduce__(self) -> Any:
        raise RuntimeError("Can not pickle flambeau.futures.Future: send what its wait() gives")

    def _check_open(self, name: str) -> None:
        if self.done():
            raise RuntimeError(f"{name}(): the future has a value or an error already")

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """A future with what ``callback`` returns, given this one once it is done.

        An error of the callback is the cause of a RuntimeError that the new future raises.
        """
        later: Future[Any] = Future()

        def run(_: Any) -> None:
            try:
                result = callback(self)
            except Exception as error:
                failed = RuntimeError("Got the following error when running the callback: "
                                      f"{type(error).__name__}: {error}")
                failed.__cause__ = error
                later.set_exception(failed)
            else:
                later.set_result(result)

        self._future.add_done_callback(run)
        return later

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call ``callback`` with this future once it is done; its errors are logged."""
        self._future.add_done_callback(lambda _: callback(self))


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future with the list of these, once all are done."""
    result: Future[list[Future[Any]]] = Future()
    waiting = {id(future) for future in futures}

    def one_done(future: Future[Any]) -> None:
        waiting.discard(id(future))
        if not waiting and not result.done():
            result.set_result(list(futures))

    if not futures:
        result.set_result([])
    for future in futures:
        future.add_done_callback(one_done)
    return result


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """The values of all, in order; the first error is raised once all are done."""
    return [future.wait() for future in collect_all(futures).wait()]
