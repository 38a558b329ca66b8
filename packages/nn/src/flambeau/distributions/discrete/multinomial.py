"""The multinomial distribution."""

from __future__ import annotations

import math
from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..distribution import Distribution
from ..utils import broadcast_all
from .binomial import Binomial
from .categorical import Categorical

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    r"""The multinomial distribution, of how often each of :math:`K` categories is drawn.

    .. math:: P(x) = \frac{n!}{\prod_i x_i!} \prod_i p_i^{x_i}

    Args:
        total_count: The number of draws :math:`n`, an integer.
        probs: Chances :math:`p` of shape ``(..., K)``; they are divided by their sum.
        logits: Logarithms of chances, up to a number added to all, instead.
        validate_args: Whether arguments are checked.

    Raises:
        NotImplementedError: ``total_count`` is no integer.

    Example:
        >>> from flambeau.distributions import Multinomial
        >>> Multinomial(4, flambeau.tensor([1.0, 3.0])).mean
        tensor([1., 3.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self,
        total_count: int = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError(
                "inhomogeneous total_count is not supported: total_count is one integer, not "
                f"{type(total_count).__name__}"
            )
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(
            self._categorical.batch_shape,
            self._categorical.param_shape[-1:],
            validate_args=validate_args,
        )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Multinomial, _instance)
        batch_shape = flambeau.Size(batch_shape)
        new.total_count = self.total_count
        new._categorical = self._categorical.expand(batch_shape)
        new._binomial = self._binomial.expand(batch_shape + self.event_shape)
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def logits(self) -> Tensor:
        """Logarithms of chances."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """Chances."""
        return self._categorical.probs

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter that was given."""
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        sample_shape = flambeau.Size(sample_shape)
        drawn = self._categorical.sample(flambeau.Size((self.total_count,)) + sample_shape)
        last = drawn.movedim(0, -1)
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        counts = counts.scatter_add(-1, last, flambeau.ones_like(last))
        return counts.to(self.probs.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        # what cannot be drawn, and was not, adds nothing
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        return ways + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        # each count is binomial: the mean of log(x_i!) is a sum over its values from 1
        n = flambeau.tensor(float(self.total_count), dtype=self.probs.dtype,
                            device=self.probs.device)
        counts = self._binomial.enumerate_support(expand=False)[1:]
        chances = self._binomial.log_prob(counts).exp()
        factorials = (chances * (counts + 1).lgamma()).sum([0, -1])
        return n * self._categorical.entropy() - (n + 1).lgamma() + factorials
