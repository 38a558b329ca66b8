"""Student's t-distribution."""

from __future__ import annotations

import math
from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..distribution import Distribution
from ..utils import broadcast_all, standard_normal
from .chi2 import Chi2

__all__ = ["StudentT"]


class StudentT(Distribution):
    r"""Student's t-distribution, of a normal number over the root of a mean of squares.

    .. math:: p(x) = \frac{\Gamma((\nu + 1) / 2)}{\sigma \sqrt{\nu \pi}\, \Gamma(\nu / 2)}
        \left(1 + \frac{(x - \mu)^2}{\nu \sigma^2}\right)^{-(\nu + 1) / 2}

    Args:
        df: Degrees of freedom :math:`\nu`, positive, a number or a tensor.
        loc: The median :math:`\mu`.
        scale: The scale :math:`\sigma`, positive.
        validate_args: Whether arguments are checked.

    Example:
        >>> from flambeau.distributions import StudentT
        >>> StudentT(4.0).variance
        tensor(2.)
    """

    arg_constraints = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

    def __init__(
        self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(StudentT, _instance, batch_shape, df=0, loc=0, scale=0)
        new._chi2 = self._chi2.expand(batch_shape)
        return new

    @property
    def mean(self) -> Tensor:
        return flambeau.where(self.df > 1, self.loc, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        df = flambeau.where(self.df > 2, self.df, math.inf)
        finite = self.scale.pow(2) * flambeau.where(self.df > 2, self.df / (df - 2), math.inf)
        return flambeau.where(self.df > 1, finite, math.nan)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        normal = standard_normal(shape, self.df.dtype, self.df.device)
        squares = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * normal * flambeau.rsqrt(squares / self.df)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        z = (value - self.loc) / self.scale
        half = 0.5 * self.df
        normalizer = (
            self.scale.log()
            + 0.5 * (self.df * math.pi).log()
            + half.lgamma()
            - (half + 0.5).lgamma()
        )
        return -(half + 0.5) * (z.square() / self.df).log1p() - normalizer

    def entropy(self) -> Tensor:
        half = 0.5 * self.df
        log_beta = half.lgamma() + 0.5 * math.log(math.pi) - (half + 0.5).lgamma()
        slopes = (half + 0.5) * ((half + 0.5).digamma() - half.digamma())
        return self.scale.log() + slopes + 0.5 * self.df.log() + log_beta
