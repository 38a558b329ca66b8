"""What every constraint has, and those that depend on other values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau import Tensor

__all__ = ["Constraint", "dependent", "dependent_property", "is_dependent"]


class Constraint:
    """The set of values that a parameter, or a sample, may have.

    Attributes:
        is_discrete: Whether the set consists of separate points.
        event_dim: Number of last dimensions that together are one value.

    Example:
        >>> import flambeau
        >>> from flambeau.distributions import constraints
        >>> constraints.positive.check(flambeau.tensor([1.0, -1.0]))
        tensor([ True, False])
    """

    is_discrete: bool = False
    event_dim: int = 0

    def check(self, value: Tensor) -> Tensor:
        """Say for each value whether it lies in the set.

        Args:
            value: Values, the last ``event_dim`` dimensions of which are one value each.

        Returns:
            A tensor of truth values of the shape that remains.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no check(): define check(self, value) in the class"
        )

    def __repr__(self) -> str:
        return type(self).__name__[1:] + "()"


class _Dependent(Constraint):
    """A set that depends on other values, such as the bounds that a distribution is given."""

    def __init__(
        self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """Whether the set consists of separate points, where that is known."""
        return bool(_known("is_discrete", self._is_discrete))

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """Number of last dimensions that are one value, where that is known."""
        return int(_known("event_dim", self._event_dim))

    def __call__(
        self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> _Dependent:
        """Give the same with what is known filled in."""
        if is_discrete is NotImplemented:
            is_discrete = self._is_discrete
        if event_dim is NotImplemented:
            event_dim = self._event_dim
        return _Dependent(is_discrete=is_discrete, event_dim=event_dim)

    def check(self, value: Tensor) -> Tensor:
        """Refuse: the set is not known."""
        raise ValueError(
            "a constraint that depends on other values cannot be checked: ask the instance, as "
            "in distribution.support"
        )


def _known(name: str, value: Any) -> Any:
    if value is NotImplemented:
        raise NotImplementedError(
            f".{name} is not known before the values are on which the constraint depends"
        )
    return value


class _DependentProperty(property, _Dependent):
    """A property whose value is a constraint; the class itself answers with what is known."""

    def __init__(
        self,
        fn: Callable[..., Any] | None = None,
        *,
        is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:
        property.__init__(self, fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Callable[..., Any]) -> _DependentProperty:  # type: ignore[override]
        """Decorate a method: ``@constraints.dependent_property(event_dim=1)``."""
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def is_dependent(constraint: Any) -> bool:
    """Say whether a constraint depends on other values.

    Example:
        >>> from flambeau.distributions import constraints
        >>> constraints.is_dependent(constraints.positive)
        False
    """
    return isinstance(constraint, _Dependent)


#: The constraint of a value of which nothing is known yet.
dependent = _Dependent()
dependent_property = _DependentProperty
