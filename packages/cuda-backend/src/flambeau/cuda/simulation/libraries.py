"""cuSOLVER and cuBLAS of the simulation: CuPy's functions over addresses, on the CPU.

They take and give what the libraries do, columns after columns at addresses, and compute with the
CPU's operators. Work space is filled, and handles and sizes are looked at, so that a caller who
passes the wrong ones is found out.
"""
from __future__ import annotations

import ctypes
from functools import partial

import numpy as np

import flambeau
from flambeau.core import _core
from flambeau.cuda.arrays.lapack import Lapack
from flambeau.testing.arrays import from_bfloat16, to_bfloat16

BLAS_HANDLE, SOLVER_HANDLE = 0xB1A5, 0x501E
_DTYPES = {"s": "float32", "d": "float64", "c": "complex64", "z": "complex128"}
#: Elements of work space that every routine asks for.
WORK = 24


def at(address: int, dtype, rows: int, columns: int = 1, leading: int | None = None) -> np.ndarray:
    """The matrix whose columns begin at an address."""
    size, leading = np.dtype(dtype).itemsize, leading or rows
    if leading < rows:
        raise ValueError(f"a leading dimension of {leading} for {rows} rows")
    memory = (ctypes.c_char * (size * leading * columns)).from_address(address)
    return np.ndarray((rows, columns), dtype, memory, 0, (size, size * leading))


def _call(key: str, *arguments) -> list[np.ndarray]:
    """An operator of the CPU."""
    found = _core.call(key, [flambeau.from_numpy(np.array(a)) if isinstance(a, np.ndarray) else a
                             for a in arguments])
    return [t.numpy() for t in (found if isinstance(found, tuple) else (found,))]


def _expect(handle: int, wanted: int) -> None:
    if handle != wanted:
        raise ValueError(f"handle {handle:#x} is not that of this library")


def _ints(address: int, count: int) -> np.ndarray:
    return at(address, "int32", count)[:, 0]


def _list(address: int, count: int) -> list[int]:
    return [int(a) for a in at(address, "uint64", count)[:, 0]]


# ---- cuSOLVER ------------------------------------------------------------------------------------


def getrf_buffer_size(dtype, handle, m, n, a, lda):
    _expect(handle, SOLVER_HANDLE)
    return WORK


def _getrf(dtype, m, n, a, lda, pivots, info):
    matrix = at(a, dtype, m, n, lda)
    factors, exchanges, failed = _call("linalg_lu_factor_ex", matrix, True, False)
    matrix[...] = factors
    _ints(pivots, min(m, n))[...] = exchanges
    _ints(info, 1)[...] = failed


def getrf(dtype, handle, m, n, a, lda, work, pivots, info):
    _expect(handle, SOLVER_HANDLE)
    at(work, dtype, WORK)[...] = np.nan
    _getrf(dtype, m, n, a, lda, pivots, info)


def _getrs(dtype, operation, n, width, a, lda, pivots, b, ldb):
    right = at(b, dtype, n, width, ldb)
    factors, exchanges = at(a, dtype, n, n, lda), _ints(pivots, n)
    lower = np.tril(factors, -1) + np.eye(n, dtype=dtype)
    order = np.arange(n)
    for j, other in enumerate(exchanges):
        order[[j, other - 1]] = order[[other - 1, j]]
    if operation == 0:
        half = _call("linalg_solve_triangular", lower, right[order], False, True, True)[0]
        right[...] = _call("linalg_solve_triangular", factors, half, True, True, False)[0]
        return
    half = _call("linalg_solve_triangular", factors.T, right, False, True, False)[0]
    half = _call("linalg_solve_triangular", lower.T, half, True, True, True)[0]
    right[order] = half


def getrs(dtype, handle, operation, n, width, a, lda, pivots, b, ldb, info):
    _expect(handle, SOLVER_HANDLE)
    _getrs(dtype, operation, n, width, a, lda, pivots, b, ldb)
    _ints(info, 1)[...] = 0


def potrf_buffer_size(dtype, handle, side, n, a, lda):
    _expect(handle, SOLVER_HANDLE)
    return WORK


def _potrf(dtype, side, n, a, lda, info):
    """The other triangle stays what it was."""
    matrix = at(a, dtype, n, n, lda)
    factor, failed = _call("linalg_cholesky_ex", matrix, side == 1, False)
    own = np.triu(np.ones((n, n), bool)) if side == 1 else np.tril(np.ones((n, n), bool))
    matrix[own] = factor[own]
    _ints(info, 1)[...] = failed


def potrf(dtype, handle, side, n, a, lda, work, lwork, info):
    _expect(handle, SOLVER_HANDLE)
    at(work, dtype, lwork)[...] = np.nan
    _potrf(dtype, side, n, a, lda, info)


