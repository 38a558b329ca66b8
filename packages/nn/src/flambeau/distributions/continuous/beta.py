"""The beta distribution."""

from __future__ import annotations

from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..distribution import Distribution
from ..exp_family import ExponentialFamily
from ..multivariate.dirichlet import Dirichlet
from ..utils import broadcast_all

__all__ = ["Beta"]


class Beta(ExponentialFamily):
    r"""The beta distribution of a chance: the first element of a Dirichlet pair.

    .. math:: p(x) = \frac{\Gamma(\alpha + \beta)}{\Gamma(\alpha) \Gamma(\beta)}
        x^{\alpha - 1} (1 - x)^{\beta - 1}

    Args:
        concentration1: :math:`\alpha`, positive, a number or a tensor.
        concentration0: :math:`\beta`, positive; broadcasts with ``concentration1``.
        validate_args: Whether arguments are checked.

    Example:
        >>> from flambeau.distributions import Beta
        >>> Beta(2.0, 2.0).log_prob(flambeau.tensor(0.5)).exp()
        tensor(1.5000)
    """

    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        pair = flambeau.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(pair, validate_args=validate_args)
        super().__init__(self._dirichlet._batch_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Beta, _instance)
        new._dirichlet = self._dirichlet.expand(batch_shape)
        Distribution.__init__(new, batch_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def concentration1(self) -> Tensor:
        """The first concentration."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Tensor:
        """The second concentration."""
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> Tensor:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Tensor:
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Tensor:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        return self._dirichlet.log_prob(flambeau.stack([value, 1.0 - value], -1))

    def entropy(self) -> Tensor:
        return self._dirichlet.entropy()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return flambeau.lgamma(x) + flambeau.lgamma(y) - flambeau.lgamma(x + y)
