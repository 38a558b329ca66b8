"""cuSOLVER and cuBLAS for stacks of matrices, as CuPy reaches them.

Matrices are arrays of rows; the libraries want columns, so that what they work on is a copy with
the last two dimensions exchanged. Nothing here waits for the device.
"""
from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

Array = Any

LOWER, UPPER = 0, 1                 # cublasFillMode_t
PLAIN, TRANSPOSED = 0, 1            # cublasOperation_t
#: Letters of the routines' names.
_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}


@cache
def lapack_of(xp) -> Lapack:
    """The libraries of an array module: CuPy's, or for NumPy those of the simulation."""
    if xp.__name__ == "numpy":
        from flambeau.cuda.simulation.libraries import simulated_lapack

        return simulated_lapack(xp)
    from cupy_backends.cuda.libs import cublas, cusolver
    from cupyx.scipy.linalg import solve_triangular

    device = xp.cuda.device
    return Lapack(xp, cublas, cusolver, solve_triangular, device.get_cublas_handle,
                  device.get_cusolver_handle, lambda array: array.data.ptr)


class Lapack:
    """Decompositions of stacks of matrices.

    Args:
        xp: CuPy, or what stands for it.
        cublas: ``cupy_backends.cuda.libs.cublas``.
        cusolver: ``cupy_backends.cuda.libs.cusolver``.
        solve_triangular: ``cupyx.scipy.linalg.solve_triangular``.
        blas_handle: gives the current device's handle for cuBLAS.
        solver_handle: the same for cuSOLVER.
        address: gives the address of an array's first element.
    """

    def __init__(self, xp, cublas, cusolver, solve_triangular, blas_handle, solver_handle,
                 address) -> None:
        self.xp, self.cublas, self.cusolver = xp, cublas, cusolver
        self._triangular = solve_triangular
        self.blas_handle, self.solver_handle = blas_handle, solver_handle
        self.address = address

    # ---- columns -------------------------------------------------------------------------------

    def columns(self, a: Array) -> Array:
        """A copy of a stack as [count, columns, rows]."""
        exchanged = self.xp.swapaxes(a, -1, -2)
        copied = self.xp.array(exchanged, copy=True, order="C")
        return copied.reshape(-1, *copied.shape[-2:]) if copied.size else self.xp.zeros(
            (_count(a.shape[:-2]), *exchanged.shape[-2:]), a.dtype)

    def rows(self, columns: Array, batch: tuple[int, ...]) -> Array:
        """The stack whose columns these are."""
        return self.xp.swapaxes(columns, -1, -2).reshape(*batch, *columns.shape[:0:-1])

    def _addresses(self, stack: Array, order: Array | None = None) -> Array:
        """Addresses of a stack's matrices, as an array of the device."""
        xp, step = self.xp, stack.itemsize * _count(stack.shape[1:])
        first = self.address(stack)
        found = xp.arange(first, first + step * len(stack), step, dtype="uint64")
        return found if order is None else xp.ascontiguousarray(found[order])

    def _routine(self, library, name: str, dtype):
        return getattr(library, _LETTERS[dtype.char] + name)

    # ---- LU ------------------------------------------------------------------------------------

    def lu(self, a: Array) -> tuple[Array, Array, Array]:
        """Columns of the factors, exchanges of rows (from 1), and the first zero pivot (or 0)."""
        columns = self.columns(a)
        count, n, m = columns.shape
        pivots = self.xp.zeros((count, min(m, n)), "int32")
        info = self.xp.zeros(count, "int32")
        if not columns.size:
            return columns, pivots, info
        if m == n and count > 1:
            factor = self._routine(self.cublas, "getrfBatched", a.dtype)
            addresses = self._addresses(columns)
            factor(self.blas_handle(), n, self.address(addresses), n, self.address(pivots),
                   self.address(info), count)
            return columns, pivots, info
        measure, factor = (self._routine(self.cusolver, name, a.dtype)
                           for name in ("getrf_bufferSize", "getrf"))
        handle = self.solver_handle()
        for i in range(count):
            at = self.address(columns[i])
            work = self.xp.empty(measure(handle, m, n, at, m), a.dtype)
            factor(handle, m, n, at, m, self.address(work), self.address(pivots[i]),
                   self.address(info[i:]))
        return columns, pivots, info

    def solve(self, factors: Array, pivots: Array, b: Array, order: Array,
              transposed: bool = False) -> Array:
        """Solve systems with factors of ``lu``.

        Args:
            factors: Columns of the factors.
            pivots: Exchanges of rows.
            b: Right-hand sides, a stack of three dimensions.
            order: For each of them the number of its factors.
            transposed: Solve with the transposed matrices.

        Returns:
            The solutions, of the shape of ``b``.
        """
        right = self.columns(b)
        count, width, n = right.shape
        operation = TRANSPOSED if transposed else PLAIN
        if not right.size:
            return self.rows(right, (count,))
        if count == 1:
            info = self.xp.zeros(1, "int32")
            solve = self._routine(self.cusolver, "getrs", b.dtype)
            solve(self.solver_handle(), operation, n, width, self.address(factors), n,
                  self.address(pivots), self.address(right), n, self.address(info))
            return self.rows(right, (1,))
        status = np.zeros(1, "int32")     # this routine's lies on the host
        left, at = self._addresses(factors, order), self._addresses(right)
        exchanges = self.xp.ascontiguousarray(pivots[order])
        solve = self._routine(self.cublas, "getrsBatched", b.dtype)
        solve(self.blas_handle(), operation, n, width, self.address(left), n,
              self.address(exchanges), self.address(at), n, status.ctypes.data, count)
        return self.rows(right, (count,))

    # ---- Cholesky ------------------------------------------------------------------------------

    def cholesky(self, a: Array, upper: bool) -> tuple[Array, Array]:
        """Columns of the factor, whose other triangle is what it was, and the failing minor."""
        columns = self.columns(a)
        count, n, _ = columns.shape
        info = self.xp.zeros(count, "int32")
        side, handle = UPPER if upper else LOWER, self.solver_handle()
        if not columns.size:
            return columns, info
        if count > 1:
            factor = self._routine(self.cusolver, "potrfBatched", a.dtype)
            addresses = self._addresses(columns)
            factor(handle, side, n, self.address(addresses), n, self.address(info), count)
            return columns, info
        measure, factor = (self._routine(self.cusolver, name, a.dtype)
                           for name in ("potrf_bufferSize", "potrf"))
        at = self.address(columns)
        work = self.xp.empty(measure(handle, side, n, at, n), a.dtype)
        factor(handle, side, n, at, n, self.address(work), work.size, self.address(info))
        return columns, info

    # ---- triangles -----------------------------------------------------------------------------

    def solve_triangular(self, a: Array, b: Array, lower: bool, unit: bool = False,
                         operation: str = "N") -> Array:
        """Solve ``op(a) x = b`` for stacks of the same batch dimensions."""
        if not a.size or not b.size:
            return self.xp.zeros(b.shape, b.dtype)
        flat_a, flat_b = (x.reshape(-1, *x.shape[-2:]) for x in (a, b))
        one = len(flat_a) == 1
        found = self._triangular(flat_a[0] if one else flat_a, flat_b[0] if one else flat_b,
                                 trans=operation, lower=lower, unit_diagonal=unit)
        return found.reshape(b.shape)


def _count(shape) -> int:
    total = 1
    for n in shape:
        total *= n
    return total
