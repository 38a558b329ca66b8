"""Linear algebra of small matrices by elimination, step by step: ONNX has products and ``Det``."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau.onnx.exporting.rewritten import rewrites

Tensor = Any

#: Rows and columns of a matrix, at most: each adds a dozen nodes to the model.
MAX_STEPS = 32


def _steps(*sizes: Any) -> int:
    if not all(isinstance(size, int) and size <= MAX_STEPS for size in sizes):
        raise ValueError(f"matrices of up to {MAX_STEPS} rows and columns are written, whose sizes "
                         "do not vary")
    return min(sizes)


def _eliminated(matrix: Tensor, k: int) -> Tensor:
    """Column ``k`` below the diagonal as factors, and the rest without it."""
    m, n = matrix.shape[-2:]
    if k + 1 == m:
        return matrix
    below = [matrix[..., k + 1:, k:k + 1] / matrix[..., k:k + 1, k:k + 1]]
    if k + 1 < n:
        below.append(matrix[..., k + 1:, k + 1:] - below[0] * matrix[..., k:k + 1, k + 1:])
    if k:
        below.insert(0, matrix[..., k + 1:, :k])
    return flambeau.cat([matrix[..., :k + 1, :], flambeau.cat(below, -1)], -2)


class _Elimination:
    """A matrix after elimination with exchanges of rows.

    Args:
        matrix: Shape ``(..., m, n)``; columns from ``steps`` on change with the others.
        steps: How many columns are eliminated.
        pivot: Whether rows are exchanged.
    """

    def __init__(self, matrix: Tensor, steps: int, pivot: bool = True) -> None:
        numbers = flambeau.arange(matrix.shape[-2])
        self.pivots, self.order = [], numbers.expand(matrix.shape[:-1])
        for k in range(steps):
            best = numbers[k:k + 1].expand(*matrix.shape[:-2], 1)
            if pivot:
                best = matrix[..., k:, k].abs().argmax(-1, keepdim=True) + k
                other = flambeau.where(numbers == best, k, numbers)
                order = flambeau.where(numbers == k, best, other)
                matrix = matrix.gather(-2, order.unsqueeze(-1).expand(matrix.shape))
                self.order = self.order.gather(-1, order)
            self.pivots.append(best)
            matrix = _eliminated(matrix, k)
        self.matrix = matrix

    def pivots_from_one(self) -> Tensor:
        """As LAPACK counts rows."""
        return (flambeau.cat(self.pivots, -1) + 1).int()


def _no_errors(a: Tensor) -> Tensor:
    return flambeau.zeros(a.shape[:-2], dtype=flambeau.int32)


def _substituted(a: Tensor, b: Tensor, upper: bool, unit: bool = False) -> Tensor:
    """``X`` of ``A X = B`` for a triangular ``A``."""
    n = _steps(a.shape[-1])
    made: list[Tensor] = []
    for k in reversed(range(n)) if upper else range(n):
        row = b[..., k:k + 1, :]
        if made:
            known = flambeau.cat(made[::-1] if upper else made, -2)
            factors = a[..., k:k + 1, k + 1:] if upper else a[..., k:k + 1, :k]
            row = row - factors @ known
        elif a.dim() > b.dim():
            row = row.expand(*a.shape[:-2], *row.shape[-2:])
        made.append(row if unit else row / a[..., k:k + 1, k:k + 1])
    return flambeau.cat(made[::-1] if upper else made, -2)


@rewrites("linalg_lu_factor_ex")
def lu_factor(a: Tensor, pivot: bool = True, check_errors: bool = False) -> Any:
    found = _Elimination(a, _steps(*a.shape[-2:]), pivot)
    return found.matrix, found.pivots_from_one(), _no_errors(a)


@rewrites("linalg_solve_lu")
def solve(a: Tensor, b: Tensor, left: bool, check_errors: bool, caller: str) -> Any:
    if not left:
        return solve(a.mT, b.mT, True, check_errors, caller)[0].mT, None, None, None
    n = _steps(a.shape[-1])
    batch = flambeau.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    both = flambeau.cat([a.expand(*batch, *a.shape[-2:]), b.expand(*batch, *b.shape[-2:])], -1)
    found = _Elimination(both, n)
    return (_substituted(found.matrix[..., :n], found.matrix[..., n:], True),
            found.matrix[..., :n], found.pivots_from_one(), _no_errors(a))


@rewrites("linalg_invert")
def invert(a: Tensor, check_errors: bool) -> Any:
    one = flambeau.eye(_steps(a.shape[-1]), dtype=a.dtype).expand(a.shape)
    return solve(a, one, True, check_errors, "")[0], _no_errors(a)


@rewrites("linalg_slogdet_lu")
def slogdet(a: Tensor) -> Any:
    found = _Elimination(a, _steps(a.shape[-1]))
    diagonal = found.matrix.diagonal(0, -2, -1)
    pivots = flambeau.cat(found.pivots, -1)
    exchanges = (pivots != flambeau.arange(pivots.shape[-1])).sum(-1)
    sign = diagonal.sign().prod(-1) * (1 - 2 * (exchanges % 2)).to(a.dtype)
    return sign, diagonal.abs().log().sum(-1), found.matrix, found.pivots_from_one()


@rewrites("linalg_cholesky_ex")
def cholesky(a: Tensor, upper: bool = False, check_errors: bool = False) -> Any:
    a = a.mT if upper else a
    columns: list[Tensor] = []
    for k in range(_steps(a.shape[-1])):
        column = a[..., k:, k:k + 1]
        if columns:
            done = flambeau.cat(columns, -1)
            column = column - done[..., k:, :] @ done[..., k:k + 1, :].mT
        column = column / column[..., :1, :].sqrt()
        above = [flambeau.zeros(*a.shape[:-2], k, 1, dtype=a.dtype)] if k else []
        columns.append(flambeau.cat([*above, column], -2))
    made = flambeau.cat(columns, -1)
    return made.mT if upper else made, _no_errors(a)


@rewrites("linalg_solve_triangular")
def solve_triangular(a: Tensor, b: Tensor, upper: bool, left: bool = True, unit: bool = False
                     ) -> Tensor:
    if left:
        return _substituted(a, b, upper, unit)
    return _substituted(a.mT, b.mT, not upper, unit).mT


@rewrites("linalg_qr")
def qr(a: Tensor, mode: str = "reduced") -> Any:
    """By reflections, with LAPACK's signs."""
    m, n = a.shape[-2:]
    count = _steps(m, n)
    q, r = flambeau.eye(m, dtype=a.dtype).expand(*a.shape[:-2], m, m), a
    for k in range(min(m - 1, n)):
        column = r[..., k:, k:k + 1]
        first, rest = column[..., :1, :], (column[..., 1:, :] ** 2).sum(-2, keepdim=True)
        size = (first * first + rest).sqrt()
        moved = flambeau.where(first < 0, first - size, first + size)
        v = flambeau.cat([moved, column[..., 1:, :]], -2)
        scale = flambeau.where(rest > 0, 2 / (moved * moved + rest), 0.0)
        above, before = ([r[..., :k, :]], [q[..., :k]]) if k else ([], [])
        r = flambeau.cat([*above, r[..., k:, :] - scale * v @ (v.mT @ r[..., k:, :])], -2)
        q = flambeau.cat([*before, q[..., k:] - scale * (q[..., k:] @ v) @ v.mT], -1)
    kept = m if mode == "complete" else count
    return q[..., :kept], r[..., :kept, :].triu()
