"""Decompositions and solvers, with NumPy."""
from __future__ import annotations

import numpy as np

from flambeau.testing.reference.kernels import kernel


def _wide(x):
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def _each(function, x):
    """A function of one matrix over a stack; its results as stacks."""
    flat = x.reshape(-1, *x.shape[-2:])
    results = list(zip(*map(function, flat), strict=True))
    return [np.asarray(r).reshape((*x.shape[:-2], *np.shape(r[0]))) for r in results]


# ---- LU ----------------------------------------------------------------------------------------
def _factor(a):
    """Gaussian elimination; the row with the greatest pivot is exchanged to the top."""
    a, rows = a.copy(), a.shape[0]
    k, failed = min(a.shape), 0
    pivots = np.zeros(k, np.int32)
    for j in range(k):
        best = j + int(np.argmax(abs(a[j:, j].real) + abs(a[j:, j].imag)))
        pivots[j] = best + 1
        a[[j, best]] = a[[best, j]]
        if a[j, j] == 0:
            failed = failed or j + 1
            continue
        a[j + 1:, j] /= a[j, j]
        a[j + 1:, j + 1:] -= np.outer(a[j + 1:rows, j], a[j, j + 1:])
    return a, pivots, np.int32(failed)


def _lu(a):
    return _each(_factor, _wide(a))


@kernel("linalg_lu_factor_ex")
def lu_factor_ex(a, pivot, check_errors):
    return tuple(_lu(a))


@kernel("lu_permutation")
def lu_permutation(pivots, n):
    orders = np.empty((*pivots.shape[:-1], n), np.int64)
    for index in np.ndindex(pivots.shape[:-1]):
        order = np.arange(n)
        for j, other in enumerate(pivots[index]):
            order[[j, other - 1]] = order[[other - 1, j]]
        orders[index] = order
    return orders


def _t(x):
    return np.swapaxes(x, -1, -2)


def _solve(a, b, left):
    if left:
        return np.matmul(np.linalg.inv(_wide(a)), _wide(b))
    return np.matmul(_wide(b), np.linalg.inv(_wide(a)))


@kernel("linalg_solve_lu")
def solve_lu(a, b, left, check_errors, caller):
    return _solve(a, b, left), *_lu(a)


@kernel("linalg_invert")
def invert(a, check_errors):
    return np.linalg.inv(_wide(a)), np.zeros(a.shape[:-2], np.int32)


@kernel("linalg_det_lu")
def det_lu(a):
    return np.linalg.det(_wide(a)), *_lu(a)[:2]


@kernel("linalg_slogdet_lu")
def slogdet_lu(a):
    return *np.linalg.slogdet(_wide(a)), *_lu(a)[:2]


# ---- Cholesky, triangles -----------------------------------------------------------------------
@kernel("linalg_cholesky_ex")
def cholesky_ex(a, upper, check_errors):
    a = _wide(np.conj(_t(a)) if upper else a)
    factor = np.linalg.cholesky(a)
    return np.conj(_t(factor)) if upper else factor, np.zeros(a.shape[:-2], np.int32)


@kernel("linalg_solve_triangular")
def solve_triangular(a, b, upper, left, unitriangular):
    a = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        eye = np.eye(a.shape[-1])
        a = a * (1 - eye) + eye
    return _solve(a, b, left)


# ---- QR ----------------------------------------------------------------------------------------
@kernel("linalg_qr")
def qr(a, mode):
    return tuple(np.linalg.qr(_wide(a), mode))


@kernel("geqrf")
def geqrf(a):
    reflectors, tau = np.linalg.qr(_wide(a), "raw")
    return _t(reflectors), tau


def _product(a, tau):
    m, n = a.shape
    q = np.eye(m, n, dtype=a.dtype)
    for i in reversed(range(len(tau))):
        v = np.concatenate([np.zeros(i), [1], a[i + 1:, i]])
        q = q - tau[i] * np.outer(v, np.conj(v) @ q)
    return q


