"""The normal distribution of vectors, with a covariance of low rank plus a diagonal."""

from __future__ import annotations

import math
from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..distribution import Distribution
from ..utils import lazy_property, standard_normal
from .triangular import log_diagonal, mahalanobis, solve_lower

__all__ = ["LowRankMultivariateNormal"]


class LowRankMultivariateNormal(Distribution):
    r"""The normal distribution of vectors with covariance :math:`W W^T + D`.

    Only :math:`k` by :math:`k` matrices are factored, by the identities of Woodbury and of
    Sylvester, with the capacitance :math:`C = 1 + W^T D^{-1} W`:

    .. math:: \Sigma^{-1} = D^{-1} - D^{-1} W C^{-1} W^T D^{-1}, \qquad
        \det\Sigma = \det C \det D

    Args:
        loc: The mean, of shape ``(..., n)``.
        cov_factor: The factor :math:`W`, of shape ``(..., n, k)``.
        cov_diag: The diagonal :math:`D`, positive, of shape ``(..., n)``.
        validate_args: Whether arguments are checked.

    Raises:
        ValueError: Shapes do not fit.

    Example:
        >>> from flambeau.distributions import LowRankMultivariateNormal
        >>> normal = LowRankMultivariateNormal(
        ...     flambeau.zeros(2), flambeau.tensor([[1.0], [0.0]]), flambeau.ones(2))
        >>> normal.covariance_matrix
        tensor([[2., 0.],
                [0., 1.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None
    ) -> None:
        batch_shape, n = _fitting_batch(loc, cov_factor, cov_diag)
        self.loc = loc.expand(tuple(batch_shape) + (n,))
        self.cov_factor = cov_factor.expand(tuple(batch_shape) + cov_factor.shape[-2:])
        self.cov_diag = cov_diag.expand(tuple(batch_shape) + (n,))
        super().__init__(batch_shape, (n,), validate_args=validate_args)
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = flambeau.linalg.cholesky(_capacitance(cov_factor, cov_diag))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(
            LowRankMultivariateNormal, _instance, batch_shape, loc=1, cov_diag=1, cov_factor=2
        )
        new._unbroadcasted_cov_factor = self._unbroadcasted_cov_factor
        new._unbroadcasted_cov_diag = self._unbroadcasted_cov_diag
        new._capacitance_tril = self._capacitance_tril
        return new

    def _parts(self) -> tuple[Tensor, Tensor, Tensor]:
        """Factor, diagonal, and Cholesky factor of the capacitance."""
        return (
            self._unbroadcasted_cov_factor,
            self._unbroadcasted_cov_diag,
            self._capacitance_tril,
        )

    def _batched(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        factor, diagonal, _ = self._parts()
        return (factor.square().sum(-1) + diagonal).expand(self._batch_shape + self._event_shape)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor, diagonal, _ = self._parts()
        return self._batched(factor @ factor.mT + diagonal.diag_embed())

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance, of the root of D and a factor near one."""
        factor, diagonal, _ = self._parts()
        root = diagonal.sqrt().unsqueeze(-1)
        scaled = factor / root
        unit = flambeau.eye(root.shape[-2], dtype=root.dtype, device=root.device)
        return self._batched(root * flambeau.linalg.cholesky(scaled @ scaled.mT + unit))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        factor, diagonal, capacitance = self._parts()
        half = solve_lower(capacitance, factor.mT / diagonal.unsqueeze(-2))
        return self._batched(diagonal.reciprocal().diag_embed() - half.mT @ half)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        inner = shape[:-1] + self.cov_factor.shape[-1:]
        factor, diagonal, _ = self._parts()
        few = standard_normal(inner, self.loc.dtype, self.loc.device)
        each = standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + (factor @ few.unsqueeze(-1)).squeeze(-1) + diagonal.sqrt() * each

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        distance = lowrank_mahalanobis(*self._parts(), value - self.loc)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + distance + lowrank_logdet(*self._parts()))

    def entropy(self) -> Tensor:
        constant = self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (0.5 * (constant + lowrank_logdet(*self._parts()))).expand(self._batch_shape)


def lowrank_logdet(factor: Tensor, diagonal: Tensor, capacitance: Tensor) -> Tensor:
    """The log determinant of the covariance."""
    return 2 * log_diagonal(capacitance) + diagonal.log().sum(-1)


def lowrank_mahalanobis(
    factor: Tensor, diagonal: Tensor, capacitance: Tensor, x: Tensor
) -> Tensor:
    """Squared distances by the inverse of the covariance."""
    inner = (factor.mT @ (x / diagonal).unsqueeze(-1)).squeeze(-1)
    return (x.square() / diagonal).sum(-1) - mahalanobis(capacitance, inner)


def _capacitance(factor: Tensor, diagonal: Tensor) -> Tensor:
    unit = flambeau.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
    return factor.mT @ (factor / diagonal.unsqueeze(-1)) + unit


def _fitting_batch(loc: Any, cov_factor: Any, cov_diag: Any) -> tuple[Any, int]:
    """The common batch shape, and the length of a vector."""
    if loc.dim() < 1:
        raise ValueError("loc must be at least one-dimensional.")
    n = loc.shape[-1]
    if cov_factor.dim() < 2:
        raise ValueError(
            "cov_factor must be at least two-dimensional, with optional leading batch dimensions"
        )
    if cov_factor.shape[-2] != n:
        raise ValueError(
            f"cov_factor must be a batch of matrices with shape {n} x m, not "
            f"{tuple(cov_factor.shape)}"
        )
    if cov_diag.dim() < 1 or cov_diag.shape[-1] != n:
        raise ValueError(
            f"cov_diag must be a batch of vectors with shape ({n},), not {tuple(cov_diag.shape)}"
        )
    try:
        batches = loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1]
        return flambeau.broadcast_shapes(*batches), n
    except RuntimeError as error:
        raise ValueError(
            f"Incompatible batch shapes: loc {tuple(loc.shape)}, cov_factor "
            f"{tuple(cov_factor.shape)}, cov_diag {tuple(cov_diag.shape)}"
        ) from error
