"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..exp_family import ExponentialFamily
from ..utils import broadcast_all, standard_normal

__all__ = ["Normal"]

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


class Normal(ExponentialFamily):
    r"""The normal, or Gaussian, distribution.

    .. math:: p(x) = \frac{1}{\sigma \sqrt{2\pi}} \exp\left(-\frac{(x - \mu)^2}{2\sigma^2}\right)

    Args:
        loc: The mean :math:`\mu`, a number or a tensor.
        scale: The standard deviation :math:`\sigma`, positive; broadcasts with ``loc``.
        validate_args: Whether arguments are checked.

    Example:
        >>> from flambeau.distributions import Normal
        >>> normal = Normal(1.0, 2.0)
        >>> normal.mean, normal.log_prob(flambeau.tensor(1.0))
        (tensor(1.), tensor(-1.6121))
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(Normal, _instance, batch_shape, loc=0, scale=0)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with flambeau.no_grad():
            return flambeau.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.loc + standard_normal(shape, self.loc.dtype, self.loc.device) * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        z = (value - self.loc) / self.scale
        return -0.5 * z * z - self.scale.log() - _HALF_LOG_TWO_PI

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        return flambeau.special.ndtr((value - self.loc) / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * flambeau.special.ndtri(value)

    def entropy(self) -> Tensor:
        return 0.5 + _HALF_LOG_TWO_PI + self.scale.log()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        precision = self.scale.pow(-2)
        return self.loc * precision, -0.5 * precision

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return -0.25 * x.pow(2) / y + 0.5 * (-math.pi / y).log()
