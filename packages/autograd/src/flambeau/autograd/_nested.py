"""Backward passes so deep inside one another that a thread's stack would not hold them."""
from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ["run_in_thread"]


def run_in_thread(function: Callable[[], None]) -> None:
    """Run a function in a new thread and wait for it; what it raises is raised here."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            function()
        except BaseException as error:  # raised again in the thread that waits
            raised.append(error)

    thread = threading.Thread(target=run, name="flambeau-backward")
    thread.start()
    thread.join()
    if raised:
        raise raised.pop()
