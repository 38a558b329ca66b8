"""The categorical distribution."""

from __future__ import annotations

import math
from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..distribution import Distribution
from ..odds import one_of
from ..utils import lazy_property, logits_to_probs, probs_to_logits

__all__ = ["Categorical"]


class Categorical(Distribution):
    r"""The categorical distribution of the integers from 0 to :math:`K - 1`.

    .. math:: P(k) = p_k

    Args:
        probs: Chances :math:`p` of shape ``(..., K)``; they are divided by their sum.
        logits: Logarithms of chances, up to a number added to all, instead.
        validate_args: Whether arguments are checked.

    Raises:
        ValueError: Both parameters are given, or neither, or they have no dimension.

    Example:
        >>> from flambeau.distributions import Categorical
        >>> Categorical(flambeau.tensor([1.0, 3.0])).probs
        tensor([0.2500, 0.7500])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        one_of(self, probs, logits)
        given = logits if probs is None else probs
        if given.dim() < 1:
            name = "logits" if probs is None else "probs"
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._num_events = given.size()[-1]
        super().__init__(given.size()[:-1], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(Categorical, _instance, batch_shape, probs=1, logits=1)
        new._num_events = self._num_events
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Tensor:
        """Logarithms of chances."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        """Chances."""
        return logits_to_probs(self.logits)

    @property
    def _param(self) -> Tensor:
        given = vars(self)
        return given["probs"] if "probs" in given else given["logits"]

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter that was given."""
        return self._param.size()

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)

    def _nothing(self) -> Tensor:
        """NaN: categories have no order."""
        return flambeau.full(
            self._extended_shape(), math.nan, dtype=self.probs.dtype, device=self.probs.device
        )

    @property
    def mean(self) -> Tensor:
        return self._nothing()

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        return self._nothing()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        sample_shape = flambeau.Size(sample_shape)
        with flambeau.no_grad():
            rows = self.probs.reshape(-1, self._num_events)
            drawn = flambeau.multinomial(rows, max(sample_shape.numel(), 1), True).T
        if sample_shape.numel() == 0:
            drawn = drawn[:0]
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        index, logits = flambeau.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        # chances of 0 add nothing
        logits = self.logits.clamp(min=flambeau.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = flambeau.arange(self._num_events, device=self._param.device)
        values = values.reshape((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values
