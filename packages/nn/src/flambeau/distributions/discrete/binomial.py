"""The binomial distribution."""

from __future__ import annotations

from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..distribution import Distribution
from ..odds import Odds, one_of
from ..utils import broadcast_all

__all__ = ["Binomial"]


class Binomial(Odds, Distribution):
    r"""The binomial distribution, of the number of successes among :math:`n` tries.

    .. math:: P(k) = \binom{n}{k} p^k (1 - p)^{n - k}

    Args:
        total_count: The number of tries :math:`n`, an integer or a tensor.
        probs: The chance :math:`p` of a success, a tensor that broadcasts with ``total_count``.
        logits: Its log odds, instead.
        validate_args: Whether arguments are checked.

    Raises:
        ValueError: Both parameters are given, or neither.

    Example:
        >>> from flambeau.distributions import Binomial
        >>> Binomial(2, flambeau.tensor(0.5)).log_prob(flambeau.tensor(1.0)).exp()
        tensor(0.5000)
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(
        self,
        total_count: Any = 1,
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

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(Binomial, _instance, batch_shape, total_count=0, probs=0, logits=0)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        most = ((self.total_count + 1) * self.probs).floor()
        return flambeau.minimum(most, self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with flambeau.no_grad():
            return flambeau.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        n = self.total_count
        chances = value * self.logits - n * flambeau.nn.functional.softplus(self.logits)
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return chances + ways

    def entropy(self) -> Tensor:
        log_prob = self._log_probs_of_counts("entropy()")
        return -(log_prob.exp() * log_prob).sum(0)

    def _log_probs_of_counts(self, what: str) -> Tensor:
        counts = self._counts(what)
        n = self.total_count.max()
        ways = (n + 1).lgamma() - (counts + 1).lgamma() - (n - counts + 1).lgamma()
        return counts * self.logits - n * flambeau.nn.functional.softplus(self.logits) + ways

    def _counts(self, what: str) -> Tensor:
        """0 to n, in a first dimension of their own."""
        most = int(self.total_count.max())
        if int(self.total_count.min()) != most:
            raise NotImplementedError(
                f"Inhomogeneous total count not supported by {what} of Binomial: make a "
                "distribution for each number of tries"
            )
        counts = flambeau.arange(1 + most, dtype=self._param.dtype, device=self._param.device)
        return counts.reshape((-1,) + (1,) * len(self._batch_shape))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = self._counts("enumerate_support()")
        return values.expand((-1, *self._batch_shape)) if expand else values
