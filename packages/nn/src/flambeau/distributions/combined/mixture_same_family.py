"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..discrete.categorical import Categorical
from ..distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    r"""A mixture: one of :math:`K` distributions of a family, chosen at random.

    .. math:: p(x) = \sum_k w_k \, p_k(x)

    Args:
        mixture_distribution: A :class:`Categorical` of the weights :math:`w`; its batch shape is
            that of the mixture.
        component_distribution: The components, counted by their last batch dimension.
        validate_args: Whether arguments are checked.

    Raises:
        ValueError: The batch shapes do not fit.

    Example:
        >>> from flambeau.distributions import Categorical, MixtureSameFamily, Normal
        >>> weights = Categorical(flambeau.tensor([0.25, 0.75]))
        >>> MixtureSameFamily(weights, Normal(flambeau.tensor([0.0, 4.0]), 1.0)).mean
        tensor(3.)
    """

    arg_constraints: dict[str, Any] = {}
    has_rsample = False

    def __init__(
        self,
        mixture_distribution: Any,
        component_distribution: Any,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                "the mixture distribution is a flambeau.distributions.Categorical, not "
                f"{type(mixture_distribution).__name__}"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "the component distribution is a flambeau.distributions.Distribution, not "
                f"{type(component_distribution).__name__}"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        batch = self._expect_fitting_batches()
        self._num_component = component_distribution.batch_shape[-1]
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(batch, event_shape, validate_args=validate_args)

    def _expect_fitting_batches(self) -> Any:
        mixture = self._mixture_distribution.batch_shape
        whole = self._component_distribution.batch_shape
        for a, b in zip(reversed(mixture), reversed(whole[:-1]), strict=False):
            if a != 1 and b != 1 and a != b:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({tuple(mixture)}) is not compatible "
                    f"with `component_distribution.batch_shape` ({tuple(whole)}), whose last "
                    "dimension counts components"
                )
        weights = self._mixture_distribution.param_shape[-1]
        if not whole or weights != whole[-1]:
            raise ValueError(
                f"there are {weights} weights, but `component_distribution.batch_shape` "
                f"({tuple(whole)}) does not end with that number of components"
            )
        return whole[:-1]

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        batch_shape = flambeau.Size(batch_shape)
        new._component_distribution = self._component_distribution.expand(
            batch_shape + (self._num_component,)
        )
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component = self._num_component
        new._event_ndims = self._event_ndims
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Any:
        """The distribution of the components' numbers."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        """The components."""
        return self._component_distribution

    def _weights(self) -> Tensor:
        """Weights, with dimensions of size 1 for those of a value."""
        weights = self.mixture_distribution.probs
        return weights.reshape(weights.shape + (1,) * self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return (self._weights() * self.component_distribution.mean).sum(-1 - self._event_ndims)

    @property
    def variance(self) -> Tensor:
        # the mean of variances, and the variance of means
        dim, weights = -1 - self._event_ndims, self._weights()
        inner = (weights * self.component_distribution.variance).sum(dim)
        away = self.component_distribution.mean - self.mean.unsqueeze(dim)
        return inner + (weights * away.square()).sum(dim)

    def _shown(self, value: Tensor) -> Tensor:
        """Values with a dimension for components."""
        return value.unsqueeze(-1 - self._event_ndims)

    def cdf(self, value: Tensor) -> Tensor:
        chances = self.component_distribution.cdf(self._shown(value))
        return (chances * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        inner = self.component_distribution.log_prob(self._shown(value))
        weights = flambeau.log_softmax(self.mixture_distribution.logits, -1)
        return flambeau.logsumexp(inner + weights, -1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with flambeau.no_grad():
            dim = len(sample_shape) + len(self.batch_shape)
            chosen = self.mixture_distribution.expand(self.batch_shape).sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            index = chosen.reshape(chosen.shape + (1,) * (self._event_ndims + 1))
            shape = drawn.shape[:dim] + (1,) + drawn.shape[dim + 1 :]
            return drawn.gather(dim, index.expand(shape)).squeeze(dim)

    def __repr__(self) -> str:
        return (
            f"MixtureSameFamily(\n  {self.mixture_distribution},\n  "
            f"{self.component_distribution})"
        )
