"""Errors of processes that the launcher starts."""
from __future__ import annotations

import functools
import json
import os
import time
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["record"]

F = TypeVar("F", bound=Callable[..., Any])


def record(fn: F, error_handler: Any = None) -> F:
    """Have a program's main function write its error where ``TORCHELASTIC_ERROR_FILE`` says.

    Args:
        fn: The function.
        error_handler: Accepted for compatibility.

    Example:
        >>> from flambeau.distributed.elastic.multiprocessing.errors import record
        >>> @record
        ... def main():
        ...     return 1
        >>> main()
        1
    """
    @functools.wraps(fn)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            _write(error)
            raise

    return recorded  # type: ignore[return-value]


def _write(error: Exception) -> None:
    path = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if path:
        told = {"message": f"{type(error).__name__}: {error}",
                "extraInfo": {"py_callstack": traceback.format_exc(),
                              "timestamp": str(int(time.time()))}}
        with open(path, "w") as file:
            json.dump({"message": told}, file)
