"""The Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..exp_family import ExponentialFamily
from ..odds import Odds, one_of
from ..utils import broadcast_all

__all__ = ["Bernoulli"]


class Bernoulli(Odds, ExponentialFamily):
    r"""The Bernoulli distribution of 0 and 1.

    .. math:: P(1) = p, \qquad P(0) = 1 - p

    Args:
        probs: The chance :math:`p` of 1, a number or a tensor.
        logits: Its log odds, instead.
        validate_args: Whether arguments are checked.

    Raises:
        ValueError: Both parameters are given, or neither.

    Example:
        >>> from flambeau.distributions import Bernoulli
        >>> Bernoulli(0.25).variance
        tensor(0.1875)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        one_of(self, probs, logits)
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(Bernoulli, _instance, batch_shape, probs=0, logits=0)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        likely = (self.probs > 0.5).to(self.probs.dtype)
        return flambeau.where(self.probs == 0.5, math.nan, likely)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with flambeau.no_grad():
            return flambeau.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        loss = flambeau.nn.functional.binary_cross_entropy_with_logits
        return -loss(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        loss = flambeau.nn.functional.binary_cross_entropy_with_logits
        return loss(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = flambeau.arange(2, dtype=self._param.dtype, device=self._param.device)
        values = values.reshape((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (flambeau.logit(self.probs),)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return flambeau.nn.functional.softplus(x)
