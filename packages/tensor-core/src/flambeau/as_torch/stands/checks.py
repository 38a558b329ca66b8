"""Conditions that libraries check: `torch._assert`, `torch._check` and the like."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from flambeau.core import Tensor
from flambeau.core.compat.asserting import _assert


def _check_with(error_type: type[Exception], cond: Any,
                message: Callable[[], object] | str | None = None) -> None:
    """Raise an error of a type, with a message or what a function gives for one.

    Raises:
        TypeError: The condition is no bool.
    """
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        message = "Expected cond to be True, but got False. (Could this error message be improved?)"
    raise error_type(str(message() if callable(message) else message))


_check = partial(_check_with, RuntimeError)
_check_index = partial(_check_with, IndexError)
_check_value = partial(_check_with, ValueError)
_check_type = partial(_check_with, TypeError)
_check_not_implemented = partial(_check_with, NotImplementedError)


def _check_is_size(i: int, message: Callable[[], object] | None = None, *,
                   max: int | None = None) -> None:
    """Raise a RuntimeError unless a number can be a size."""
    _check(i >= 0 and (max is None or i <= max), message)


def _check_tensor_all_with(error_type: type[Exception], cond: Tensor,
                           message: Callable[[], object] | None = None) -> None:
    """Raise an error of a type unless all elements are true."""
    _check_with(error_type, bool(cond.all()), message)


_check_tensor_all = partial(_check_tensor_all_with, RuntimeError)

__all__ = ["_assert", "_check", "_check_index", "_check_is_size", "_check_not_implemented",
           "_check_tensor_all", "_check_tensor_all_with", "_check_type", "_check_value",
           "_check_with"]
