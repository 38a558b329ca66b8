"""Transforms of one number."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..utils import broadcast_all
from .base import Transform

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "PowerTransform",
    "SigmoidTransform",
    "SoftplusTransform",
    "TanhTransform",
]


def _softplus(x: Tensor) -> Tensor:
    """``log(1 + exp(x))``."""
    return flambeau.logaddexp(x, flambeau.zeros_like(x))


class _Increasing(Transform):
    """A function of one number that grows, without parameters."""

    bijective = True
    domain = constraints.real

    @property
    def sign(self) -> Any:
        return 1

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)


class ExpTransform(_Increasing):
    r"""The exponential function, :math:`y = e^x`.

    Args:
        cache_size: 0 or 1, see :class:`Transform`.

    Example:
        >>> from flambeau.distributions import ExpTransform
        >>> ExpTransform()(flambeau.tensor(0.0))
        tensor(1.)
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class SigmoidTransform(_Increasing):
    r"""The logistic function, :math:`y = 1 / (1 + e^{-x})`.

    Args:
        cache_size: 0 or 1, see :class:`Transform`.

    Example:
        >>> from flambeau.distributions import SigmoidTransform
        >>> SigmoidTransform().inv(flambeau.tensor(0.5))
        tensor(0.)
    """

    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        return _inside(flambeau.sigmoid(x))

    def _inverse(self, y: Tensor) -> Tensor:
        y = _inside(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # the logarithm of y (1 - y)
        return -_softplus(-x) - _softplus(x)


def _inside(y: Tensor) -> Tensor:
    """Move numbers off 0 and 1, where the inverse is infinite."""
    limits = flambeau.finfo(y.dtype)
    return y.clamp(min=limits.tiny, max=1.0 - limits.eps)


class SoftplusTransform(_Increasing):
    r"""A smooth function from all numbers to the positive ones, :math:`y = \log(1 + e^x)`.

    Args:
        cache_size: 0 or 1, see :class:`Transform`.

    Example:
        >>> from flambeau.distributions import SoftplusTransform
        >>> SoftplusTransform()(flambeau.tensor(0.0))
        tensor(0.6931)
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return _softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        # log(e^y - 1) without overflow
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -_softplus(-x)


class TanhTransform(_Increasing):
    r"""The hyperbolic tangent, :math:`y = \tanh x`.

    Give it a cache where densities of its results are wanted: near -1 and 1 the inverse loses
    all digits.

    Args:
        cache_size: 0 or 1, see :class:`Transform`.

    Example:
        >>> from flambeau.distributions import TanhTransform
        >>> TanhTransform().log_abs_det_jacobian(flambeau.tensor(20.0), None)
        tensor(-38.6137)
    """

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return flambeau.atanh(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # log(1 - tanh(x)^2) = log(4) - 2 x - 2 log(1 + e^(-2 x)), which cancels nowhere
        return 2.0 * (math.log(2.0) - x - _softplus(-2.0 * x))


class AbsTransform(Transform):
    r"""The absolute value, :math:`y = |x|`; the inverse gives the argument that is not negative.

    Args:
        cache_size: 0 or 1, see :class:`Transform`.

    Example:
        >>> from flambeau.distributions import AbsTransform
        >>> AbsTransform()(flambeau.tensor(-2.0))
        tensor(2.)
    """

    domain = constraints.real
    codomain = constraints.positive

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbsTransform)

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class PowerTransform(Transform):
    r"""A power of positive numbers, :math:`y = x^a`.

    Args:
        exponent: A number or a tensor, not 0.
        cache_size: 0 or 1, see :class:`Transform`.

    Example:
        >>> from flambeau.distributions import PowerTransform
        >>> PowerTransform(flambeau.tensor(2.0))(flambeau.tensor(3.0))
        tensor(9.)
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size: int = 1) -> Any:
        """Give the same transform with a cache, or without one."""
        if self._cache_size == cache_size:
            return self
        return PowerTransform(self.exponent, cache_size=cache_size)

    @property
    def sign(self) -> Any:
        """The sign of the exponent."""
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool(
            self.exponent.eq(other.exponent).all().item()
        )

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return flambeau.broadcast_shapes(shape, getattr(self.exponent, "shape", ()))

    def inverse_shape(self, shape: Any) -> Any:
        return self.forward_shape(shape)


class AffineTransform(Transform):
    r"""A straight line, :math:`y = \mu + \sigma x`.

    Args:
        loc: The number or tensor :math:`\mu`.
        scale: The number or tensor :math:`\sigma`, not 0.
        event_dim: Number of last dimensions that are one value.
        cache_size: 0 or 1, see :class:`Transform`.

    Example:
        >>> from flambeau.distributions import AffineTransform
        >>> AffineTransform(1.0, 2.0)(flambeau.tensor([0.0, 1.0]))
        tensor([1., 3.])
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        """Number of last dimensions that are one value."""
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """All numbers, or vectors or matrices of them."""
        if self.event_dim == 0:
            return constraints.real
        return constraints.independent(constraints.real, self.event_dim)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        """All numbers, or vectors or matrices of them."""
        return self.domain

    def with_cache(self, cache_size: int = 1) -> Any:
        """Give the same transform with a cache, or without one."""
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, AffineTransform)
            and _same(self.loc, other.loc)
            and _same(self.scale, other.scale)
        )

    @property
    def sign(self) -> Any:
        """The sign of the slope."""
        if isinstance(self.scale, (int, float)):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if isinstance(self.scale, Real):
            result = flambeau.full_like(x, math.log(abs(self.scale)))
        else:
            result = self.scale.abs().log()
        shape: Any = x.shape
        if self.event_dim:
            result = result.expand(flambeau.broadcast_shapes(result.shape, shape))
            result = result.reshape(result.shape[: -self.event_dim] + (-1,)).sum(-1)
            shape = shape[: -self.event_dim]
        return result.expand(shape)

    def forward_shape(self, shape: Any) -> Any:
        return flambeau.broadcast_shapes(
            shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ())
        )

    def inverse_shape(self, shape: Any) -> Any:
        return self.forward_shape(shape)


def _same(a: Any, b: Any) -> bool:
    """Whether two numbers or tensors are equal."""
    if isinstance(a, Real) and isinstance(b, Real):
        return a == b
    equal = a == b
    return bool(equal.all().item() if isinstance(equal, Tensor) else equal)


class CumulativeDistributionTransform(Transform):
    r"""The distribution function of a distribution, :math:`y = F(x)`.

    Args:
        distribution: A distribution of numbers with ``cdf``, and ``icdf`` for the inverse.
        cache_size: 0 or 1, see :class:`Transform`.

    Example:
        >>> from flambeau.distributions import CumulativeDistributionTransform, Normal
        >>> CumulativeDistributionTransform(Normal(0.0, 1.0))(flambeau.tensor(0.0))
        tensor(0.5000)
    """

    bijective = True
    codomain = constraints.unit_interval

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def sign(self) -> Any:
        """1: distribution functions grow."""
        return 1

    @property
    def domain(self) -> Any:
        """The support of the distribution."""
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size: int = 1) -> Any:
        """Give the same transform with a cache, or without one."""
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)
