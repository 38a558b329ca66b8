"""Batches of small triangular matrices."""

from __future__ import annotations

import math

import flambeau
from flambeau import Tensor


def solve_lower(factor: Tensor, columns: Tensor) -> Tensor:
    """Solve ``factor @ x = columns`` of lower triangular matrices."""
    return flambeau.linalg.solve_triangular(factor, columns, upper=False)


def log_diagonal(factor: Tensor) -> Tensor:
    """The sum of the logarithms of the diagonal: half the log determinant of L L^T."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def mahalanobis(factor: Tensor, x: Tensor) -> Tensor:
    r"""Squared distances :math:`x^T (L L^T)^{-1} x`.

    Dimensions of samples, in front of those of the factors, become columns, so that each factor
    is read once.
    """
    samples = max(x.dim() - 1 - (factor.dim() - 2), 0)
    shape = x.shape[:samples]
    columns = x.reshape((math.prod(shape), *x.shape[samples:]))
    squares = solve_lower(factor, columns.movedim(0, -1)).square().sum(-2)
    result = squares.movedim(-1, 0)
    return result.reshape(shape + result.shape[1:])


def factor_of_precision(precision: Tensor) -> Tensor:
    r"""The Cholesky factor of the inverse of a matrix, without computing the inverse.

    With rows and columns reversed, a Cholesky factor of the precision is the transpose of the
    inverse of that of the covariance.
    """
    reversed_factor = flambeau.linalg.cholesky(precision.flip((-2, -1)))
    inverse = reversed_factor.flip((-2, -1)).mT
    unit = flambeau.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return solve_lower(inverse, unit)


def inverse_of_product(factor: Tensor) -> Tensor:
    r"""The inverse of :math:`L L^T`."""
    unit = flambeau.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
    inverse = solve_lower(factor, unit.expand(factor.shape))
    return inverse.mT @ inverse
