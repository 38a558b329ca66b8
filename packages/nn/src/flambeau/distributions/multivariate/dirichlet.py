"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    r"""The Dirichlet distribution of the chances of :math:`K` categories.

    .. math:: p(x) = \frac{\Gamma(\sum_i \alpha_i)}{\prod_i \Gamma(\alpha_i)}
        \prod_i x_i^{\alpha_i - 1}

    Args:
        concentration: :math:`\alpha`, positive, a tensor of shape ``(..., K)``.
        validate_args: Whether arguments are checked.

    Raises:
        ValueError: ``concentration`` has no dimension.

    Example:
        >>> from flambeau.distributions import Dirichlet
        >>> Dirichlet(flambeau.tensor([1.0, 3.0])).mean
        tensor([0.2500, 0.7500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("Dirichlet(): concentration has one dimension or more, not shape ()")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(Dirichlet, _instance, batch_shape, concentration=1)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        # without a concentration above 1 the density is infinite in corners
        corner = (self.concentration < 1).all(-1)
        mode[corner] = flambeau.nn.functional.one_hot(
            self.concentration[corner].argmax(-1), above.shape[-1]
        ).to(mode)
        return mode

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return flambeau.core.ops.sample_dirichlet(self.concentration.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        alpha = self.concentration
        powers = flambeau.xlogy(alpha - 1, value).sum(-1)
        return powers + alpha.sum(-1).lgamma() - alpha.lgamma().sum(-1)

    def entropy(self) -> Tensor:
        alpha = self.concentration
        total = alpha.sum(-1)
        return (
            alpha.lgamma().sum(-1)
            - total.lgamma()
            - (alpha.shape[-1] - total) * total.digamma()
            - ((alpha - 1) * alpha.digamma()).sum(-1)
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()
