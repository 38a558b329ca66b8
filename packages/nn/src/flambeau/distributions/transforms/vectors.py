"""Transforms of vectors and matrices."""

from __future__ import annotations

import math
from typing import Any

import flambeau
import flambeau.distributions.constraints as constraints
from flambeau import Tensor

from ..utils import tril_matrix_to_vec, vec_to_tril_matrix
from .base import Transform
from .scalars import _softplus

__all__ = [
    "CorrCholeskyTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "SoftmaxTransform",
    "StickBreakingTransform",
]


def _after_one(x: Tensor) -> Tensor:
    """Rows shifted by one, which begin with a 1."""
    return flambeau.cat([flambeau.ones_like(x[..., :1]), x[..., :-1]], -1)


def _expect_vectors(name: str, shape: Any) -> None:
    if len(shape) < 1:
        raise ValueError(f"{name} takes vectors: one dimension or more, not shape ()")


class SoftmaxTransform(Transform):
    r"""Chances from their logarithms, :math:`y_i = e^{x_i} / \sum_j e^{x_j}`.

    No bijection: a number added to all arguments changes nothing. The inverse gives logarithms.

    Args:
        cache_size: 0 or 1, see :class:`Transform`.

    Example:
        >>> from flambeau.distributions import SoftmaxTransform
        >>> SoftmaxTransform()(flambeau.zeros(2))
        tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftmaxTransform)

    def _call(self, x: Tensor) -> Tensor:
        return flambeau.softmax(x, -1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        _expect_vectors("SoftmaxTransform", shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        return self.forward_shape(shape)


class StickBreakingTransform(Transform):
    r"""Chances of ``n + 1`` categories from ``n`` numbers: each takes its share of what is left.

    .. math:: z_i = \sigma(x_i - \log(n - i)), \qquad y_i = z_i \prod_{j < i} (1 - z_j)

    with :math:`i` from 0 and :math:`z_n = 1`, so that zeros give equal chances (Stan Reference
    Manual, "Unit simplex").

    Args:
        cache_size: 0 or 1, see :class:`Transform`.

    Example:
        >>> from flambeau.distributions import StickBreakingTransform
        >>> StickBreakingTransform()(flambeau.zeros(3))
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StickBreakingTransform)

    def _call(self, x: Tensor) -> Tensor:
        z = flambeau.sigmoid(x - _log_left(x))
        left = (1 - z).cumprod(-1)
        one = flambeau.ones_like(x[..., :1]) if x.shape[-1] else x.new_ones(x.shape[:-1] + (1,))
        return flambeau.cat([z, one], -1) * flambeau.cat([one, left], -1)

    def _inverse(self, y: Tensor) -> Tensor:
        taken = y[..., :-1]
        left = (1 - taken.cumsum(-1)).clamp(min=flambeau.finfo(y.dtype).tiny)
        return taken.log() - left.log() + _log_left(taken)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # the Jacobian is triangular, with y_i (1 - z_i) on its diagonal
        rest = flambeau.nn.functional.logsigmoid(-(x - _log_left(x)))
        return (rest + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        _expect_vectors("StickBreakingTransform", shape)
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape: Any) -> Any:
        _expect_vectors("StickBreakingTransform", shape)
        return shape[:-1] + (shape[-1] - 1,)


def _log_left(x: Tensor) -> Tensor:
    """Logarithms of n, n - 1, ... 1: how many categories share what is left after each."""
    n = x.shape[-1]
    return flambeau.arange(n, 0, -1, dtype=x.dtype, device=x.device).log()


class LowerCholeskyTransform(Transform):
    r"""Lower triangular matrices with a positive diagonal, of which the exponential is taken.

    Args:
        cache_size: 0 or 1, see :class:`Transform`.

    Example:
        >>> from flambeau.distributions import LowerCholeskyTransform
        >>> LowerCholeskyTransform()(flambeau.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LowerCholeskyTransform)

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    r"""Positive definite matrices :math:`L L^T` of the :class:`LowerCholeskyTransform` of matrices.

    Args:
        cache_size: 0 or 1, see :class:`Transform`.

    Example:
        >>> from flambeau.distributions import PositiveDefiniteTransform
        >>> PositiveDefiniteTransform()(flambeau.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PositiveDefiniteTransform)

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(flambeau.linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    r"""Cholesky factors of ``n`` by ``n`` correlation matrices, from ``n (n - 1) / 2`` numbers.

    Hyperbolic tangents of the numbers are canonical partial correlations :math:`r_{ij}`, which
    fill the lower triangle row by row; in each row what is left of length 1 is shared out:

    .. math::
        L_{ij} = r_{ij} \sqrt{\prod_{k<j} (1 - r_{ik}^2)}, \qquad r_{ii} = 1

    (Stan Reference Manual, "Cholesky factors of correlation matrices").

    Args:
        cache_size: 0 or 1, see :class:`Transform`.

    Example:
        >>> from flambeau.distributions import CorrCholeskyTransform
        >>> CorrCholeskyTransform()(flambeau.zeros(1))
        tensor([[1., 0.],
                [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = flambeau.finfo(x.dtype).eps
        r = vec_to_tril_matrix(flambeau.tanh(x).clamp(min=eps - 1, max=1 - eps), diag=-1)
        left = (1 - r * r).sqrt().cumprod(-1)
        unit = flambeau.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return (r + unit) * _after_one(left)

    def _inverse(self, y: Tensor) -> Tensor:
        left = _after_one(1 - (y * y).cumsum(-1))
        r = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (r.log1p() - r.neg().log1p()) / 2  # atanh

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # below the diagonal but one, each element's slope by r is the root of what is left
        left = 1 - (y * y).cumsum(-1)
        shares = 0.5 * tril_matrix_to_vec(left, diag=-2).log().sum(-1)
        slopes = -2 * (x + _softplus(-2 * x) - math.log(2.0)).sum(-1)
        return shares + slopes

    def forward_shape(self, shape: Any) -> Any:
        _expect_vectors("CorrCholeskyTransform", shape)
        count = shape[-1]
        n = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != count:
            raise ValueError(
                f"CorrCholeskyTransform: {count} numbers are no n (n - 1) / 2 of a matrix"
            )
        return shape[:-1] + (n, n)

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 2 or shape[-2] != shape[-1]:
            raise ValueError(f"CorrCholeskyTransform: matrices are square, not {tuple(shape)}")
        n = shape[-1]
        return shape[:-2] + (n * (n - 1) // 2,)
