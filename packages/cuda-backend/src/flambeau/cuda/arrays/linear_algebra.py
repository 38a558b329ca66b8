"""Linear algebra as array calls: LU, Cholesky, triangles, QR and what is solved with them.

Conventions of results (exchanges of rows from 1, one number of failure for each matrix) are those
of the definitions; ``lapack.py`` reaches the libraries.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.core import _core
from flambeau.cuda.arrays.compositions import kernel_of
from flambeau.cuda.arrays.lapack import lapack_of

Array = Any


def first_failure(xp, info: Array) -> tuple[int, int] | None:
    """Where the first positive number stands, and the number; waits for the device."""
    failed = info.reshape(-1) > 0
    if not bool(failed.any()):
        return None
    at = int(xp.argmax(failed))
    return at, int(info.reshape(-1)[at])


def element(batch: tuple[int, ...], at: int) -> str:
    """How errors name a matrix of a stack."""
    return f"(Batch element {at}): " if batch else ""


def _raise_singular(xp, info: Array, batch, caller: str, consequence: str) -> None:
    failure = first_failure(xp, info)
    if failure is not None:
        raise _core.LinAlgError(
            f"{caller}: {element(batch, failure[0])}The diagonal element {failure[1]} is zero, the "
            f"{consequence}; add a multiple of the identity to the matrix, or use linalg.lstsq or "
            "linalg.pinv, which accept it")


_NOT_INVERTED = "inversion could not be completed because the input matrix is singular"


def adjoint(xp, a: Array) -> Array:
    return xp.conj(xp.swapaxes(a, -1, -2))


# ---- LU ----------------------------------------------------------------------------------------


@kernel_of("linalg_lu_factor_ex")
def lu_factor_ex(xp, a, pivot, check_errors):
    lapack, batch = lapack_of(xp), a.shape[:-2]
    columns, pivots, info = lapack.lu(a)
    if check_errors:
        _raise_singular(xp, info, batch, "linalg.lu_factor",
                        "factorization has a zero pivot, and solving with it would divide by it")
    return (lapack.rows(columns, batch), pivots.reshape(*batch, pivots.shape[-1]),
            info.reshape(batch))


def _order(xp, batch: tuple[int, ...], count: int, shape: tuple[int, ...]) -> Array:
    """For each matrix of a stack of ``shape`` the number of the one of ``batch`` it meets."""
    return xp.broadcast_to(xp.arange(count).reshape(batch), shape).reshape(-1)


def _solve_all(xp, a_batch, columns, pivots, b: Array, transposed: bool) -> Array:
    """Solutions for right-hand sides whose batch dimensions are broadcast with the factors'."""
    shape = np.broadcast_shapes(a_batch, b.shape[:-2])
    right = xp.broadcast_to(b, (*shape, *b.shape[-2:]))
    flat = right.reshape(-1, *b.shape[-2:]) if right.size else right.reshape(0, *b.shape[-2:])
    if not right.size:
        return xp.zeros(right.shape, b.dtype)
    order = _order(xp, a_batch, len(columns), shape)
    found = lapack_of(xp).solve(columns, pivots, flat, order, transposed)
    return found.reshape(right.shape)


@kernel_of("linalg_solve_lu")
def solve_lu(xp, a, b, left, check_errors, caller):
    lapack, batch = lapack_of(xp), a.shape[:-2]
    columns, pivots, info = lapack.lu(a)
    if check_errors:
        _raise_singular(xp, info, batch, caller, _NOT_INVERTED)
    if left:
        result = _solve_all(xp, batch, columns, pivots, b, False)
    else:       # A^T X^T = B^T
        result = xp.swapaxes(_solve_all(xp, batch, columns, pivots, xp.swapaxes(b, -1, -2), True),
                             -1, -2)
    return (result, lapack.rows(columns, batch), pivots.reshape(*batch, pivots.shape[-1]),
            info.reshape(batch))


@kernel_of("linalg_invert")
def invert(xp, a, check_errors):
    columns, pivots, info = lapack_of(xp).lu(a)
    if check_errors:
        _raise_singular(xp, info, a.shape[:-2], "linalg.inv", _NOT_INVERTED)
    eye = xp.eye(a.shape[-1], dtype=a.dtype)
    return (_solve_all(xp, a.shape[:-2], columns, pivots, eye, False),
            info.reshape(a.shape[:-2]))


def _signs(xp, pivots: Array, dtype) -> Array:
    """-1 for an odd number of exchanges."""
    moved = (pivots != xp.arange(1, pivots.shape[-1] + 1)).sum(-1)
    return (1 - 2 * (moved % 2)).astype(dtype)


def _factored(xp, a):
    lapack, batch = lapack_of(xp), a.shape[:-2]
    columns, pivots, _ = lapack.lu(a)
    diagonal = xp.diagonal(columns, axis1=-2, axis2=-1)
    return (diagonal, _signs(xp, pivots, a.dtype), lapack.rows(columns, batch),
            pivots.reshape(*batch, a.shape[-1]))


@kernel_of("linalg_det_lu")
def det_lu(xp, a):
    diagonal, signs, factors, pivots = _factored(xp, a)
    return (signs * xp.prod(diagonal, axis=-1)).reshape(a.shape[:-2]), factors, pivots


