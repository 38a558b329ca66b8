"""Conditions that libraries check: `torch._assert`, `torch._check` and the like."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import flambeau
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
    """Raise an error of a type unless all elements are true.

    Raises:
        TypeError: The condition is not a tensor of bools.
    """
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, got {type(cond).__name__}; torch._check takes "
                        "a bool")
    if cond.dtype != flambeau.bool:
        raise TypeError("cond tensor must have dtype torch.bool, but got "
                        f"torch.{cond.dtype.name}; compare first: torch._check_tensor_all(x != 0)")
    _check_with(error_type, bool(cond.all()), message)


_check_tensor_all = partial(_check_tensor_all_with, RuntimeError)

__all__ = ["_assert", "_check", "_check_index", "_check_is_size", "_check_not_implemented",
           "_check_tensor_all", "_check_tensor_all_with", "_check_type", "_check_value",
           "_check_with"]


def assert_allclose(actual: Any, expected: Any, rtol: float | None = None,
                    atol: float | None = None, equal_nan: bool = True, msg: str = "") -> None:
    """The older form of `torch.testing.assert_close`: dtypes may differ, and NaN equals NaN.

    Args:
        actual: A tensor, or what becomes one.
        expected: The same.
        rtol: Relative to the expected element; by dtype where both are left out.
        atol: The absolute difference.
        equal_nan: Whether NaN equals NaN.
        msg: Of the error; made where it is empty.
    """
    actual, expected = (each if isinstance(each, Tensor) else flambeau.tensor(
        each, dtype=None if not isinstance(actual, Tensor) else actual.dtype)
        for each in (actual, expected))
    flambeau.testing.assert_close(
        actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True,
        check_dtype=False, check_stride=False, msg=msg or None)
