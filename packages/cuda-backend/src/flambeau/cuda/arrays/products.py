"""Matrix products by cuBLAS, on tensors where they lie: no copies, no arrays.

Half types are multiplied on tensor cores and summed in float32; float32 stays float32 unless
``set_float32_matmul_precision`` allows TF32. Rows of C are columns of C^T = B^T A^T, which is what
cuBLAS, to which matrices are columns, is asked for.
"""
from __future__ import annotations

from itertools import product as every
from typing import NamedTuple

import numpy as np

from flambeau.core import _core
from flambeau.core.promotion import dtype_name
from flambeau.cuda.arrays.lapack import PLAIN, TRANSPOSED, lapack_of

COMPUTE_32F, COMPUTE_32F_TF32, COMPUTE_64F = 68, 77, 70     # cublasComputeType_t
DEFAULT_ALGORITHM = -1
#: cudaDataType_t, what is computed in, the dtype of the factors alpha and beta, bytes.
TYPES = {"float16": (2, COMPUTE_32F, "float32", 2), "bfloat16": (14, COMPUTE_32F, "float32", 2),
         "float32": (0, COMPUTE_32F, "float32", 4), "float64": (1, COMPUTE_64F, "float64", 8),
         "complex64": (4, COMPUTE_32F, "complex64", 8),
         "complex128": (5, COMPUTE_64F, "complex128", 16)}


class Matrix(NamedTuple):
    """The matrices of an operand: address, sizes and strides in elements, batch strides."""

    address: int
    rows: int
    columns: int
    row_step: int
    column_step: int
    batch: tuple[int, ...]
    steps: tuple[int, ...]

    def transposed(self) -> Matrix:
        return self._replace(rows=self.columns, columns=self.rows, row_step=self.column_step,
                             column_step=self.row_step)

    def layout(self) -> tuple[int, int] | None:
        """Operation and leading dimension for the transposed matrix; None where it has none."""
        across = 1 if self.columns == 1 else self.column_step
        down = max(self.columns, 1) if self.rows == 1 else self.row_step
        if across == 1 and down >= max(self.columns, 1):
            return PLAIN, down
        across = max(self.rows, 1) if self.columns == 1 else self.column_step
        if (self.rows == 1 or self.row_step == 1) and across >= max(self.rows, 1):
            return TRANSPOSED, across
        return None

    def known_layout(self) -> tuple[int, int]:
        """The same, of matrices that have one."""
        found = self.layout()
        assert found is not None
        return found


def _last_two(t, shape: list[int], strides: list[int]) -> Matrix:
    *batch, rows, columns = shape
    *steps, row_step, column_step = strides
    return Matrix(_core.address_of(t), rows, columns, row_step, column_step, tuple(batch),
                  tuple(steps))


def _matrix(t, vector_is_row: bool) -> Matrix:
    shape, strides = list(t.shape), list(t.stride())
    if t.ndim == 1:
        at = 0 if vector_is_row else 1
        shape.insert(at, 1)
        strides.insert(at, 0)
    return _last_two(t, shape, strides)


def _result(out, a, b) -> Matrix:
    """The result as matrices; those of a vector have a row or column of one."""
    shape, strides = list(out.shape), list(out.stride())
    if b.ndim == 1:
        shape.append(1)
        strides.append(1)
    if a.ndim == 1:
        shape.insert(len(shape) - 1, 1)
        strides.insert(len(strides) - 1, 0)
    return _last_two(out, shape, strides)


def _spread(m: Matrix, batch: tuple[int, ...]) -> list[int]:
    """Batch strides over the batch of the result: 0 where the operand is repeated."""
    missing = len(batch) - len(m.batch)
    return [0] * missing + [0 if n == 1 and size != 1 else step for n, step, size
                            in zip(m.batch, m.steps, batch[missing:], strict=True)]


def multiply(xp, a, b, out) -> bool:
    """``out = a @ b``; False where cuBLAS has no such product.

    Args:
        xp: The array module of the device.
        a: A tensor of at least one dimension.
        b: Another one, of the same dtype.
        out: The result's tensor, of the product's shape.
    """
    name = dtype_name(out.dtype)
    if name not in TYPES or any(dtype_name(t.dtype) != name or t.device != out.device
                                for t in (a, b)):
        return False
    if not out.numel() or not a.numel():
        return False
    left, right, result = _matrix(a, True), _matrix(b, False), _result(out, a, b)
    if result.layout() is None:
        return False
    if left.layout() is None:
        left = _matrix(a := a.contiguous(), True)
    if right.layout() is None:
        right = _matrix(b := b.contiguous(), False)
    if result.known_layout()[0] == TRANSPOSED:
        left, right, result = right.transposed(), left.transposed(), result.transposed()
    _multiply(lapack_of(xp), name, left, right, result)
    return True


def _merged(shape, strides: list[list[int]]) -> tuple[list[int], list[list[int]]]:
    """Neighbouring dimensions that all walk as one are one; those of size 1 are left out."""
    sizes: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for d, n in enumerate(shape):
        if n == 1:
            continue
        joins = sizes and all(s[-1] == own[d] * n for s, own in zip(steps, strides, strict=True))
        if joins:
            sizes[-1] *= n
        else:
            sizes.append(n)
        for s, own in zip(steps, strides, strict=True):
            s[-1:] = [own[d]] if joins else [*s[-1:], own[d]]
    return sizes, steps


def _multiply(lapack, name: str, left: Matrix, right: Matrix, result: Matrix) -> None:
    sizes, (over_left, over_right, over_result) = _merged(
        result.batch, [_spread(m, result.batch) for m in (left, right)] + [list(result.steps)])
    if sizes and not over_right[-1] and over_left[-1] == left.rows * left.row_step \
            and over_result[-1] == left.rows * result.row_step \
            and left.known_layout()[0] == PLAIN and left.rows > 1:
        # the same matrix for all: one product with the rows of all
        rows = left.rows * sizes.pop()
        left, result = left._replace(rows=rows), result._replace(rows=rows)
        for steps in (over_left, over_right, over_result):
            steps.pop()
    count = sizes[-1] if sizes else 1
    inner = [steps[-1] if steps else 0 for steps in (over_left, over_right, over_result)]
    bytes_of = TYPES[name][3]
    for at in every(*map(range, sizes[:-1])):
        moved = [m._replace(address=m.address + bytes_of * sum(
            i * step for i, step in zip(at, steps, strict=False)))
            for m, steps in ((left, over_left), (right, over_right), (result, over_result))]
        _call(lapack, name, moved, inner, count)


def _call(lapack, name: str, matrices: list[Matrix], steps: list[int], count: int) -> None:
    """One call: the right operand comes first, because all of them are seen transposed."""
    left, right, result = matrices
    kind, compute, factor, _ = TYPES[name]
    if compute == COMPUTE_32F and name in ("float32", "complex64") and _allows_tf32():
        compute = COMPUTE_32F_TF32
    one, zero = np.ones(1, factor), np.zeros(1, factor)
    operation_a, step_a = left.known_layout()
    operation_b, step_b = right.known_layout()
    lapack.cublas.gemmStridedBatchedEx(
        lapack.blas_handle(), operation_b, operation_a, right.columns, left.rows, left.columns,
        one.ctypes.data, right.address, kind, step_b, steps[1], left.address, kind, step_a,
        steps[0], zero.ctypes.data, result.address, kind, result.known_layout()[1], steps[2], count,
        compute, DEFAULT_ALGORITHM)


def _allows_tf32() -> bool:
    import flambeau

    return flambeau.get_float32_matmul_precision() != "highest"