@kernel("linalg_householder_product")
def householder_product(a, tau):
    a, tau = _wide(a), _wide(tau)
    if a.ndim == 2:
        return _product(a, tau)
    return np.stack([_product(x, t) for x, t in zip(a, tau, strict=True)])


@kernel("ormqr")
def ormqr(a, tau, other, left, transpose):
    """By the whole square matrix of the reflectors."""
    rows, k = a.shape[-2], tau.shape[-1]
    square = np.zeros((*a.shape[:-1], rows), _wide(a).dtype)
    square[..., :k] = a[..., :k]
    q = householder_product(square, tau)
    q = np.conj(_t(q)) if transpose else q
    return np.matmul(q, other) if left else np.matmul(other, q)


# ---- least squares, symmetric systems ----------------------------------------------------------
@kernel("linalg_lstsq_by")
def lstsq_by(a, b, rcond, driver):
    none = np.zeros(0)
    values = np.linalg.svd(_wide(a), compute_uv=False)
    rank = (values > rcond * values.max(-1, keepdims=True)).sum(-1)
    return (np.matmul(np.linalg.pinv(_wide(a), rcond), b),
            none.astype(np.int64) if driver == "gels" else rank,
            values if driver in ("gelsd", "gelss") else none)


def _ldl(a, hermitian):
    """Without exchanges, which samples do not need."""
    a, n = _wide(a).copy(), a.shape[0]
    for j in range(n):
        column = a[j + 1:, j] / a[j, j]
        other = np.conj(column) if hermitian else column
        a[j + 1:, j + 1:] -= np.outer(column, other) * a[j, j]
        a[j + 1:, j] = column
    return np.tril(a), np.arange(1, n + 1, dtype=np.int32), np.int32(0)


@kernel("linalg_ldl_factor_ex")
def ldl_factor_ex(a, hermitian, check_errors):
    return tuple(_each(lambda x: _ldl(x, hermitian), a))


@kernel("linalg_ldl_solve")
def ldl_solve(ld, pivots, b, hermitian):
    eye = np.eye(ld.shape[-1])
    lower = np.tril(_wide(ld), -1) + eye
    upper = np.conj(_t(lower)) if hermitian else _t(lower)
    return np.matmul(np.linalg.inv(np.matmul(np.matmul(lower, ld * eye), upper)), b)


# ---- eigenvalues and singular values -----------------------------------------------------------
@kernel("linalg_eigh")
def eigh(a, side):
    return tuple(np.linalg.eigh(_wide(a), side))


@kernel("eigh_values")
def eigh_values(a, side):
    return np.linalg.eigvalsh(_wide(a), side)


@kernel("linalg_eig")
def eig(a):
    values, vectors = np.linalg.eig(_wide(a))
    return values.astype(np.complex128), vectors.astype(np.complex128)


@kernel("eig_values")
def eig_values(a):
    return np.linalg.eigvals(_wide(a)).astype(np.complex128)


@kernel("linalg_svd")
def svd(a, full_matrices, driver):
    return tuple(np.linalg.svd(_wide(a), full_matrices))


@kernel("svd_values")
def svd_values(a):
    return np.linalg.svd(_wide(a), compute_uv=False)


@kernel("pinv_svd")
def pinv_svd(a, atols, rtols, atol, rtol, hermitian):
    u, s, vh = np.linalg.svd(_wide(a), full_matrices=False)
    atol = atol if atols is None else atols[..., None]
    rtol = rtol if rtols is None else rtols[..., None]
    kept = s > np.maximum(atol, rtol * s.max(-1, keepdims=True))
    inverse = np.where(kept, 1 / np.where(kept, s, 1), 0)
    return np.matmul(np.conj(_t(vh)) * inverse[..., None, :], np.conj(_t(u)))


@kernel("matrix_exp")
def matrix_exp(a):
    """The Taylor series, of samples whose norm is small."""
    a = _wide(a)
    total = term = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
    for i in range(1, 60):
        term = np.matmul(term, a) / i
        total = total + term
    return total
