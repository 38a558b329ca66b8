"""The Gumbel distribution."""

from __future__ import annotations

import math
from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..combined.transformed_distribution import TransformedDistribution
from ..transforms import AffineTransform, ExpTransform
from ..utils import broadcast_all, euler_constant
from .uniform import Uniform

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    r"""The Gumbel distribution of largest values.

    .. math:: F(x) = \exp(-e^{-(x - \mu) / \beta})

    Args:
        loc: The mode :math:`\mu`, a number or a tensor.
        scale: The scale :math:`\beta`, positive.
        validate_args: Whether arguments are checked.

    Example:
        >>> from flambeau.distributions import Gumbel
        >>> Gumbel(0.0, 1.0).mean
        tensor(0.5772)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = flambeau.finfo(self.loc.dtype)
        low = flambeau.full_like(self.loc, limits.tiny)
        base = Uniform(low, flambeau.full_like(low, 1 - limits.eps), validate_args=validate_args)
        super().__init__(base, self._steps(), validate_args=validate_args)

    def _steps(self) -> list[Any]:
        """The inverse of F: the logarithm, its sign changed, and again, then scale and mode."""
        return [
            ExpTransform().inv,
            AffineTransform(0, -flambeau.ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(self.loc, -self.scale),
        ]

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Gumbel, _instance)
        new.loc = self.loc.expand(batch_shape)
        new.scale = self.scale.expand(batch_shape)
        return super().expand(batch_shape, _instance=new)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
