"""`torch.jit.fork`: outside of compiled scripts PyTorch runs the function at once, too."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau import futures


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> futures.Future[Any]:
    """Call a function, and give its result as one that is waited for.

    Args:
        func: A function or module.
        args: What it is called with.
        kwargs: The same by name.
    """
    future: futures.Future[Any] = futures.Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: futures.Future[Any]) -> Any:
    """What ``fork`` gave.

    Args:
        future: That.
    """
    return future.wait()


_fork, _wait = fork, wait
