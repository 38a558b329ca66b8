"""The Laplace distribution."""

from __future__ import annotations

from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..distribution import Distribution
from ..utils import broadcast_all

__all__ = ["Laplace"]


class Laplace(Distribution):
    r"""The Laplace, or double exponential, distribution.

    .. math:: p(x) = \frac{1}{2 b} e^{-|x - \mu| / b}

    Args:
        loc: The mean :math:`\mu`, a number or a tensor.
        scale: The scale :math:`b`, positive; broadcasts with ``loc``.
        validate_args: Whether arguments are checked.

    Example:
        >>> from flambeau.distributions import Laplace
        >>> Laplace(0.0, 1.0).log_prob(flambeau.tensor(1.0))
        tensor(-1.6931)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(Laplace, _instance, batch_shape, loc=0, scale=0)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        return 2**0.5 * self.scale

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        # the size is exponential: minus the logarithm of a uniform number in (0, 1)
        shape = self._extended_shape(sample_shape)
        eps = flambeau.finfo(self.loc.dtype).eps
        u = self.loc.new_empty(shape).uniform_(eps - 1, 1)
        return self.loc - self.scale * u.sign() * flambeau.log1p(-u.abs())

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        away = value - self.loc
        return 0.5 - 0.5 * away.sign() * flambeau.expm1(-away.abs() / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        away = value - 0.5
        return self.loc - self.scale * away.sign() * flambeau.log1p(-2 * away.abs())

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()
