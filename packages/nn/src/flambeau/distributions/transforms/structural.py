"""Transforms made of others, one after the other or over more dimensions, and reshaping."""

from __future__ import annotations

import math
from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..utils import sum_rightmost
from .base import Transform

__all__ = ["ComposeTransform", "IndependentTransform", "ReshapeTransform", "identity_transform"]


class ComposeTransform(Transform):
    r"""Transforms one after the other, the first in the list first.

    Args:
        parts: A list of transforms; none are the identity.
        cache_size: 0 or 1; 1 gives a cache to every part.

    Example:
        >>> from flambeau.distributions import AffineTransform, ComposeTransform, ExpTransform
        >>> ComposeTransform([AffineTransform(0.0, 2.0), ExpTransform()])(flambeau.zeros(2))
        tensor([1., 1.])
    """

    def __init__(self, parts: Any, cache_size: int = 0) -> None:
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """The domain of the first part, of as many dimensions as later ones need."""
        if not self.parts:
            return constraints.real
        dims = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            dims += part.domain.event_dim - part.codomain.event_dim
            dims = max(dims, part.domain.event_dim)
        return _of_dims(self.parts[0].domain, dims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        """The codomain of the last part, of as many dimensions as earlier ones need."""
        if not self.parts:
            return constraints.real
        dims = self.parts[0].domain.event_dim
        for part in self.parts:
            dims += part.codomain.event_dim - part.domain.event_dim
            dims = max(dims, part.codomain.event_dim)
        return _of_dims(self.parts[-1].codomain, dims)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """Whether every part is."""
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        """The product of the parts' signs."""
        sign = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self) -> Any:
        """The inverses of the parts, in the opposite order."""
        import weakref

        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv = weakref.ref(inverse)
            inverse._inv = weakref.ref(self)
        return inverse

    def with_cache(self, cache_size: int = 1) -> Any:
        """Give the same transform with a cache, or without one."""
        if self._cache_size == cache_size:
            return self
        return ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return flambeau.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        dims = self.domain.event_dim
        total: Any = 0
        for part, before, after in zip(self.parts, values[:-1], values[1:], strict=True):
            term = part.log_abs_det_jacobian(before, after)
            total = total + sum_rightmost(term, dims - part.domain.event_dim)
            dims += part.codomain.event_dim - part.domain.event_dim
        return total

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        parts = ",\n    ".join(repr(part) for part in self.parts)
        return f"{type(self).__name__}(\n    {parts}\n)"


def _of_dims(constraint: Any, dims: int) -> Any:
    """A constraint, made independent over dimensions that it lacks."""
    if dims == constraint.event_dim:
        return constraint
    return constraints.independent(constraint, dims - constraint.event_dim)


#: The transform that changes nothing.
identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    r"""A transform whose last batch dimensions are one value, over which determinants multiply.

    Args:
        base_transform: The transform of each element.
        reinterpreted_batch_ndims: Number of dimensions that become part of the value.
        cache_size: 0 or 1, see :class:`Transform`.

    Example:
        >>> from flambeau.distributions import ExpTransform, IndependentTransform
        >>> x = flambeau.ones(2, 3)
        >>> IndependentTransform(ExpTransform(), 1).log_abs_det_jacobian(x, x.exp())
        tensor([3., 3.])
    """

    def __init__(
        self, base_transform: Any, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Any:
        """Give the same transform with a cache, or without one."""
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(
            self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size
        )

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """The base's domain, over more dimensions."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        """The base's codomain, over more dimensions."""
        return constraints.independent(
            self.base_transform.codomain, self.reinterpreted_batch_ndims
        )

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """Whether the base is."""
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        """The base's sign."""
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        self._expect(x, self.domain, "argument")
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        self._expect(y, self.codomain, "value")
        return self.base_transform.inv(y)

    def _expect(self, x: Tensor, constraint: Any, what: str) -> None:
        if x.dim() < constraint.event_dim:
            raise ValueError(
                f"an {what} of this transform has {constraint.event_dim} dimensions or more, not "
                f"shape {tuple(x.shape)}"
            )

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        result = self.base_transform.log_abs_det_jacobian(x, y)
        return sum_rightmost(result, self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    r"""The same elements in another shape; the determinant is 1.

    Args:
        in_shape: The last dimensions of arguments.
        out_shape: The last dimensions of results.
        cache_size: 0 or 1, see :class:`Transform`.

    Raises:
        ValueError: The shapes have different numbers of elements.

    Example:
        >>> from flambeau.distributions import ReshapeTransform
        >>> ReshapeTransform((4,), (2, 2))(flambeau.zeros(3, 4)).shape
        flambeau.Size([3, 2, 2])
    """

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape = flambeau.Size(in_shape)
        self.out_shape = flambeau.Size(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ValueError(
                f"in_shape {tuple(self.in_shape)} and out_shape {tuple(self.out_shape)} have "
                "different numbers of elements"
            )
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        """Numbers of the shape of arguments."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        """Numbers of the shape of results."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Any:
        """Give the same transform with a cache, or without one."""
        if self._cache_size == cache_size:
            return self
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        return _replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return _replaced(shape, self.out_shape, self.in_shape)


def _replaced(shape: Any, old: Any, new: Any) -> Any:
    """A shape with its last dimensions exchanged."""
    cut = len(shape) - len(old)
    if cut < 0 or tuple(shape[cut:]) != tuple(old):
        raise ValueError(f"shape {tuple(shape)} does not end with {tuple(old)}")
    return shape[:cut] + new
