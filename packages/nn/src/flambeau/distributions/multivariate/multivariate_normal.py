"""The normal distribution of vectors."""

from __future__ import annotations

import math
from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..distribution import Distribution
from ..utils import lazy_property, standard_normal
from .triangular import factor_of_precision, inverse_of_product, log_diagonal, mahalanobis

__all__ = ["MultivariateNormal"]


def one_matrix(name: str, error: type, given: dict[str, Any]) -> tuple[str, Tensor]:
    """The one matrix of several that was given, or the error for none or two of them."""
    there = [(key, matrix) for key, matrix in given.items() if matrix is not None]
    if len(there) != 1:
        raise error(
            "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
            f"specified: {name} was given {len(there)} of them"
        )
    key, matrix = there[0]
    if matrix.dim() < 2:
        raise ValueError(
            f"{key} matrix must be at least two-dimensional, with optional leading batch "
            f"dimensions, not of shape {tuple(matrix.shape)}"
        )
    return key, matrix


def cholesky_of(key: str, matrix: Tensor) -> Tensor:
    """The Cholesky factor of a covariance that is given as one of three matrices."""
    if key == "scale_tril":
        return matrix
    if key == "covariance_matrix":
        return flambeau.linalg.cholesky(matrix)
    return factor_of_precision(matrix)


class MultivariateNormal(Distribution):
    r"""The normal distribution of vectors of :math:`n` numbers.

    .. math:: p(x) = \frac{1}{\sqrt{(2\pi)^n \det\Sigma}}
        \exp\left(-\tfrac{1}{2} (x - \mu)^T \Sigma^{-1} (x - \mu)\right)

    Args:
        loc: The mean :math:`\mu`, of shape ``(..., n)``.
        covariance_matrix: :math:`\Sigma`, positive definite, of shape ``(..., n, n)``.
        precision_matrix: Its inverse, instead.
        scale_tril: Its Cholesky factor :math:`L`, with :math:`\Sigma = L L^T`, instead: the
            cheapest of the three.
        validate_args: Whether arguments are checked.

    Raises:
        ValueError: Not exactly one matrix is given, or an argument lacks dimensions.

    Example:
        >>> from flambeau.distributions import MultivariateNormal
        >>> normal = MultivariateNormal(flambeau.zeros(2), flambeau.eye(2))
        >>> normal.log_prob(flambeau.zeros(2))
        tensor(-1.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        key, matrix = one_matrix(
            "MultivariateNormal",
            ValueError,
            {
                "covariance_matrix": covariance_matrix,
                "precision_matrix": precision_matrix,
                "scale_tril": scale_tril,
            },
        )
        batch_shape = flambeau.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, key, matrix.expand(tuple(batch_shape) + (-1, -1)))
        self.loc = loc.expand(tuple(batch_shape) + (-1,))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = cholesky_of(key, matrix)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(
            MultivariateNormal,
            _instance,
            batch_shape,
            loc=1,
            covariance_matrix=2,
            precision_matrix=2,
            scale_tril=2,
        )
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return new

    def _batched(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._batched(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_scale_tril
        return self._batched(factor @ factor.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._batched(inverse_of_product(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        squares = self._unbroadcasted_scale_tril.square().sum(-1)
        return squares.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        normal = standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + (self._unbroadcasted_scale_tril @ normal.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        factor = self._unbroadcasted_scale_tril
        distance = mahalanobis(factor, value - self.loc)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + distance) - log_diagonal(factor)

    def entropy(self) -> Tensor:
        constant = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (constant + log_diagonal(self._unbroadcasted_scale_tril)).expand(self._batch_shape)
