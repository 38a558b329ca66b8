"""Bernoulli distributions relaxed to numbers between 0 and 1."""

from __future__ import annotations

from typing import Any

import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..combined.transformed_distribution import TransformedDistribution
from ..distribution import Distribution
from ..odds import Odds, one_of
from ..transforms import SigmoidTransform
from ..transforms.scalars import _softplus
from ..utils import broadcast_all, clamp_probs, uniform_like

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(Odds, Distribution):
    r"""The distribution of log odds of a relaxed Bernoulli number.

    .. math:: y = \frac{l + \log u - \log(1 - u)}{\tau}

    with log odds :math:`l` and uniform :math:`u` (C. J. Maddison, A. Mnih, Y. W. Teh, "The
    concrete distribution", 2017).

    Args:
        temperature: :math:`\tau`, positive: the lower, the closer to 0 and 1.
        probs: The chance of 1, a number or a tensor.
        logits: Its log odds :math:`l`, instead.
        validate_args: Whether arguments are checked.

    Example:
        >>> import flambeau
        >>> from flambeau.distributions.relaxed_bernoulli import LogitRelaxedBernoulli
        >>> LogitRelaxedBernoulli(flambeau.tensor(1.0), 0.5).log_prob(flambeau.tensor(0.0))
        tensor(-1.3863)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    has_rsample = True

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        one_of(self, probs, logits)
        (self.temperature,) = broadcast_all(temperature)
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(LogitRelaxedBernoulli, _instance, batch_shape, probs=0, logits=0)
        new.temperature = self.temperature
        return new

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = uniform_like(probs, shape, inner=True)
        noise = u.log() - (-u).log1p()
        return (noise + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        away = logits - value * self.temperature
        return self.temperature.log() + away - 2 * _softplus(away)


class RelaxedBernoulli(TransformedDistribution):
    r"""The Bernoulli distribution relaxed to numbers between 0 and 1, which pass gradients.

    It is the sigmoid of a :class:`LogitRelaxedBernoulli`.

    Args:
        temperature: A positive tensor: the lower, the closer to 0 and 1.
        probs: The chance of 1, a number or a tensor.
        logits: Its log odds, instead.
        validate_args: Whether arguments are checked.

    Example:
        >>> import flambeau
        >>> from flambeau.distributions import RelaxedBernoulli
        >>> RelaxedBernoulli(flambeau.tensor(0.5), flambeau.tensor([0.2, 0.8])).rsample().shape
        flambeau.Size([2])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(RelaxedBernoulli, _instance)
        return super().expand(batch_shape, _instance=new)

    @property
    def temperature(self) -> Tensor:
        """How far samples lie from 0 and 1."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """Log odds of 1."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The chance of 1."""
        return self.base_dist.probs
