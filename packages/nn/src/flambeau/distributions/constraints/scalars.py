"""Constraints of numbers: intervals, integers, truth values."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor

from .base import Constraint


class _Bounded(Constraint):
    """A set between bounds, which are numbers or tensors that broadcast with the values."""

    _bounds: tuple[str, ...] = ()

    def __repr__(self) -> str:
        bounds = ", ".join(f"{name}={getattr(self, name)}" for name in self._bounds)
        return f"{type(self).__name__[1:]}({bounds})"


class _Above(_Bounded):
    _bounds = ("lower_bound",)

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound


class _Below(_Bounded):
    _bounds = ("upper_bound",)

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound


class _Between(_Bounded):
    _bounds = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound


def _is_integer(value: Tensor) -> Tensor:
    return value % 1 == 0


class _Boolean(Constraint):
    """0 or 1."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _IntegerInterval(_Between):
    """Integers from the lower bound to the upper one."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return _is_integer(value) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerLessThan(_Below):
    """Integers up to a bound."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return _is_integer(value) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Above):
    """Integers from a bound on."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return _is_integer(value) & (value >= self.lower_bound)


class _Real(Constraint):
    """All numbers but NaN."""

    def check(self, value: Tensor) -> Tensor:
        return value == value  # NaN alone differs from itself


class _GreaterThan(_Above):
    """Numbers above a bound."""

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound < value


class _GreaterThanEq(_Above):
    """Numbers from a bound on."""

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound <= value


class _LessThan(_Below):
    """Numbers below a bound."""

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Interval(_Between):
    """Numbers from one bound to the other."""

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    """Numbers from the lower bound on, below the upper one."""

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)


greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
interval = _Interval
half_open_interval = _HalfOpenInterval
integer_interval = _IntegerInterval

boolean: Constraint = _Boolean()
real: Constraint = _Real()
positive: Constraint = _GreaterThan(0.0)
nonnegative: Constraint = _GreaterThanEq(0.0)
unit_interval: Constraint = _Interval(0.0, 1.0)
nonnegative_integer: Constraint = _IntegerGreaterThan(0)
positive_integer: Constraint = _IntegerGreaterThan(1)
