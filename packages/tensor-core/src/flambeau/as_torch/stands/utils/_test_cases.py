"""`torch.testing._internal.common_utils`, as far as tests of libraries take it: test cases."""
from __future__ import annotations

import math
import unittest
from numbers import Number
from typing import Any

import numpy

import flambeau
from flambeau.as_torch.stands.testing._comparison import (
    BooleanPair,
    NonePair,
    NumberPair,
    ObjectPair,
    TensorLikePair,
    not_close_error_metas,
)
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
        found = not_close_error_metas(
            first, second, pair_types=_PAIRS, rtol=rtol, atol=atol, equal_nan=equal_nan,
            check_dtype=exact_dtype, check_device=exact_device, check_layout=exact_layout,
            check_stride=exact_stride)
        for each in found:
            raise each.to_error(lambda text: self._formatMessage(msg, text))


class _AnyNumberPair(NumberPair):
    """Two numbers, of which one may be a tensor or an array of one element."""

    def __init__(self, actual: Any, expected: Any, *, check_dtype: bool = False,
                 **other_parameters: Any) -> None:
        both = [actual, expected]
        if any(isinstance(each, Number) for each in both):
            both = [each.item() if isinstance(each, (Tensor, numpy.ndarray)) and
                    math.prod(each.shape) == 1 else each for each in both]
        both = [int(each) if isinstance(each, bool) else each for each in both]
        super().__init__(*both, **other_parameters)


class _AnyArrayPair(TensorLikePair):
    """Two tensors or arrays, or one of them and a number."""

    def __init__(self, actual: Any, expected: Any, **other_parameters: Any) -> None:
        self._check_inputs_isinstance(actual, expected, cls=(Tensor, numpy.ndarray, Number))
        super().__init__(*map(flambeau.as_tensor, (actual, expected)), **other_parameters)


_PAIRS = NonePair, BooleanPair, _AnyNumberPair, _AnyArrayPair, ObjectPair
