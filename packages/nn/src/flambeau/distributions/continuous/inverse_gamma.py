"""The inverse gamma distribution."""

from __future__ import annotations

import math
from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..combined.transformed_distribution import TransformedDistribution
from ..transforms import PowerTransform
from .gamma import Gamma

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    r"""The distribution of the reciprocal of a gamma number.

    .. math:: p(x) = \frac{\beta^\alpha}{\Gamma(\alpha)} x^{-\alpha - 1} e^{-\beta / x}

    Args:
        concentration: The shape :math:`\alpha`, positive, a number or a tensor.
        rate: The rate :math:`\beta` of the gamma number, positive.
        validate_args: Whether arguments are checked.

    Example:
        >>> from flambeau.distributions import InverseGamma
        >>> InverseGamma(3.0, 2.0).mean
        tensor(1.)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(
        self, concentration: Any, rate: Any, validate_args: bool | None = None
    ) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        inverse = PowerTransform(-base.rate.new_ones(()))
        super().__init__(base, inverse, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(InverseGamma, _instance)
        return super().expand(batch_shape, _instance=new)

    @property
    def concentration(self) -> Tensor:
        """The shape."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """The rate of the gamma number."""
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        alpha = self.concentration
        return flambeau.where(alpha > 1, self.rate / (alpha - 1), math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        alpha = self.concentration
        finite = self.rate.square() / ((alpha - 1).square() * (alpha - 2))
        return flambeau.where(alpha > 2, finite, math.inf)

    def entropy(self) -> Tensor:
        alpha = self.concentration
        return alpha + self.rate.log() + alpha.lgamma() - (1 + alpha) * alpha.digamma()
