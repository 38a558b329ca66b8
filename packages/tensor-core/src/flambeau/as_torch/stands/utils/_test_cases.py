"""`torch.testing._internal.common_utils`, as far as tests of libraries take it: test cases."""
from __future__ import annotations

import unittest
from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Any

import flambeau
from flambeau.core import Tensor

run_tests = unittest.main


class TestCase(unittest.TestCase):
    """Test cases whose ``assertEqual`` compares tensors and numbers within a tolerance."""

    def assertEqual(self, first: Any, second: Any, msg: Any = None, *, atol: float | None = None,
                    rtol: float | None = None, equal_nan: bool = True, exact_dtype: bool = True,
                    exact_device: bool = False, exact_layout: bool = False,
                    exact_stride: bool = False) -> None:
        """Fail unless both are equal, or close where they are numbers.

        Args:
            first: Tensors, numbers, lists and dicts of them, or other objects.
            second: The same.
            msg: Of the error.
            atol: The absolute difference; by dtype where both are left out.
            rtol: Relative to the expected element.
            equal_nan: Whether NaN equals NaN.
            exact_dtype: Whether dtypes must be equal.
            exact_device: Whether devices must be.
            exact_layout: Whether layouts must be.
            exact_stride: Whether strides must be.
        """
        if isinstance(first, Tensor) != isinstance(second, Tensor) and (
                isinstance(first, Number) or isinstance(second, Number)):
            first, second = (flambeau.as_tensor(each) for each in (first, second))
            exact_dtype = False
        if not _has_numbers(first) or not _has_numbers(second):
            super().assertEqual(first, second, msg)
            return
        flambeau.testing.assert_close(
            first, second, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=exact_dtype,
            check_device=exact_device, check_layout=exact_layout, check_stride=exact_stride,
            msg=msg)


def _has_numbers(value: Any) -> bool:
    """Whether tensors or numbers are compared, and nothing else."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return all(_has_numbers(each) for each in value)
    return isinstance(value, (Tensor, Number)) and not isinstance(value, bool)
