"""The log-normal distribution."""

from __future__ import annotations

from typing import Any

import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..combined.transformed_distribution import TransformedDistribution
from ..transforms import ExpTransform
from .normal import Normal

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    r"""The distribution of a number whose logarithm is normal.

    .. math:: p(x) = \frac{1}{x \sigma \sqrt{2\pi}}
        \exp\left(-\frac{(\log x - \mu)^2}{2\sigma^2}\right)

    Args:
        loc: The mean :math:`\mu` of the logarithm, a number or a tensor.
        scale: The standard deviation :math:`\sigma` of the logarithm, positive.
        validate_args: Whether arguments are checked.

    Example:
        >>> from flambeau.distributions import LogNormal
        >>> LogNormal(0.0, 1.0).mean
        tensor(1.6487)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(LogNormal, _instance)
        return super().expand(batch_shape, _instance=new)

    @property
    def loc(self) -> Tensor:
        """The mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the logarithm."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        squared = self.scale.pow(2)
        return squared.expm1() * (2 * self.loc + squared).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc
