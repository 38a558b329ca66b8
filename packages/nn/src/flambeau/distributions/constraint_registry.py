"""From constraints to the transforms that reach them from all numbers.

``biject_to`` gives bijections, of which densities transform; ``transform_to`` gives transforms
that need not have an inverse, and serve the optimization of a constrained parameter.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any

import flambeau.distributions.constraints as constraints
import flambeau.distributions.transforms as transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """A table from kinds of constraints to functions that make transforms.

    Example:
        >>> from flambeau.distributions import biject_to, constraints
        >>> biject_to(constraints.positive)
        ExpTransform()
    """

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], Any]] = {}
        super().__init__()

    def register(self, constraint: Any, factory: Callable[[Any], Any] | None = None) -> Any:
        """Say which transforms reach a kind of constraints.

        Args:
            constraint: A class of constraints, or an object of it.
            factory: What makes a transform of such a constraint; without it this is a decorator.

        Returns:
            The factory.

        Raises:
            TypeError: ``constraint`` is no constraint.

        Example:
            >>> from flambeau.distributions import ConstraintRegistry, ExpTransform, constraints
            >>> registry = ConstraintRegistry()
            >>> @registry.register(constraints.positive)
            ... def construct(constraint): return ExpTransform()
            >>> registry(constraints.positive)
            ExpTransform()
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError(
                f"register(): a class of constraints, or a constraint, not {constraint!r}"
            )
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """Give a transform from all numbers to a constraint.

        Args:
            constraint: A constraint.

        Returns:
            A transform whose codomain is the constraint.

        Raises:
            NotImplementedError: Nothing is registered for constraints of its kind.
        """
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(
                f"no transform reaches {type(constraint).__name__} constraints: tell one with "
                "register()"
            )
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _both(*kinds: Any) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Register in both tables."""

    def decorate(factory: Callable[[Any], Any]) -> Callable[[Any], Any]:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return decorate


@_both(constraints.real)
def to_real(constraint: Any) -> Any:
    return transforms.identity_transform


@_both(constraints.greater_than, constraints.greater_than_eq)
def to_greater_than(constraint: Any) -> Any:
    if isinstance(constraint.lower_bound, Number) and constraint.lower_bound == 0:
        return transforms.ExpTransform()
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)]
    )


@_both(constraints.less_than)
def to_less_than(constraint: Any) -> Any:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)]
    )


@_both(constraints.interval, constraints.half_open_interval)
def to_interval(constraint: Any) -> Any:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, Number) and isinstance(high, Number) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform(
        [transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)]
    )


@_both(constraints.corr_cholesky)
def to_corr_cholesky(constraint: Any) -> Any:
    return transforms.CorrCholeskyTransform()


@biject_to.register(constraints.simplex)
def biject_to_simplex(constraint: Any) -> Any:
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def transform_to_simplex(constraint: Any) -> Any:
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def transform_to_lower_cholesky(constraint: Any) -> Any:
    return transforms.LowerCholeskyTransform()


def _transform_to_positive_definite(constraint: Any) -> Any:
    return transforms.PositiveDefiniteTransform()


transform_to.register(constraints.positive_definite, _transform_to_positive_definite)
transform_to.register(constraints.positive_semidefinite, _transform_to_positive_definite)


def _register_compound(registry: ConstraintRegistry) -> None:
    """Constraints made of others: transforms made of theirs, from the same table."""

    @registry.register(constraints.independent)
    def independent_values(constraint: Any) -> Any:
        return transforms.IndependentTransform(
            registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims
        )

    @registry.register(constraints.cat)
    def cat_values(constraint: Any) -> Any:
        parts = [registry(each) for each in constraint.cseq]
        return transforms.CatTransform(parts, constraint.dim, constraint.lengths)

    @registry.register(constraints.stack)
    def stack_values(constraint: Any) -> Any:
        return transforms.StackTransform(
            [registry(each) for each in constraint.cseq], constraint.dim
        )


_register_compound(biject_to)
_register_compound(transform_to)
