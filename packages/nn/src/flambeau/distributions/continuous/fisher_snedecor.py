"""The distribution of Fisher and Snedecor."""

from __future__ import annotations

import math
from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..distribution import Distribution
from ..utils import broadcast_all
from .gamma import Gamma

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    r"""The F-distribution, of the ratio of two means of squares of normal numbers.

    .. math:: p(x) = \frac{1}{B(d_1 / 2, d_2 / 2)} \left(\frac{d_1}{d_2}\right)^{d_1 / 2}
        x^{d_1 / 2 - 1} \left(1 + \frac{d_1}{d_2} x\right)^{-(d_1 + d_2) / 2}

    Args:
        df1: Degrees of freedom of the numerator, positive, a number or a tensor.
        df2: Degrees of freedom of the denominator, positive.
        validate_args: Whether arguments are checked.

    Example:
        >>> from flambeau.distributions import FisherSnedecor
        >>> FisherSnedecor(3.0, 4.0).mean
        tensor(2.)
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(FisherSnedecor, _instance, batch_shape, df1=0, df2=0)
        new._gamma1 = self._gamma1.expand(batch_shape)
        new._gamma2 = self._gamma2.expand(batch_shape)
        return new

    @property
    def mean(self) -> Tensor:
        return flambeau.where(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return flambeau.where(self.df1 > 2, mode, math.nan)

    @property
    def variance(self) -> Tensor:
        d1, d2 = self.df1, self.df2
        spread = 2 * d2.pow(2) * (d1 + d2 - 2) / (d1 * (d2 - 2).pow(2) * (d2 - 4))
        return flambeau.where(d2 > 4, spread, math.nan)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        above = self._gamma1.rsample(sample_shape)
        below = self._gamma2.rsample(sample_shape)
        ratio = above / below
        ratio.detach().clamp_(min=flambeau.finfo(ratio.dtype).tiny)
        return ratio

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        log_beta = a.lgamma() + b.lgamma() - (a + b).lgamma()
        return (
            a * ratio.log()
            + (a - 1) * value.log()
            - (a + b) * flambeau.log1p(ratio * value)
            - log_beta
        )
