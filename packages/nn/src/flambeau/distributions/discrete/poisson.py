"""The Poisson distribution."""

from __future__ import annotations

from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..exp_family import ExponentialFamily
from ..utils import broadcast_all

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    r"""The Poisson distribution of counts.

    .. math:: P(k) = \frac{\lambda^k}{k!} e^{-\lambda}

    Args:
        rate: The mean :math:`\lambda`, not negative, a number or a tensor.
        validate_args: Whether arguments are checked.

    Example:
        >>> from flambeau.distributions import Poisson
        >>> Poisson(2.0).log_prob(flambeau.tensor(0.0))
        tensor(-2.)
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(Poisson, _instance, batch_shape, rate=0)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with flambeau.no_grad():
            return flambeau.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        rate, value = broadcast_all(self.rate, value)
        return flambeau.xlogy(value, rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.rate.log(),)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x.exp()
