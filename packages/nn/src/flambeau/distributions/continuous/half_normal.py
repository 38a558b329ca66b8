"""The half-normal distribution."""

from __future__ import annotations

import math
from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..combined.transformed_distribution import TransformedDistribution
from ..transforms import AbsTransform
from .normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(TransformedDistribution):
    r"""The distribution of the size of a normal number of mean 0.

    .. math:: p(x) = \frac{\sqrt 2}{\sigma \sqrt\pi} e^{-x^2 / (2 \sigma^2)}, \quad x \ge 0

    Args:
        scale: The standard deviation :math:`\sigma` of the normal number, positive.
        validate_args: Whether arguments are checked.

    Example:
        >>> from flambeau.distributions import HalfNormal
        >>> HalfNormal(1.0).mean
        tensor(0.7979)
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(HalfNormal, _instance)
        return super().expand(batch_shape, _instance=new)

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the normal number."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Tensor:
        return flambeau.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        both = self.base_dist.log_prob(value) + math.log(2)
        return flambeau.where(value >= 0, both, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        return flambeau.erf(value / (self.scale * math.sqrt(2)))

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
