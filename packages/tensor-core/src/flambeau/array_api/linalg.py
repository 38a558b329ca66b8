"""Linear algebra: the extension ``linalg`` of the standard."""
from __future__ import annotations

from typing import Any

import flambeau
from flambeau.array_api._movement import matrix_transpose
from flambeau.array_api._products import matmul, same_size, tensordot, vecdot
from flambeau.array_api._promotion import together
from flambeau.array_api._reductions import _sum_dtype, sum


def cholesky(x: Any, /, *, upper: bool = False) -> Any:
    """The triangular factor of positive definite matrices."""
    return flambeau.linalg.cholesky(x, upper=upper)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The cross product of vectors of three elements."""
    x1, x2 = together(x1, x2)
    same_size("cross", x1, x2, axis)
    return flambeau.linalg.cross(*flambeau.broadcast_tensors(x1, x2), dim=axis)


def det(x: Any, /) -> Any:
    """Determinants."""
    return flambeau.linalg.det(x)


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """The diagonals of matrices."""
    return flambeau.linalg.diagonal(x, offset=offset)


def eig(x: Any, /) -> Any:
    """Eigenvalues and eigenvectors."""
    return flambeau.linalg.eig(x)


def eigh(x: Any, /) -> Any:
    """Eigenvalues and eigenvectors of Hermitian matrices."""
    return flambeau.linalg.eigh(x)


def eigvals(x: Any, /) -> Any:
    """Eigenvalues."""
    return flambeau.linalg.eigvals(x)


def eigvalsh(x: Any, /) -> Any:
    """Eigenvalues of Hermitian matrices."""
    return flambeau.linalg.eigvalsh(x)


def inv(x: Any, /) -> Any:
    """Inverses."""
    return flambeau.linalg.inv(x)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Norms of matrices."""
    return flambeau.linalg.matrix_norm(x, ord, keepdim=keepdims)


def matrix_power(x: Any, n: int, /) -> Any:
    """Whole powers of matrices."""
    return flambeau.linalg.matrix_power(x, n)


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    """How many singular values exceed ``rtol`` times the greatest."""
    return flambeau.linalg.matrix_rank(x, rtol=rtol)


def outer(x1: Any, x2: Any, /) -> Any:
    """All products of the elements of two vectors."""
    return flambeau.outer(*together(x1, x2))


def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    """Pseudo-inverses; singular values up to ``rtol`` times the greatest count as zero."""
    return flambeau.linalg.pinv(x, rtol=rtol)


def qr(x: Any, /, *, mode: str = "reduced") -> Any:
    """Orthonormal and upper triangular factors."""
    return flambeau.linalg.qr(x, mode)


def slogdet(x: Any, /) -> Any:
    """Signs of determinants and logarithms of their absolute values."""
    return flambeau.linalg.slogdet(x)


def solve(x1: Any, x2: Any, /) -> Any:
    """Solutions ``x`` of ``x1 @ x = x2``; ``x2`` is one vector, or matrices."""
    x1, x2 = together(x1, x2)
    if 1 < x2.ndim < x1.ndim:      # or batches of vectors would be read into it
        x2 = x2[(None,) * (x1.ndim - x2.ndim)]
    return flambeau.linalg.solve(x1, x2)


def svd(x: Any, /, *, full_matrices: bool = True) -> Any:
    """Singular value decompositions."""
    return flambeau.linalg.svd(x, full_matrices)


def svdvals(x: Any, /) -> Any:
    """Singular values."""
    return flambeau.linalg.svdvals(x)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """Sums of the diagonals of matrices."""
    return sum(diagonal(x, offset=offset), axis=-1, dtype=_sum_dtype(x, dtype))


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:
    """Norms of vectors, over one axis, several or all."""
    if axis == ():
        return flambeau.linalg.vector_norm(x.unsqueeze(0), ord, 0)
    return flambeau.linalg.vector_norm(x, ord, axis, keepdims)


__all__ = ["cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv",
           "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "outer",
           "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot",
           "vector_norm"]
