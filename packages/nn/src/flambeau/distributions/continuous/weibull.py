"""The Weibull distribution."""

from __future__ import annotations

import math
from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..combined.transformed_distribution import TransformedDistribution
from ..transforms import AffineTransform, PowerTransform
from ..utils import broadcast_all, euler_constant
from .exponential import Exponential

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    r"""The Weibull distribution of lifetimes.

    .. math:: p(x) = \frac{k}{\lambda} \left(\frac{x}{\lambda}\right)^{k - 1}
        e^{-(x / \lambda)^k}, \quad x > 0

    Args:
        scale: The scale :math:`\lambda`, positive, a number or a tensor.
        concentration: The shape :math:`k`, positive.
        validate_args: Whether arguments are checked.

    Example:
        >>> from flambeau.distributions import Weibull
        >>> Weibull(2.0, 1.0).mean
        tensor(2.)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(
        self, scale: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(flambeau.ones_like(self.scale), validate_args=validate_args)
        super().__init__(base, self._steps(), validate_args=validate_args)

    def _steps(self) -> list[Any]:
        return [
            PowerTransform(exponent=self.concentration.reciprocal()),
            AffineTransform(loc=0, scale=self.scale),
        ]

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Weibull, _instance)
        new.scale = self.scale.expand(batch_shape)
        new.concentration = self.concentration.expand(batch_shape)
        return super().expand(batch_shape, _instance=new)

    def _gamma(self, n: int) -> Tensor:
        """The gamma function of 1 + n / k, the mean of (x / scale)^n."""
        return (1 + n / self.concentration).lgamma().exp()

    @property
    def mean(self) -> Tensor:
        return self.scale * self._gamma(1)

    @property
    def mode(self) -> Tensor:
        k = self.concentration
        mode = self.scale * ((k - 1) / k).clamp(min=0).pow(k.reciprocal())
        return flambeau.where(k < 1, math.nan, mode)    # the density has no maximum

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (self._gamma(2) - self._gamma(1).square())

    def entropy(self) -> Tensor:
        k = self.concentration
        return euler_constant * (1 - k.reciprocal()) + (self.scale / k).log() + 1
