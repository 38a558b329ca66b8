"""The Pareto distribution."""

from __future__ import annotations

import math
from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..combined.transformed_distribution import TransformedDistribution
from ..transforms import AffineTransform, ExpTransform
from ..utils import broadcast_all
from .exponential import Exponential

__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    r"""The Pareto distribution, of the first kind.

    .. math:: p(x) = \frac{\alpha m^\alpha}{x^{\alpha + 1}}, \quad x \ge m

    Args:
        scale: The least value :math:`m`, positive, a number or a tensor.
        alpha: The exponent :math:`\alpha`, positive.
        validate_args: Whether arguments are checked.

    Example:
        >>> from flambeau.distributions import Pareto
        >>> Pareto(1.0, 2.0).mean
        tensor(2.)
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        super().__init__(base, self._steps(), validate_args=validate_args)

    def _steps(self) -> list[Any]:
        return [ExpTransform(), AffineTransform(loc=0, scale=self.scale)]

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Pareto, _instance)
        new.scale = self.scale.expand(batch_shape)
        new.alpha = self.alpha.expand(batch_shape)
        return super().expand(batch_shape, _instance=new)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        a = self.alpha
        return flambeau.where(a > 1, a * self.scale / (a - 1), math.inf)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        a = self.alpha
        finite = self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))
        return flambeau.where(a > 2, finite, math.inf)

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