@kernel_of("linalg_slogdet_lu")
def slogdet_lu(xp, a):
    diagonal, signs, factors, pivots = _factored(xp, a)
    sizes = xp.abs(diagonal)
    units = xp.where(sizes == 0, 0, diagonal / xp.where(sizes == 0, 1, sizes))
    sign = signs * xp.prod(units.astype(a.dtype), axis=-1)
    return (sign.reshape(a.shape[:-2]), xp.log(sizes).sum(-1).reshape(a.shape[:-2]), factors,
            pivots)


@kernel_of("lu_permutation")
def lu_permutation(xp, pivots, n):
    """One exchange after the other, of all matrices at once."""
    flat = pivots.reshape(-1, pivots.shape[-1]) if pivots.size else xp.zeros((0, 0), "int32")
    wrong = (flat < 1) | (flat > n)
    if bool(wrong.any()):
        raise RuntimeError("lu_solve: pivots passed to lu_solve must be greater or equal to 1 and "
                           f"at most the number of rows, {n}; got {int(flat[wrong][0])}")
    batch = pivots.shape[:-1]
    count = 1
    for size in batch:
        count *= size
    orders = xp.broadcast_to(xp.arange(n), (count, n)).copy()
    every = xp.arange(count)
    for j in range(flat.shape[-1]):
        other = flat[:, j] - 1
        kept = orders[:, j].copy()
        orders[:, j] = orders[every, other]
        orders[every, other] = kept
    return orders.reshape(*batch, n)


# ---- Cholesky, triangles -------------------------------------------------------------------------


@kernel_of("linalg_cholesky_ex")
def cholesky_ex(xp, a, upper, check_errors):
    lapack, batch = lapack_of(xp), a.shape[:-2]
    columns, info = lapack.cholesky(a, upper)
    failure = first_failure(xp, info) if check_errors else None
    if failure is not None:
        raise _core.LinAlgError(
            f"linalg.cholesky: {element(batch, failure[0])}The factorization could not be "
            "completed because the input is not positive-definite (the leading minor of order "
            f"{failure[1]} is not positive-definite); add a small multiple of the identity, or use "
            "linalg.eigh")
    rows = lapack.rows(columns, batch)
    return xp.triu(rows) if upper else xp.tril(rows), info.reshape(batch)


@kernel_of("linalg_solve_triangular")
def solve_triangular(xp, a, b, upper, left, unitriangular):
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (xp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b))
    solve = lapack_of(xp).solve_triangular
    if left:
        return solve(a, b, not upper, unitriangular)
    # X A = B is A^T X^T = B^T
    found = solve(a, xp.swapaxes(b, -1, -2), not upper, unitriangular, "T")
    return xp.swapaxes(found, -1, -2)


# ---- QR ------------------------------------------------------------------------------------------


@kernel_of("linalg_qr")
def qr(xp, a, mode):
    if mode == "r":
        return xp.zeros(0, a.dtype), _qr(xp, a, "r")
    return tuple(_qr(xp, a, mode))


def _qr(xp, a, mode):
    """Stacks without matrices give results without matrices, for which libraries have no call."""
    m, n = a.shape[-2:]
    if a.size:
        return xp.linalg.qr(a, mode)
    k = m if mode == "complete" else min(m, n)
    r = xp.zeros((*a.shape[:-2], k, n), a.dtype)
    q = xp.broadcast_to(xp.eye(m, k, dtype=a.dtype), (*a.shape[:-2], m, k))
    return r if mode == "r" else (q, r)


@kernel_of("geqrf")
def geqrf(xp, a):
    if not a.size:
        return a, xp.zeros((*a.shape[:-2], min(a.shape[-2:])), a.dtype)
    reflectors, tau = xp.linalg.qr(a, "raw")
    return xp.swapaxes(reflectors, -1, -2), tau


def _reflected(xp, a, tau, c, adjointed: bool) -> Array:
    """``Q c``, or ``Q^H c``: the product of reflectors is ``I - V T V^H``.

    The inverse of T has 1 / tau on its diagonal and above it the products of the reflectors. One
    whose tau is 0 is the identity: it takes no part.
    """
    k = tau.shape[-1]
    if not k or not c.size:
        return c
    v = xp.tril(a[..., :k], -1) + xp.eye(a.shape[-2], k, dtype=a.dtype)
    idle = (tau == 0)[..., None, :]
    v = xp.where(idle, 0, v).astype(a.dtype)
    across = adjoint(xp, v)
    inverse = xp.triu(xp.matmul(across, v), 1)
    inverse = inverse + xp.eye(k, dtype=a.dtype) * xp.where(
        idle, 1, 1 / xp.where(idle, 1, tau[..., None, :]))
    factors = lapack_of(xp).solve_triangular(inverse.astype(a.dtype), xp.matmul(across, c), False,
                                             operation="C" if adjointed else "N")
    return c - xp.matmul(v, factors)


@kernel_of("linalg_householder_product")
def householder_product(xp, a, tau):
    eye = xp.broadcast_to(xp.eye(*a.shape[-2:], dtype=a.dtype), a.shape)
    return _reflected(xp, a, tau, eye, False)


@kernel_of("ormqr")
def ormqr(xp, a, tau, other, left, transpose):
    if left:
        return _reflected(xp, a, tau, other, transpose)
    return adjoint(xp, _reflected(xp, a, tau, adjoint(xp, other), not transpose))
