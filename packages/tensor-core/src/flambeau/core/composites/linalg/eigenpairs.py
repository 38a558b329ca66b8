"""A few of the eigenvalues of symmetric matrices, by way of all of them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.core._core import Tensor, operators

_op = operators()

__all__ = ["lobpcg"]


def lobpcg(A: Tensor, k: int | None = None, B: Tensor | None = None, X: Tensor | None = None,
           n: int | None = None, iK: Tensor | None = None, niter: int | None = None,
           tol: float | None = None, largest: bool | None = None, method: str | None = None,
           tracker: Callable | None = None, ortho_iparams: dict[str, Any] | None = None,
           ortho_fparams: dict[str, Any] | None = None,
           ortho_bparams: dict[str, Any] | None = None) -> tuple[Tensor, Tensor]:
    """The largest or smallest eigenvalues of ``A x = B x e`` and their eigenvectors.

    PyTorch approaches them step by step from ``X``. Tensors are dense here, so the matrices are
    decomposed as a whole: the result is exact up to rounding, however the steps are chosen.

    Args:
        A: Symmetric or Hermitian matrices ``(*, m, m)``; their symmetric part counts.
        k: How many eigenvalues; as many as ``X`` has columns, or 1, when left out.
        B: Symmetric positive definite matrices ``(*, m, m)``; the identity when left out.
        X: Accepted as in PyTorch: where the steps begin.
        n: Accepted as in PyTorch: how many columns they begin with.
        iK: Accepted as in PyTorch: a preconditioner.
        niter: Accepted as in PyTorch: how many steps at most.
        tol: Accepted as in PyTorch: when they end.
        largest: The largest in descending order (as when left out), or the smallest in ascending.
        method: ``"ortho"`` or ``"basic"``, with the same result.
        tracker: Must be left out: there are no steps to follow.
        ortho_iparams: Accepted as in PyTorch.
        ortho_fparams: Accepted as in PyTorch.
        ortho_bparams: Accepted as in PyTorch.

    Returns:
        Eigenvalues ``(*, k)`` and eigenvectors ``(*, m, k)`` with ``X^H B X = I``.

    Raises:
        ValueError: ``A`` is not square, ``k`` lies outside ``[1, m]``, or there is no such method.
        NotImplementedError: a tracker was given.

    Example:
        >>> import flambeau
        >>> A = flambeau.diag(flambeau.tensor([1.0, 5.0, 3.0, 2.0]))
        >>> flambeau.lobpcg(A, k=2)[0]
        tensor([5., 3.])
        >>> flambeau.lobpcg(A, k=2, largest=False)[0]
        tensor([1., 2.])
    """
    k = (1 if X is None else X.shape[-1]) if k is None else k
    _check(A, k, method, tracker)
    A = _symmetric(A)
    if B is None:
        values, vectors = _op["linalg_eigh"](A)
    else:
        values, vectors = _generalized(A, _op["cholesky"](_symmetric(B)))
    if largest is None or largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    return values[..., :k], vectors[..., :k]


def _check(A: Tensor, k: int, method: str | None, tracker: Callable | None) -> None:
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError(f"lobpcg(): A must be square matrices, got shape {list(A.shape)}")
    if not 1 <= k <= A.shape[-1]:
        raise ValueError(f"lobpcg(): k must lie between 1 and the number of rows, "
                         f"{A.shape[-1]}, not {k}")
    if method not in (None, "ortho", "basic"):
        raise ValueError(f"lobpcg(): method must be 'ortho' or 'basic', not {method!r}")
    if tracker is not None:
        raise NotImplementedError("lobpcg(): there are no steps to track: the matrices are "
                                  "decomposed as a whole; leave tracker out")


def _symmetric(A: Tensor) -> Tensor:
    """What counts of a matrix, so that gradients are symmetric, too."""
    return (A + A.mH) / 2


def _generalized(A: Tensor, L: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenpairs for ``B = L L^H``: those of ``L^-1 A L^-H``, carried back."""
    half = _op["linalg_solve_triangular"](L, A, upper=False)
    C = _op["linalg_solve_triangular"](L, half.mH, upper=False)
    values, Y = _op["linalg_eigh"](_symmetric(C))
    return values, _op["linalg_solve_triangular"](L.mH, Y, upper=True)
