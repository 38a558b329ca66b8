"""Transforms of the sections, or of the slices, of a dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..utils import sum_rightmost
from .base import Transform

__all__ = ["CatTransform", "StackTransform"]


def _checked(tseq: Sequence[Any], cache_size: int) -> list[Any]:
    for each in tseq:
        if not isinstance(each, Transform):
            raise AssertionError(f"not a transform: {each!r}")
    return [each.with_cache(cache_size) if cache_size else each for each in tseq]


def _expect_dim(dim: int, x: Tensor) -> None:
    if not -x.dim() <= dim < x.dim():
        raise AssertionError(f"no dimension {dim} in shape {tuple(x.shape)}")


class CatTransform(Transform):
    r"""Transforms of the sections of a dimension, as :func:`flambeau.cat` joins them.

    Args:
        tseq: A transform for each section.
        dim: The dimension.
        lengths: The size of each section; 1 by default.
        cache_size: 0 or 1, see :class:`Transform`.

    Example:
        >>> from flambeau.distributions import CatTransform, ExpTransform, identity_transform
        >>> both = CatTransform([ExpTransform(), identity_transform], lengths=[1, 2])
        >>> both(flambeau.zeros(3))
        tensor([1., 0., 0.])
    """

    def __init__(
        self,
        tseq: Sequence[Any],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        self.transforms = _checked(tseq, cache_size)
        super().__init__(cache_size=cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(
                f"{len(self.lengths)} lengths for {len(self.transforms)} transforms"
            )
        self.dim = dim

    @property
    def event_dim(self) -> int:
        """The largest of the sections'."""
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        """The size of the dimension."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Any:
        """Give the same transform with a cache, or without one."""
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _sections(self, x: Tensor) -> Sequence[Tensor]:
        _expect_dim(self.dim, x)
        if x.shape[self.dim] != self.length:
            raise AssertionError(
                f"dimension {self.dim} of shape {tuple(x.shape)} is not the sum of "
                f"lengths {self.lengths}"
            )
        return x.split(self.lengths, self.dim)

    def _call(self, x: Tensor) -> Tensor:
        sections = zip(self.transforms, self._sections(x), strict=True)
        return flambeau.cat([t(section) for t, section in sections], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        sections = zip(self.transforms, self._sections(y), strict=True)
        return flambeau.cat([t.inv(section) for t, section in sections], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        terms = []
        triples = zip(self.transforms, self._sections(x), self._sections(y), strict=True)
        for t, before, after in triples:
            term = t.log_abs_det_jacobian(before, after)
            terms.append(sum_rightmost(term, self.event_dim - t.event_dim))
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        if dim < 0:
            return flambeau.cat(terms, dim)
        return sum(terms[1:], terms[0])  # the sections are one value

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """Whether every section's transform is."""
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property
    def domain(self) -> Any:
        """The sections' domains."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """The sections' codomains."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(Transform):
    r"""Transforms of the slices of a dimension, as :func:`flambeau.stack` joins them.

    Args:
        tseq: A transform for each slice.
        dim: The dimension.
        cache_size: 0 or 1, see :class:`Transform`.

    Example:
        >>> from flambeau.distributions import ExpTransform, StackTransform, identity_transform
        >>> StackTransform([ExpTransform(), identity_transform])(flambeau.zeros(2))
        tensor([1., 0.])
    """

    def __init__(self, tseq: Sequence[Any], dim: int = 0, cache_size: int = 0) -> None:
        self.transforms = _checked(tseq, cache_size)
        super().__init__(cache_size=cache_size)
        self.dim = dim

    def with_cache(self, cache_size: int = 1) -> Any:
        """Give the same transform with a cache, or without one."""
        if self._cache_size == cache_size:
            return self
        return StackTransform(self.transforms, self.dim, cache_size)

    def _slices(self, x: Tensor) -> Sequence[Tensor]:
        _expect_dim(self.dim, x)
        if x.shape[self.dim] != len(self.transforms):
            raise AssertionError(
                f"dimension {self.dim} of shape {tuple(x.shape)} has no slice for each of "
                f"{len(self.transforms)} transforms"
            )
        return x.unbind(self.dim)

    def _call(self, x: Tensor) -> Tensor:
        slices = zip(self.transforms, self._slices(x), strict=True)
        return flambeau.stack([t(each) for t, each in slices], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        slices = zip(self.transforms, self._slices(y), strict=True)
        return flambeau.stack([t.inv(each) for t, each in slices], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        triples = zip(self.transforms, self._slices(x), self._slices(y), strict=True)
        terms = [t.log_abs_det_jacobian(before, after) for t, before, after in triples]
        return flambeau.stack(terms, self.dim)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """Whether every slice's transform is."""
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property
    def domain(self) -> Any:
        """The slices' domains."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """The slices' codomains."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
