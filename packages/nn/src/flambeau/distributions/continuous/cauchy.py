"""The Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..distribution import Distribution
from ..utils import broadcast_all

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    r"""The Cauchy, or Lorentz, distribution, which has no mean.

    .. math:: p(x) = \frac{1}{\pi \gamma (1 + ((x - x_0) / \gamma)^2)}

    Args:
        loc: The median :math:`x_0`, a number or a tensor.
        scale: Half the width at half the height, :math:`\gamma`, positive.
        validate_args: Whether arguments are checked.

    Example:
        >>> from flambeau.distributions import Cauchy
        >>> Cauchy(0.0, 1.0).cdf(flambeau.tensor(1.0))
        tensor(0.7500)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(Cauchy, _instance, batch_shape, loc=0, scale=0)

    @property
    def mean(self) -> Tensor:
        return flambeau.full_like(self.loc, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return flambeau.full_like(self.loc, math.inf)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.loc + self.loc.new_empty(shape).cauchy_() * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        z = (value - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - z.square().log1p()

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        return flambeau.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return flambeau.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()
