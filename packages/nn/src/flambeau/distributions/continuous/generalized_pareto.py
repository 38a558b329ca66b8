"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..distribution import Distribution
from ..utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    r"""The generalized Pareto distribution, of values above a high threshold.

    .. math:: F(x) = 1 - \left(1 + \xi \frac{x - \mu}{\sigma}\right)^{-1 / \xi}

    which is :math:`1 - e^{-(x - \mu) / \sigma}` for :math:`\xi = 0` (J. Pickands, "Statistical
    inference using extreme order statistics", 1975).

    Args:
        loc: The threshold :math:`\mu`, a number or a tensor.
        scale: The scale :math:`\sigma`, positive.
        concentration: The shape :math:`\xi`, any number.
        validate_args: Whether arguments are checked.

    Example:
        >>> from flambeau.distributions import GeneralizedPareto
        >>> GeneralizedPareto(0.0, 1.0, 0.5).mean
        tensor(2.)
    """

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(
        self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        xi = self.concentration
        upper = flambeau.where(xi < 0, self.loc - self.scale / xi, math.inf)
        return constraints.interval(self.loc, upper)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(
            GeneralizedPareto, _instance, batch_shape, loc=0, scale=0, concentration=0
        )

    def _exponential(self) -> tuple[Tensor, Tensor]:
        """Where the shape is zero, and the shape with ones there, by which may be divided."""
        zero = self.concentration.abs() <= 1e-8
        return zero, flambeau.where(zero, 1.0, self.concentration)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(flambeau.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        z = (value - self.loc) / self.scale
        zero, xi = self._exponential()
        power = 1 / xi + 1
        # at xi = -1 the density is constant up to the end, where the logarithm is infinite
        general = flambeau.where(power == 0, 0.0, power * flambeau.log1p(xi * z))
        return -self.scale.log() - flambeau.where(zero, z, general)

    def log_survival_function(self, value: Tensor) -> Tensor:
        r"""Give :math:`\log(1 - F(x))`.

        Args:
            value: Values, whose shape broadcasts with ``batch_shape``.

        Returns:
            A tensor of the broadcast shape.

        Example:
            >>> from flambeau.distributions import GeneralizedPareto
            >>> GeneralizedPareto(0.0, 1.0, 0.0).log_survival_function(flambeau.tensor(2.0))
            tensor(-2.)
        """
        self._check(value)
        z = (value - self.loc) / self.scale
        zero, xi = self._exponential()
        return flambeau.where(zero, -z, -flambeau.log1p(xi * z) / xi)

    def log_cdf(self, value: Tensor) -> Tensor:
        r"""Give :math:`\log F(x)`.

        Args:
            value: Values, whose shape broadcasts with ``batch_shape``.

        Returns:
            A tensor of the broadcast shape.

        Example:
            >>> from flambeau.distributions import GeneralizedPareto
            >>> GeneralizedPareto(0.0, 1.0, 0.0).log_cdf(flambeau.tensor(2.0))
            tensor(-0.1454)
        """
        return self.cdf(value).log()

    def cdf(self, value: Tensor) -> Tensor:
        return -flambeau.expm1(self.log_survival_function(value))

    def icdf(self, value: Tensor) -> Tensor:
        log_rest = flambeau.log1p(-value)
        zero, xi = self._exponential()
        z = flambeau.where(zero, -log_rest, flambeau.expm1(-xi * log_rest) / xi)
        return self.loc + self.scale * z

    @property
    def mean(self) -> Tensor:
        xi = self.concentration
        rest = flambeau.where(xi < 1, 1 - xi, math.nan)
        return self.loc + self.scale / rest

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        xi = self.concentration
        rest = flambeau.where(xi < 0.5, 1 - 2 * xi, math.nan)
        return self.scale.square() / ((1 - xi).square() * rest)

    def entropy(self) -> Tensor:
        return (self.scale.log() + self.concentration + 1).expand(self._batch_shape)
