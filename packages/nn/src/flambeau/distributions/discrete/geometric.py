"""The geometric distribution."""

from __future__ import annotations

from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..distribution import Distribution
from ..odds import Odds, one_of
from ..utils import broadcast_all

__all__ = ["Geometric"]


class Geometric(Odds, Distribution):
    r"""The geometric distribution, of the number of failures before the first success.

    .. math:: P(k) = (1 - p)^k p, \quad k = 0, 1, \ldots

    Args:
        probs: The chance :math:`p` of a success, above 0, a number or a tensor.
        logits: Its log odds, instead.
        validate_args: Whether arguments are checked.

    Raises:
        ValueError: Both parameters are given, or neither; a chance is 0.

    Example:
        >>> from flambeau.distributions import Geometric
        >>> Geometric(0.25).mean
        tensor(3.)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        one_of(self, probs, logits)
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        super().__init__(self._param.size(), validate_args=validate_args)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            raise ValueError(
                f"Expected parameter probs of distribution {self!r} to be positive: without "
                f"successes there is no first one, but found invalid values:\n{self.probs}"
            )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(Geometric, _instance, batch_shape, probs=0, logits=0)

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return flambeau.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = ()) -> Tensor:
        # the integer part of an exponential number is geometric
        shape = self._extended_shape(sample_shape)
        tiny = flambeau.finfo(self.probs.dtype).tiny
        with flambeau.no_grad():
            u = flambeau.rand(shape, dtype=self.probs.dtype, device=self.probs.device)
            return (u.clamp(min=tiny).log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        value, probs = broadcast_all(value, self.probs)
        return flambeau.special.xlog1py(value, -probs) + self.probs.log()

    def entropy(self) -> Tensor:
        loss = flambeau.nn.functional.binary_cross_entropy_with_logits
        return loss(self.logits, self.probs, reduction="none") / self.probs
