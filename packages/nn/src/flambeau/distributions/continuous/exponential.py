"""The exponential distribution."""

from __future__ import annotations

from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..exp_family import ExponentialFamily
from ..utils import broadcast_all

__all__ = ["Exponential"]


class Exponential(ExponentialFamily):
    r"""The exponential distribution of waiting times.

    .. math:: p(x) = \lambda e^{-\lambda x}, \quad x \ge 0

    Args:
        rate: The rate :math:`\lambda`, positive, a number or a tensor.
        validate_args: Whether arguments are checked.

    Example:
        >>> from flambeau.distributions import Exponential
        >>> Exponential(0.5).mean
        tensor(2.)
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(Exponential, _instance, batch_shape, rate=0)

    @property
    def mean(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        return flambeau.zeros_like(self.rate)

    @property
    def stddev(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def variance(self) -> Tensor:
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.rate.new_empty(shape).exponential_() / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        return -flambeau.expm1(-self.rate * value)

    def icdf(self, value: Tensor) -> Tensor:
        return -flambeau.log1p(-value) / self.rate

    def entropy(self) -> Tensor:
        return 1 - self.rate.log()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (-self.rate,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return -(-x).log()
