"""Eigenvalues, singular values, least squares and what is made of them, as array calls."""
from __future__ import annotations

import math
from contextlib import nullcontext
from typing import Any

import numpy as np

from flambeau.core import _core
from flambeau.cuda.arrays.compositions import kernel_of
from flambeau.cuda.arrays.lapack import lapack_of
from flambeau.cuda.arrays.linear_algebra import adjoint, element, first_failure

Array = Any


def _expect_finite(xp, a: Array, error: type[Exception], text: str) -> None:
    """Raise where a matrix holds NaN or infinity; ``text`` has a place for its number.

    Waits for the device, as does whoever asks whether a decomposition converged.
    """
    if not a.size:
        return
    finite = xp.isfinite(a).reshape(-1, a.shape[-2] * a.shape[-1]).all(-1)
    failure = first_failure(xp, ~finite)
    if failure is not None:
        raise error(text.format(element(a.shape[:-2], failure[0])))


def _converged(xp, function, text: str, *arguments):
    """A decomposition; where the library says that it failed, the error of the definition."""
    try:
        with _checked(xp):
            return function(*arguments)
    except np.linalg.LinAlgError as error:
        raise _core.LinAlgError(f"{text}The algorithm failed to converge ({error}); compute in "
                                "float64") from None


def _checked(xp):
    """CuPy looks at a routine's status where it is told to; NumPy always does."""
    if xp.__name__ == "numpy":
        return nullcontext()
    from cupyx import errstate

    return errstate(linalg="raise")


# ---- eigenvalues ---------------------------------------------------------------------------------

_LOOK = "look for them with A.isfinite().all()"


def _eigh(xp, a, side, function):
    _expect_finite(xp, a, _core.LinAlgError,
                   "linalg.eigh: {}The algorithm failed to converge because the input matrix "
                   f"contained non-finite values; {_LOOK}")
    return _converged(xp, function, "linalg.eigh: ", a, side.upper())


@kernel_of("linalg_eigh")
def eigh(xp, a, side):
    if not a.size:
        return xp.zeros(a.shape[:-1], a.real.dtype), a
    return tuple(_eigh(xp, a, side, xp.linalg.eigh))


@kernel_of("eigh_values")
def eigh_values(xp, a, side):
    return _eigh(xp, a, side, xp.linalg.eigvalsh) if a.size else xp.zeros(a.shape[:-1])


def _eig(xp, a, function):
    _expect_finite(xp, a, RuntimeError,
                   f"linalg.eig: {{}}input tensor should not contain infs or NaNs; {_LOOK}")
    return _converged(xp, function, "linalg.eig: ", a)


@kernel_of("linalg_eig")
def eig(xp, a):
    if not a.size:
        return xp.zeros(a.shape[:-1], a.dtype), a
    return tuple(_eig(xp, a, xp.linalg.eig))


@kernel_of("eig_values")
def eig_values(xp, a):
    return _eig(xp, a, xp.linalg.eigvals) if a.size else xp.zeros(a.shape[:-1])


# ---- singular values -----------------------------------------------------------------------------


def _svd(xp, a, *arguments):
    _expect_finite(xp, a, _core.LinAlgError,
                   "linalg.svd: {}The algorithm failed to converge because the input matrix "
                   f"contained non-finite values (error code: 1); {_LOOK}")
    return _converged(xp, xp.linalg.svd, "linalg.svd: ", a, *arguments)


@kernel_of("linalg_svd")
def svd(xp, a, full_matrices, driver):
    if a.size:
        return tuple(_svd(xp, a, full_matrices))
    batch, (m, n) = a.shape[:-2], a.shape[-2:]
    k = min(m, n)
    u, vh = (xp.broadcast_to(xp.eye(*shape, dtype=a.dtype), (*batch, *shape))
             for shape in ((m, m if full_matrices else k), (n if full_matrices else k, n)))
    return u, xp.zeros((*batch, k)), vh


@kernel_of("svd_values")
def svd_values(xp, a):
    return _svd(xp, a, False, False) if a.size else xp.zeros((*a.shape[:-2], min(a.shape[-2:])))


@kernel_of("pinv_svd")
def pinv_svd(xp, a, atols, rtols, atol, rtol, hermitian):
    if not a.size:
        return xp.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
    if hermitian:       # read from the lower triangle
        below = xp.tril(a, -1)
        a = below + adjoint(xp, below) + xp.eye(a.shape[-1], dtype=a.dtype) * a.real
    u, s, vh = _svd(xp, a, False)
    absolute, relative = (number if tensor is None else tensor.reshape(s.shape[:-1])[..., None]
                          for number, tensor in ((atol, atols), (rtol, rtols)))
    bound = xp.maximum(absolute, relative * s[..., :1]).astype(s.dtype)
    inverse = xp.where(s > bound, 1 / xp.where(s > bound, s, 1), 0).astype(s.dtype)
    return xp.matmul(adjoint(xp, vh) * inverse[..., None, :], adjoint(xp, u))


# ---- least squares -------------------------------------------------------------------------------

_NO_FULL_RANK = ("The least squares solution could not be computed because the input matrix does "
                 "not have full rank (error code: {}); use driver='gelsy' or 'gelsd'")


