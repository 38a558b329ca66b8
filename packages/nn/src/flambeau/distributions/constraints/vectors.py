"""Constraints of vectors and matrices."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor

from .base import Constraint

#: How far the sum of chances, and the length of a row, may lie from 1.
TOLERANCE = 1e-6


class _OneHot(Constraint):
    """Vectors of one 1 among zeros."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        bits = (value == 0) | (value == 1)
        return bits.all(-1) & value.sum(-1).eq(1)


class _Simplex(Constraint):
    """Vectors of numbers from 0 on that sum to 1."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < TOLERANCE)


class _Multinomial(Constraint):
    """Vectors of counts that sum to at most a number."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


class _LowerTriangular(Constraint):
    """Square matrices that are zero above the diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(Constraint):
    """Lower triangular matrices with a positive diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        positive = (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)
        return _LowerTriangular().check(value) & positive


class _CorrCholesky(Constraint):
    """Cholesky factors of correlation matrices: rows of length 1, a positive diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        # rounding grows with the number of summands
        slack = flambeau.finfo(value.dtype).eps * value.shape[-1] * 10
        lengths = flambeau.linalg.vector_norm(value.detach(), dim=-1)
        unit = (lengths - 1).abs().le(slack).all(-1)
        return _LowerCholesky().check(value) & unit


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        square = value.shape[-2] == value.shape[-1]
        return flambeau.full(value.shape[:-2], square, dtype=flambeau.bool, device=value.device)


class _Symmetric(_Square):
    """Matrices equal to their transpose, up to rounding."""

    def check(self, value: Tensor) -> Tensor:
        square = super().check(value)
        if value.shape[-2] != value.shape[-1]:
            return square
        return flambeau.isclose(value, value.mT, atol=TOLERANCE).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if not symmetric.all():
            return symmetric
        return flambeau.linalg.eigvalsh(value).ge(0).all(-1)


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices of which a Cholesky factor exists."""

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if not symmetric.all():
            return symmetric
        return flambeau.linalg.cholesky_ex(value).info.eq(0)


multinomial = _Multinomial

one_hot: Constraint = _OneHot()
simplex: Constraint = _Simplex()
lower_triangular: Constraint = _LowerTriangular()
lower_cholesky: Constraint = _LowerCholesky()
corr_cholesky: Constraint = _CorrCholesky()
square: Constraint = _Square()
symmetric: Constraint = _Symmetric()
positive_semidefinite: Constraint = _PositiveSemidefinite()
positive_definite: Constraint = _PositiveDefinite()
