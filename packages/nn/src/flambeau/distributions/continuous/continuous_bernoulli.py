"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..exp_family import ExponentialFamily
from ..odds import Odds, one_of
from ..utils import broadcast_all, clamp_probs, lazy_property

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(Odds, ExponentialFamily):
    r"""The continuous Bernoulli distribution on :math:`[0, 1]`.

    .. math:: p(x) = C(\lambda) \lambda^x (1 - \lambda)^{1 - x}, \qquad
        C(\lambda) = \frac{2 \operatorname{artanh}(1 - 2\lambda)}{1 - 2\lambda}

    and :math:`C(1/2) = 2`; around one half Taylor series are used (G. Loaiza-Ganem and J. P.
    Cunningham, "The continuous Bernoulli: fixing a pervasive error in variational
    autoencoders", 2019).

    Args:
        probs: The parameter :math:`\lambda`, a number or a tensor, from 0 to 1.
        logits: Its log odds, instead.
        lims: The interval around one half where Taylor series are used.
        validate_args: Whether arguments are checked.

    Example:
        >>> from flambeau.distributions import ContinuousBernoulli
        >>> ContinuousBernoulli(0.5).mean
        tensor(0.5000)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        one_of(self, probs, logits)
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
            checks = self._validate_args if validate_args is None else validate_args
            if checks and not constraints.unit_interval.check(self.probs).all():
                raise ValueError(f"The parameter probs lies from 0 to 1, not {self.probs}")
            self.probs = clamp_probs(self.probs)
        else:
            (self.logits,) = broadcast_all(logits)
        self._lims = lims
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(ContinuousBernoulli, _instance, batch_shape, probs=0, logits=0)
        new._lims = self._lims
        return new

    @lazy_property
    def probs(self) -> Tensor:
        """The parameter, moved inside (0, 1)."""
        return clamp_probs(flambeau.sigmoid(self.logits))

    def _split(self) -> tuple[Tensor, Tensor, Tensor]:
        """Where closed forms hold, chances moved there, and how far chances lie from 1/2."""
        low, high = self._lims
        stable = (self.probs <= low) | (self.probs > high)
        return stable, flambeau.where(stable, self.probs, low), self.probs - 0.5

    def _log_norm(self) -> Tensor:
        """The logarithm of C: 2 (1 + 4 h^2 / 3 + 16 h^4 / 5 ...) with h = lambda - 1/2."""
        stable, cut, h = self._split()
        closed = _log_odds(cut).abs().log() - (1 - 2 * cut).abs().log()
        h = h * h
        return flambeau.where(stable, closed, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * h) * h)

    @property
    def mean(self) -> Tensor:
        stable, cut, h = self._split()
        closed = cut / (2 * cut - 1) - 1 / _log_odds(cut)
        return flambeau.where(stable, closed, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * h * h) * h)

    @property
    def variance(self) -> Tensor:
        stable, cut, h = self._split()
        closed = cut * (cut - 1) / (1 - 2 * cut).square() + 1 / _log_odds(cut).square()
        h = h * h
        return flambeau.where(stable, closed, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * h) * h)

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(flambeau.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        loss = flambeau.nn.functional.binary_cross_entropy_with_logits
        return -loss(logits, value, reduction="none") + self._log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        stable, cut, _ = self._split()
        closed = (cut.pow(value) * (1 - cut).pow(1 - value) + cut - 1) / (2 * cut - 1)
        inside = flambeau.where(stable, closed, value)
        return flambeau.where(value <= 0, 0.0, flambeau.where(value >= 1, 1.0, inside))

    def icdf(self, value: Tensor) -> Tensor:
        stable, cut, _ = self._split()
        rest = (-cut).log1p()
        closed = ((-cut + value * (2 * cut - 1)).log1p() - rest) / (cut.log() - rest)
        return flambeau.where(stable, closed, value)

    def entropy(self) -> Tensor:
        return -self.mean * self.logits - self._log_norm() - (-self.probs).log1p()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        """The logarithm of (e^x - 1) / x, which is x / 2 + x^2 / 24 - x^4 / 2880 around 0."""
        low, high = (math.log(p) - math.log1p(-p) for p in self._lims)
        stable = (x <= low) | (x > high)
        cut = flambeau.where(stable, x, low)
        closed = (cut.expm1().abs()).log() - cut.abs().log()
        square = x * x
        return flambeau.where(stable, closed, 0.5 * x + square / 24.0 - square * square / 2880.0)


def _log_odds(probs: Tensor) -> Tensor:
    return probs.log() - (-probs).log1p()
