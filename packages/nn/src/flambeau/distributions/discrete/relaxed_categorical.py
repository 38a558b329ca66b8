"""Categorical distributions relaxed to vectors of numbers between 0 and 1."""

from __future__ import annotations

from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..combined.transformed_distribution import TransformedDistribution
from ..distribution import Distribution
from ..transforms import ExpTransform
from ..utils import broadcast_all, uniform_like
from .categorical import Categorical

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(Distribution):
    r"""The distribution of logarithms of a relaxed categorical vector.

    .. math:: y = \operatorname{log\,softmax}\left(\frac{l + g}{\tau}\right)

    with logarithms of chances :math:`l` and Gumbel numbers :math:`g` (C. J. Maddison, A. Mnih,
    Y. W. Teh, "The concrete distribution", 2017, appendix C.3).

    Args:
        temperature: :math:`\tau`, positive: the lower, the closer to a vector of one 1.
        probs: Chances of shape ``(..., K)``; they are divided by their sum.
        logits: Logarithms of chances, up to a number added to all, instead.
        validate_args: Whether arguments are checked.

    Example:
        >>> from flambeau.distributions.relaxed_categorical import ExpRelaxedCategorical
        >>> log_x = ExpRelaxedCategorical(flambeau.tensor(0.5), flambeau.ones(3)).rsample()
        >>> log_x.exp().sum().isclose(flambeau.tensor(1.0))
        tensor(True)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector  # of vectors whose exponentials sum to 1
    has_rsample = True

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        (self.temperature,) = broadcast_all(temperature)
        super().__init__(
            self._categorical.batch_shape,
            self._categorical.param_shape[-1:],
            validate_args=validate_args,
        )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(ExpRelaxedCategorical, _instance)
        batch_shape = flambeau.Size(batch_shape)
        new.temperature = self.temperature
        new._categorical = self._categorical.expand(batch_shape)
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter that was given."""
        return self._categorical.param_shape

    @property
    def logits(self) -> Tensor:
        """Logarithms of chances."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """Chances."""
        return self._categorical.probs

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        gumbel = -(-uniform_like(self.logits, shape, inner=True).log()).log()
        return flambeau.log_softmax((self.logits + gumbel) / self.temperature, -1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        count = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        scale = self.temperature.new_tensor(float(count)).lgamma() + (
            count - 1
        ) * self.temperature.log()
        return scale + flambeau.log_softmax(logits - value * self.temperature, -1).sum(-1)


class RelaxedOneHotCategorical(TransformedDistribution):
    r"""The categorical distribution relaxed to chances of categories, which pass gradients.

    It is the exponential of an :class:`ExpRelaxedCategorical`.

    Args:
        temperature: A positive tensor: the lower, the closer to a vector of one 1.
        probs: Chances of shape ``(..., K)``; they are divided by their sum.
        logits: Logarithms of chances, up to a number added to all, instead.
        validate_args: Whether arguments are checked.

    Example:
        >>> from flambeau.distributions import RelaxedOneHotCategorical
        >>> RelaxedOneHotCategorical(flambeau.tensor(0.5), flambeau.ones(3)).rsample().shape
        flambeau.Size([3])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(RelaxedOneHotCategorical, _instance)
        return super().expand(batch_shape, _instance=new)

    @property
    def temperature(self) -> Tensor:
        """How far samples lie from vectors of one 1."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """Logarithms of chances."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """Chances."""
        return self.base_dist.probs
