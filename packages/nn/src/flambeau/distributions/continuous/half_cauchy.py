"""The half-Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..combined.transformed_distribution import TransformedDistribution
from ..transforms import AbsTransform
from .cauchy import Cauchy

__all__ = ["HalfCauchy"]


class HalfCauchy(TransformedDistribution):
    r"""The distribution of the size of a Cauchy number of median 0.

    .. math:: p(x) = \frac{2}{\pi \gamma (1 + (x / \gamma)^2)}, \quad x \ge 0

    Args:
        scale: The scale :math:`\gamma` of the Cauchy number, positive.
        validate_args: Whether arguments are checked.

    Example:
        >>> from flambeau.distributions import HalfCauchy
        >>> HalfCauchy(1.0).cdf(flambeau.tensor(1.0))
        tensor(0.5000)
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        base = Cauchy(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(HalfCauchy, _instance)
        return super().expand(batch_shape, _instance=new)

    @property
    def scale(self) -> Tensor:
        """The scale of the Cauchy number."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return flambeau.full(self._extended_shape(), math.inf, dtype=self.scale.dtype,
                             device=self.scale.device)

    @property
    def mode(self) -> Tensor:
        return flambeau.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        value = flambeau.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        both = self.base_dist.log_prob(value) + math.log(2)
        return flambeau.where(value >= 0, both, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        return flambeau.atan(value / self.scale) * (2 / math.pi)

    def icdf(self, value: Tensor) -> Tensor:
        return flambeau.tan(value * (math.pi / 2)) * self.scale

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
