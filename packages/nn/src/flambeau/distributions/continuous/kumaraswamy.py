"""Kumaraswamy's distribution."""

from __future__ import annotations

import math
from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..combined.transformed_distribution import TransformedDistribution
from ..transforms import AffineTransform, PowerTransform
from ..utils import broadcast_all, euler_constant
from .uniform import Uniform

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    r"""Kumaraswamy's distribution of a chance, like a beta distribution with a simple inverse.

    .. math:: F(x) = 1 - (1 - x^a)^b

    Args:
        concentration1: :math:`a`, positive, a number or a tensor.
        concentration0: :math:`b`, positive.
        validate_args: Whether arguments are checked.

    Example:
        >>> from flambeau.distributions import Kumaraswamy
        >>> Kumaraswamy(1.0, 1.0).mean
        tensor(0.5000)
    """

    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        zero = flambeau.zeros_like(self.concentration0)
        base = Uniform(zero, flambeau.ones_like(zero), validate_args=validate_args)
        super().__init__(base, self._steps(), validate_args=validate_args)

    def _steps(self) -> list[Any]:
        """The inverse of F, of 1 - u: u is uniform as well."""
        return [
            PowerTransform(self.concentration0.reciprocal()),
            AffineTransform(1.0, -1.0),
            PowerTransform(self.concentration1.reciprocal()),
        ]

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Kumaraswamy, _instance)
        new.concentration1 = self.concentration1.expand(batch_shape)
        new.concentration0 = self.concentration0.expand(batch_shape)
        return super().expand(batch_shape, _instance=new)

    def _moment(self, n: int) -> Tensor:
        """The mean of x^n: b B(1 + n / a, b)."""
        b, power = self.concentration0, 1 + n / self.concentration1
        return b * (power.lgamma() + b.lgamma() - (power + b).lgamma()).exp()

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        # where the derivative of the density is zero; it has no such point below 1
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)).pow(a.reciprocal())
        return flambeau.where((a >= 1) & (b >= 1) & (a * b > 1), mode, math.nan)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self._moment(1).square()

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
