"""Approximate decompositions of large matrices by random projection, and the nuclear norm.

Halko, Martinsson and Tropp, "Finding structure with randomness: probabilistic algorithms for
constructing approximate matrix decompositions", SIAM Review 53, 2011, algorithms 4.4 and 5.1.
"""
from __future__ import annotations

from typing import Any

from flambeau.core import functions
from flambeau.core._core import Tensor, is_tensor, operators

_op = operators()

__all__ = ["nuclear_norm", "pca_lowrank", "svd_lowrank"]


def svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2,
                M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Approximate ``A - M`` by ``U diag(S) V^H`` of rank ``q``.

    Args:
        A: Matrices ``(*, m, n)`` of a floating dtype.
        q: A little more than the rank that is looked for.
        niter: Rounds of power iteration; more make it more accurate.
        M: What is subtracted, of the shape of ``A`` or broadcast to it.

    Returns:
        ``U (*, m, q)``, ``S (*, q)`` in descending order, ``V (*, n, q)``.

    Raises:
        ValueError: ``q`` lies outside ``[0, min(m, n)]``, or ``niter`` is negative.

    Example:
        >>> import flambeau
        >>> A = flambeau.outer(flambeau.tensor([3.0, 4.0]), flambeau.tensor([1.0, 0.0, 0.0]))
        >>> flambeau.svd_lowrank(A, q=1)[1].round(decimals=4)
        tensor([5.])
    """
    q = 6 if q is None else q
    niter = 2 if niter is None else niter
    _check("svd_lowrank", A, q, niter)
    A = A if M is None else A - M
    if A.shape[-2] < A.shape[-1]:
        V, S, U = _tall(A.mH, q, niter)
        return U, S, V
    return _tall(A, q, niter)


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True,
                niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Principal components: the decomposition of ``A`` with the mean of each column taken off.

    Args:
        A: Matrices ``(*, m, n)``, a sample in each row.
        q: How many components; ``min(6, m, n)`` when left out.
        center: Whether the means are taken off.
        niter: Rounds of power iteration.

    Returns:
        ``U (*, m, q)``, ``S (*, q)``, ``V (*, n, q)``; the columns of ``V`` are the directions.

    Raises:
        ValueError: ``q`` lies outside ``[0, min(m, n)]``, or ``niter`` is negative.

    Example:
        >>> import flambeau
        >>> A = flambeau.tensor([[1.0, 1.0], [3.0, 1.0], [5.0, 1.0]])
        >>> flambeau.pca_lowrank(A, q=1)[2].abs().round(decimals=4).flatten()
        tensor([1., 0.])
    """
    _check("pca_lowrank", A, 0, niter)
    q = min(6, *A.shape[-2:]) if q is None else q
    _check("pca_lowrank", A, q, niter)
    return svd_lowrank(A, q, niter, A.mean(-2, keepdim=True) if center else None)


def nuclear_norm(input: Tensor, dim: Any = None, keepdim: bool = False, *,
                 out: Tensor | None = None) -> Tensor:
    """Sum of the singular values of a matrix.

    Args:
        input: A matrix, or matrices along two dimensions.
        dim: The two dimensions; those of a matrix when left out.
        keepdim: Whether they stay, with size 1.
        out: A tensor to write to.

    Example:
        >>> import flambeau
        >>> flambeau.nuclear_norm(flambeau.tensor([[3.0, 0.0], [0.0, -4.0]]))
        tensor(7.)
    """
    if dim is None:
        if input.ndim != 2:
            raise RuntimeError(f"nuclear_norm(): expected a matrix, got shape {list(input.shape)}; "
                               "give the two dimensions as dim")
        dim = (-2, -1)
    return _op["linalg_matrix_norm"](input, "nuc", dim, keepdim, out=out)


def _check(what: str, A: Any, q: int, niter: int) -> None:
    if not is_tensor(A):
        raise TypeError(f"{what}(): 'A' must be a tensor, not {type(A).__name__}")
    if A.ndim < 2 or not (A.is_floating_point() or A.is_complex()):
        raise ValueError(f"{what}(): expected matrices of a floating dtype, got shape "
                         f"{list(A.shape)} of {A.dtype}")
    if not 0 <= q <= min(A.shape[-2:]):
        raise ValueError(f"{what}(): q (={q}) must be non-negative and not greater than "
                         f"min(m, n)={min(A.shape[-2:])}")
    if niter < 0:
        raise ValueError(f"{what}(): niter (={niter}) must be non-negative")


def _tall(A: Tensor, q: int, niter: int) -> tuple[Tensor, Tensor, Tensor]:
    """The decomposition of matrices with at least as many rows as columns."""
    Q = _range(A, q, niter)
    U, S, Vh = _op["linalg_svd"](Q.mH @ A, False)
    return Q @ U, S, Vh.mH


def _range(A: Tensor, q: int, niter: int) -> Tensor:
    """An orthonormal basis of nearly the space that the columns span."""
    shape = (*A.shape[:-2], A.shape[-1], q)
    start = functions["randn"](*shape, dtype=A.dtype, device=A.device)
    Q = _op["linalg_qr"](A @ start)[0]
    for _ in range(niter):
        Q = _op["linalg_qr"](A.mH @ Q)[0]
        Q = _op["linalg_qr"](A @ Q)[0]
    return Q
