"""The categorical distribution, of vectors of one 1 among zeros."""

from __future__ import annotations

from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..distribution import Distribution
from .categorical import Categorical

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(Distribution):
    r"""The categorical distribution, of vectors of one 1 among zeros.

    Args:
        probs: Chances of shape ``(..., K)``; they are divided by their sum.
        logits: Logarithms of chances, up to a number added to all, instead.
        validate_args: Whether arguments are checked.

    Example:
        >>> from flambeau.distributions import OneHotCategorical
        >>> OneHotCategorical(flambeau.tensor([0.0, 1.0])).sample()
        tensor([0., 1.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(
            self._categorical.batch_shape,
            self._categorical.param_shape[-1:],
            validate_args=validate_args,
        )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(OneHotCategorical, _instance)
        batch_shape = flambeau.Size(batch_shape)
        new._categorical = self._categorical.expand(batch_shape)
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def probs(self) -> Tensor:
        """Chances."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Logarithms of chances."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter that was given."""
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return self._one_hot(self.probs.argmax(dim=-1))

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def _one_hot(self, index: Tensor) -> Tensor:
        size = self._event_shape[0]
        return flambeau.nn.functional.one_hot(index, size).to(self.probs.dtype)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self._one_hot(self._categorical.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self._event_shape[0]
        values = flambeau.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.reshape((n,) + (1,) * len(self._batch_shape) + (n,))
        return values.expand((n, *self._batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    r"""A categorical distribution whose samples pass gradients straight to the chances.

    Samples are vectors of one 1 among zeros; their gradient is taken to be that of the chances
    (Y. Bengio, N. Leonard, A. Courville, "Estimating or propagating gradients through stochastic
    neurons for conditional computation", 2013).

    Args:
        probs: Chances of shape ``(..., K)``; they are divided by their sum.
        logits: Logarithms of chances, up to a number added to all, instead.
        validate_args: Whether arguments are checked.

    Example:
        >>> from flambeau.distributions import OneHotCategoricalStraightThrough
        >>> logits = flambeau.zeros(2, requires_grad=True)
        >>> OneHotCategoricalStraightThrough(logits=logits).rsample()[0].backward()
        >>> logits.grad
        tensor([ 0.2500, -0.2500])
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        drawn = self.sample(sample_shape)
        probs = self._categorical.probs
        return drawn + (probs - probs.detach())
