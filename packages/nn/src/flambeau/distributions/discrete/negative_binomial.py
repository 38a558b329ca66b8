"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..continuous.gamma import Gamma
from ..distribution import Distribution
from ..odds import Odds, one_of
from ..utils import broadcast_all, lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Odds, Distribution):
    r"""The negative binomial distribution, of the number of successes before :math:`r` failures.

    .. math:: P(k) = \frac{\Gamma(r + k)}{\Gamma(r) \, k!} (1 - p)^r p^k

    Args:
        total_count: The number of failures :math:`r`, not negative; it need be no integer.
        probs: The chance :math:`p` of a success, from 0, below 1.
        logits: Its log odds, instead.
        validate_args: Whether arguments are checked.

    Raises:
        ValueError: Both parameters are given, or neither.

    Example:
        >>> from flambeau.distributions import NegativeBinomial
        >>> NegativeBinomial(2, flambeau.tensor(0.5)).mean
        tensor(2.)
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self,
        total_count: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        one_of(self, probs, logits)
        if probs is not None:
            self.total_count, self.probs = broadcast_all(total_count, probs)
        else:
            self.total_count, self.logits = broadcast_all(total_count, logits)
        self.total_count = self.total_count.to(self._param.dtype)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(
            NegativeBinomial, _instance, batch_shape, total_count=0, probs=0, logits=0
        )

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / flambeau.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Any:
        """The distribution of the rate of Poisson numbers, of which this is the mixture."""
        return Gamma(self.total_count, (-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with flambeau.no_grad():
            return flambeau.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        r, log_chance = self.total_count, flambeau.nn.functional.logsigmoid
        chances = r * log_chance(-self.logits) + value * log_chance(self.logits)
        ways = (r + value).lgamma() - (value + 1).lgamma() - r.lgamma()
        return chances + flambeau.where(r + value == 0, 0.0, ways)
