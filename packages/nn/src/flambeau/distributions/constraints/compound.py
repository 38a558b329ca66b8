"""Constraints made of others: of several dimensions, side by side, stacked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau
from flambeau import Tensor

from .base import Constraint
from .scalars import real


class _IndependentConstraint(Constraint):
    """A constraint whose last batch dimensions are one value together."""

    def __init__(self, base_constraint: Any, reinterpreted_batch_ndims: int) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"not a constraint: {base_constraint!r}")
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise AssertionError(
                f"reinterpreted_batch_ndims counts dimensions, not {reinterpreted_batch_ndims!r}"
            )
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(
                f"a value of this constraint has {self.event_dim} dimensions or more, but "
                f"{value.dim()} were given, of shape {tuple(value.shape)}"
            )
        kept = result.shape[: result.dim() - self.reinterpreted_batch_ndims]
        return result.reshape((*kept, -1)).all(-1)

    def __repr__(self) -> str:
        name = type(self).__name__[1:]
        return f"{name}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """Values of a mixture: they are checked against the support of every component.

    Args:
        base_constraint: The support of the components, whose last batch dimension counts them.

    Example:
        >>> from flambeau.distributions import constraints
        >>> constraints.MixtureSameFamilyConstraint(constraints.positive)
        MixtureSameFamilyConstraint(GreaterThan(lower_bound=0.0))
    """

    def __init__(self, base_constraint: Any) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"not a constraint: {base_constraint!r}")
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """Whether the components are discrete."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """Number of dimensions of one value of a component."""
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        """Say whether each value lies in the support of all components."""
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        if value.dim() < self.event_dim:
            raise ValueError(
                f"a value of this constraint has {self.event_dim} dimensions or more, but "
                f"{value.dim()} were given"
            )
        kept = result.shape[: value.dim() - self.event_dim]
        return result.reshape((*kept, -1)).all(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


def _constraints_of(cseq: Sequence[Any]) -> list[Any]:
    for each in cseq:
        if not isinstance(each, Constraint):
            raise AssertionError(f"not a constraint: {each!r}")
    return list(cseq)


class _Cat(Constraint):
    """Sections of a dimension, each with a constraint of its own."""

    def __init__(
        self, cseq: Sequence[Any], dim: int = 0, lengths: Sequence[int] | None = None
    ) -> None:
        self.cseq = _constraints_of(cseq)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"{len(self.lengths)} lengths for {len(self.cseq)} constraints")
        self.dim = dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return max(c.event_dim for c in self.cseq)

    def check(self, value: Tensor) -> Tensor:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"no dimension {self.dim} in shape {tuple(value.shape)}")
        checks = []
        start = 0
        for constraint, length in zip(self.cseq, self.lengths, strict=True):
            checks.append(constraint.check(value.narrow(self.dim, start, length)))
            start += length
        return flambeau.cat(checks, self.dim)


class _Stack(Constraint):
    """Slices of a dimension, each with a constraint of its own."""

    def __init__(self, cseq: Sequence[Any], dim: int = 0) -> None:
        self.cseq = _constraints_of(cseq)
        self.dim = dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        dim = max(c.event_dim for c in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Tensor) -> Tensor:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"no dimension {self.dim} in shape {tuple(value.shape)}")
        slices = [value.select(self.dim, i) for i in range(value.shape[self.dim])]
        checks = [c.check(v) for v, c in zip(slices, self.cseq, strict=True)]
        return flambeau.stack(checks, self.dim)


independent = _IndependentConstraint
cat = _Cat
stack = _Stack
real_vector: Constraint = _IndependentConstraint(real, 1)