def potrf_batched(dtype, handle, side, n, addresses, lda, info, count):
    _expect(handle, SOLVER_HANDLE)
    for i, a in enumerate(_list(addresses, count)):
        _potrf(dtype, side, n, a, lda, info + 4 * i)


# ---- cuBLAS --------------------------------------------------------------------------------------


def getrf_batched(dtype, handle, n, addresses, lda, pivots, info, count):
    _expect(handle, BLAS_HANDLE)
    for i, a in enumerate(_list(addresses, count)):
        _getrf(dtype, n, n, a, lda, pivots + 4 * n * i, info + 4 * i)


def getrs_batched(dtype, handle, operation, n, width, lefts, lda, pivots, rights, ldb, info,
                  count):
    _expect(handle, BLAS_HANDLE)
    for i, (a, b) in enumerate(zip(_list(lefts, count), _list(rights, count), strict=True)):
        _getrs(dtype, operation, n, width, a, lda, pivots + 4 * n * i, b, ldb)
    _ints(info, 1)[...] = 0


#: Names of cudaDataType_t.
_TYPES = {0: "float32", 1: "float64", 2: "float16", 4: "complex64", 5: "complex128",
          14: "bfloat16"}
_COMPUTE = {"float16": (68,), "bfloat16": (68,), "float32": (68, 77), "complex64": (68, 77),
            "float64": (70,), "complex128": (70,)}


def _stack(address, name, rows, columns, leading, step, count):
    stored = "uint16" if name == "bfloat16" else name
    return [at(address + i * step * np.dtype(stored).itemsize, stored, rows, columns, leading)
            for i in range(count)]


def _values(matrix: np.ndarray, name: str, compute: int) -> np.ndarray:
    """What tensor cores see: TF32 has ten bits of a fraction."""
    values = from_bfloat16(matrix) if name == "bfloat16" else np.array(matrix, order="C")
    if compute == 77:
        values = (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(values.dtype)
    return values.astype("complex128" if values.dtype.kind == "c" else "float64")


def gemm_strided_batched_ex(handle, transa, transb, m, n, k, alpha, a, a_type, lda, a_step, b,
                            b_type, ldb, b_step, beta, c, c_type, ldc, c_step, count, compute,
                            algorithm):
    """``cublasGemmStridedBatchedEx``: sums in double precision, rounded once."""
    _expect(handle, BLAS_HANDLE)
    name = _TYPES[c_type]
    if {a_type, b_type} != {c_type} or compute not in _COMPUTE[name]:
        raise ValueError(f"cuBLAS does not multiply {a_type} and {b_type} to {c_type} in {compute}")
    shapes = [(k, m) if transa else (m, k), (n, k) if transb else (k, n), (m, n)]
    stacks = [_stack(x, name, *shape, leading, step, count) for x, shape, leading, step in
              zip((a, b, c), shapes, (lda, ldb, ldc), (a_step, b_step, c_step), strict=True)]
    for left, right, result in zip(*stacks, strict=True):
        x, y = (_values(v, name, compute) for v in (left, right))
        with np.errstate(all="ignore"):
            found = (x.T if transa else x) @ (y.T if transb else y)
            result[...] = to_bfloat16(found) if name == "bfloat16" else found


CUSOLVER = {"getrf_bufferSize": getrf_buffer_size, "getrf": getrf, "getrs": getrs,
            "potrf_bufferSize": potrf_buffer_size, "potrf": potrf, "potrfBatched": potrf_batched}
CUBLAS = {"getrfBatched": getrf_batched, "getrsBatched": getrs_batched}


class Library:
    """Functions by the names that CuPy gives them: a letter for the dtype, and the routine."""

    def __init__(self, routines) -> None:
        self.routines = routines

    gemmStridedBatchedEx = staticmethod(gemm_strided_batched_ex)

    def __getattr__(self, name: str):
        if name[0] not in _DTYPES or name[1:] not in self.routines:
            raise AttributeError(name)
        return partial(self.routines[name[1:]], _DTYPES[name[0]])


def solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False,
                     check_finite=False):
    """``cupyx.scipy.linalg.solve_triangular``, which takes stacks too."""
    if trans != "N":
        a, lower = np.swapaxes(a, -1, -2), not lower
        a = np.conj(a) if trans == "C" else a
    return _call("linalg_solve_triangular", a, b, not lower, True, unit_diagonal)[0]


def simulated_lapack(xp) -> Lapack:
    """The libraries over arrays of NumPy."""
    return Lapack(xp, Library(CUBLAS), Library(CUSOLVER), solve_triangular, lambda: BLAS_HANDLE,
                  lambda: SOLVER_HANDLE, lambda array: array.ctypes.data)