def _by_qr(xp, a, b):
    """Through the factors of A, or of its adjoint where there are more unknowns than equations."""
    wide = a.shape[-2] < a.shape[-1]
    q, r = xp.linalg.qr(adjoint(xp, a) if wide else a)
    zeros = xp.diagonal(r, axis1=-2, axis2=-1).reshape(-1, r.shape[-1]) == 0
    failure = first_failure(xp, zeros.any(-1))
    if failure is not None:
        raise _core.LinAlgError(
            f"linalg.lstsq: {element(a.shape[:-2], failure[0])}"
            + _NO_FULL_RANK.format(int(xp.argmax(zeros[failure[0]])) + 1))
    batch = b.shape[:-2]
    q, r = (xp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (q, r))
    solve = lapack_of(xp).solve_triangular
    if wide:
        return xp.matmul(q, solve(r, b, False, operation="C"))
    return solve(r, xp.matmul(adjoint(xp, q), b), False)


def _by_values(xp, a, b, rcond):
    u, s, vh = _svd(xp, a, False)
    kept = s > (rcond if rcond >= 0 else float(xp.finfo(s.dtype).eps)) * s[..., :1]
    inverse = xp.where(kept, 1 / xp.where(kept, s, 1), 0).astype(s.dtype)
    found = xp.matmul(adjoint(xp, vh) * inverse[..., None, :], xp.matmul(adjoint(xp, u), b))
    return found, kept.sum(-1), s


@kernel_of("linalg_lstsq_by")
def lstsq_by(xp, a, b, rcond, driver):
    batch, (m, n) = a.shape[:-2], a.shape[-2:]
    everywhere = np.broadcast_shapes(batch, b.shape[:-2])
    b = xp.broadcast_to(b, (*everywhere, *b.shape[-2:]))
    none = xp.zeros(0, a.real.dtype)
    _expect_finite(xp, a, _core.LinAlgError,
                   "linalg.lstsq: {}The least squares solution could not be computed because the "
                   f"input contained non-finite values; {_LOOK}")
    if not a.size:
        return (xp.zeros((*everywhere, n, b.shape[-1]), a.dtype),
                xp.zeros(0 if driver == "gels" else batch, "int64"),
                xp.zeros((*batch, min(m, n))) if driver in ("gelsd", "gelss") else none)
    if driver == "gels":
        return _by_qr(xp, a, b), none.astype("int64"), none
    found, rank, values = _by_values(xp, a, b, rcond)
    return found, rank, values if driver in ("gelsd", "gelss") else none


# ---- the exponential -----------------------------------------------------------------------------

#: Pade's approximation of degree 13, and the norm up to which it holds (Higham, 2005).
_PADE = (64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
         129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0,
         40840800.0, 960960.0, 16380.0, 182.0, 1.0)
_BOUND = 5.371920351148152


@kernel_of("matrix_exp")
def matrix_exp(xp, a):
    """Scaled until the approximation holds, and squared as often: in double precision."""
    if not a.size:
        return a
    n, shape = a.shape[-1], a.shape
    wide = a.astype("complex128" if a.dtype.kind == "c" else "float64").reshape(-1, n, n)
    norm = xp.abs(wide).sum(-2).max(-1)
    finite = xp.isfinite(norm)
    times = xp.ceil(xp.log2(xp.maximum(xp.where(finite, norm, 0), _BOUND) / _BOUND))
    wide = wide * (2.0 ** -times)[:, None, None]
    result = _approximate(xp, xp.where(finite[:, None, None], wide, 0))
    for i in range(int(times.max())):
        result = xp.where((i < times)[:, None, None], xp.matmul(result, result), result)
    return xp.where(finite[:, None, None], result, math.nan).reshape(shape)


def _approximate(xp, a):
    c, eye = _PADE, xp.eye(a.shape[-1], dtype=a.dtype)
    two = xp.matmul(a, a)
    four = xp.matmul(two, two)
    six = xp.matmul(four, two)
    odd = xp.matmul(six, c[13] * six + c[11] * four + c[9] * two) + c[7] * six + c[5] * four
    odd = xp.matmul(a, odd + c[3] * two + c[1] * eye)
    even = xp.matmul(six, c[12] * six + c[10] * four + c[8] * two) + c[6] * six + c[4] * four
    even = even + c[2] * two + c[0] * eye
    lapack = lapack_of(xp)
    columns, pivots, _ = lapack.lu(even - odd)
    return lapack.solve(columns, pivots, even + odd, xp.arange(len(a)))


# ---- distances -----------------------------------------------------------------------------------

#: Differences that are held at once.
_MOST = 1 << 24


def _distances(xp, x, y, p):
    """Between rows of [b, n, m] and [b, k, m], some rows at a time."""
    step = max(1, _MOST // max(1, y.size))
    parts = [xp.abs(x[:, i:i + step, None] - y[:, None]) for i in range(0, x.shape[1], step)]
    if p == 1:
        return xp.concatenate([part.sum(-1) for part in parts], 1)
    if p == math.inf:
        return xp.concatenate([part.max(-1) for part in parts], 1)
    return xp.concatenate([xp.sqrt((part * part).sum(-1)) for part in parts], 1)


@kernel_of("cdist_of")
def cdist_of(xp, x, y, p):
    if not x.size or not y.size:
        return xp.zeros((x.shape[0], x.shape[1], y.shape[1]), x.dtype)
    return _distances(xp, x, y, p)


@kernel_of("pdist_euclidean")
def pdist_euclidean(xp, x):
    n = len(x)
    if n < 2 or not x.size:
        return xp.zeros(max(n, 0) * max(n - 1, 0) // 2, x.dtype)
    rows, columns = xp.triu_indices(n, 1)
    return _distances(xp, x[None], x[None], 2)[0][rows, columns]
