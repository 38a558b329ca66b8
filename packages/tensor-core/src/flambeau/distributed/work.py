"""Calls that go on while the program does: one after the other, in a thread of their group."""
from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from flambeau.futures import Future

__all__ = ["Work"]


class Work:
    """A call that goes on, or is done."""

    def __init__(self, result: Any = None) -> None:
        self._done = threading.Event()
        self._error: BaseException | None = None
        self._result = result
        self._future: Future[Any] = Future()

    def _run(self, call: Callable[[], Any]) -> None:
        try:
            call()
        except BaseException as error:
            self._error = error
            self._done.set()
            self._future.set_exception(error)
        else:
            self._done.set()
            self._future.set_result(self._result)

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until the call is done, and return True.

        Raises:
            TimeoutError: It was not, in this time.
            RuntimeError: It failed.
        """
        if not self._done.wait(timeout.total_seconds() if timeout else None):
            raise TimeoutError(f"the call is not done after {timeout}")
        if self._error is not None:
            raise self._error
        return True

    def synchronize(self) -> None:
        """Wait until the call is done."""
        self.wait()

    def is_completed(self) -> bool:
        """Whether the call is done, or has failed."""
        return self._done.is_set()

    def is_success(self) -> bool:
        """Whether the call is done and has not failed."""
        return self._done.is_set() and self._error is None

    def exception(self) -> BaseException | None:
        """What the call raised."""
        return self._error

    def result(self) -> Any:
        """The tensors that were written to."""
        self.wait()
        return self._result

    def get_future(self) -> Future[Any]:
        """The tensors that were written to, as a future."""
        return self._future


Entry = tuple[Work, Callable[[], Any]]


class Line:
    """The calls of a group, in the order in which the program made them."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[Entry | None] = queue.SimpleQueue()
        self._running = threading.Lock()
        self._thread: threading.Thread | None = None
        self._last: Work | None = None

    def now(self, call: Callable[[], Any]) -> None:
        """Run a call behind all others, and wait for it."""
        last = self._last
        if last is not None and not last.is_completed():
            self.later(call, None).wait()
        else:
            with self._running:
                call()

    def later(self, call: Callable[[], Any], result: Any) -> Work:
        """Have a call run behind all others."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True, name="collectives")
            self._thread.start()
        work = self._last = Work(result)
        self._waiting.put((work, call))
        return work

    def close(self) -> None:
        """Let the thread end when all calls are done."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join(timeout=5)

    def _work(self) -> None:
        while (entry := self._waiting.get()) is not None:
            work, call = entry
            with self._running:
                work._run(call)
