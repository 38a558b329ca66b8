"""The gamma distribution."""

from __future__ import annotations

from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..exp_family import ExponentialFamily
from ..utils import broadcast_all

__all__ = ["Gamma"]


def standard_gamma(concentration: Tensor) -> Tensor:
    """Gamma numbers of rate 1, which move with their concentrations."""
    return flambeau.core.ops.standard_gamma(concentration)


class Gamma(ExponentialFamily):
    r"""The gamma distribution.

    .. math:: p(x) = \frac{\beta^\alpha}{\Gamma(\alpha)} x^{\alpha - 1} e^{-\beta x}

    Args:
        concentration: The shape :math:`\alpha`, positive, a number or a tensor.
        rate: The rate :math:`\beta`, positive; broadcasts with ``concentration``.
        validate_args: Whether arguments are checked.

    Example:
        >>> from flambeau.distributions import Gamma
        >>> Gamma(3.0, 2.0).mean, Gamma(1.0, 1.0).cdf(flambeau.tensor(1.0))
        (tensor(1.5000), tensor(0.6321))
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self, concentration: Any, rate: Any, validate_args: bool | None = None
    ) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(Gamma, _instance, batch_shape, concentration=0, rate=0)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        # log_prob() of 0 may be infinite, and so may its gradient
        value.detach().clamp_(min=flambeau.finfo(value.dtype).tiny)
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        value = flambeau.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        self._check(value)
        return (
            flambeau.xlogy(self.concentration, self.rate)
            + flambeau.xlogy(self.concentration - 1, value)
            - self.rate * value
            - flambeau.lgamma(self.concentration)
        )

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        return flambeau.special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        alpha = self.concentration
        return alpha - self.rate.log() + alpha.lgamma() + (1 - alpha) * alpha.digamma()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return flambeau.lgamma(x + 1) - (x + 1) * (-y).log()
