"""Compressed formats: where each row starts among the stored elements, and their columns.

``sparse_csr`` compresses rows, ``sparse_csc`` columns; ``sparse_bsr`` and ``sparse_bsc`` do the
same with blocks instead of elements. Batches of matrices have as many elements in each of them, so
that their parts are tensors, too: starts ``(*batch, rows + 1)``, columns ``(*batch, nnz)``.
"""
from __future__ import annotations

from typing import Any

from flambeau.core import _core, functions
from flambeau.core.layouts import layout, sparse_bsc, sparse_bsr, sparse_csc, sparse_csr
from flambeau.sparse._tensor import SparseTensor, blank, filled, values_of

_op = {**functions, **_core.operators()}
LAYOUTS = (sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)
BY_ROWS = (sparse_csr, sparse_bsr)
BLOCKED = (sparse_bsr, sparse_bsc)


class CompressedTensor(SparseTensor):
    """A tensor of layout ``sparse_csr``, ``sparse_csc``, ``sparse_bsr`` or ``sparse_bsc``."""

    __slots__ = ("_along", "_cache", "_kind", "_starts")

    @property
    def layout(self) -> layout:  # type: ignore[override]
        return self._kind

    @property
    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        return self._kind is sparse_csr

    def _like(self, values: Any) -> Any:
        batch = self._starts.ndim - 1
        tail = tuple(values.shape[batch + (3 if self._kind in BLOCKED else 1):])
        result = new_compressed(self._kind, self._starts, self._along, values,
                                tuple(self.shape[:batch + 2]) + tail)
        result._cache = self._cache
        return result

    def _nnz(self) -> int:
        """How many elements, or blocks, are stored in each matrix."""
        return int(self._along.shape[-1])

    def _parts(self) -> tuple[Any, ...]:
        return self._starts, self._along

    def _become(self, other: Any) -> Any:
        super()._become(other)
        self._kind, self._starts, self._along = other._kind, other._starts, other._along
        self._cache = other._cache
        return self

    def sparse_dim(self) -> int:
        """How many dimensions are given by indices: always 2."""
        return 2

    def dense_dim(self) -> int:
        """How many dimensions each stored element has."""
        return self.ndim - 2 - batch_dim(self)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Refused: there is no dense memory."""
        raise RuntimeError(f"tensors of layout {self._kind} do not have is_contiguous: ask "
                           "x.values().is_contiguous()")

    def stride(self, dim: int | None = None) -> Any:
        """Refused: there is no dense memory."""
        raise RuntimeError(f"tensors of layout {self._kind} do not have strides: ask "
                           "x.values().stride()")

    def values(self) -> Any:
        """The stored elements or blocks, with the tensor's history."""
        return values_of(self)

    def _values(self) -> Any:
        """The stored elements or blocks, without history."""
        return self._held.detach()

    def _part(self, name: str, wanted: tuple[Any, ...], part: Any) -> Any:
        if self._kind not in wanted:
            kind, other = ("row", "csr") if wanted == BY_ROWS else ("column", "csc")
            raise RuntimeError(f"{name} expected sparse {kind} compressed tensor layout but got "
                               f"{self._kind}: write x.to_sparse_{other}().{name}()")
        return part

    def crow_indices(self) -> Any:
        """Where each row starts among the values."""
        return self._part("crow_indices", BY_ROWS, self._starts)

    def col_indices(self) -> Any:
        """The column of each value."""
        return self._part("col_indices", BY_ROWS, self._along)

    def ccol_indices(self) -> Any:
        """Where each column starts among the values."""
        return self._part("ccol_indices", (sparse_csc, sparse_bsc), self._starts)

    def row_indices(self) -> Any:
        """The row of each value."""
        return self._part("row_indices", (sparse_csc, sparse_bsc), self._along)


def new_compressed(kind: layout, starts: Any, along: Any, values: Any,
                   shape: tuple[int, ...]) -> Any:
    """A tensor of these parts, which are not checked and have no history."""
    result = _core.make_sparse(CompressedTensor, blank(shape, values))
    result._kind, result._starts, result._along, result._held = kind, starts, along, values
    result._cache = {}
    return result


def compressed(kind: layout, starts: Any, along: Any, values: Any,
               shape: tuple[int, ...]) -> Any:
    """A tensor of these parts with the history of the values."""
    return filled(new_compressed(kind, starts, along, values.detach(), shape), values)


def batch_dim(x: Any) -> int:
    """How many dimensions stand before rows and columns: each index of them has a matrix."""
    return int(x._starts.ndim) - 1


def block_sizes(x: Any) -> tuple[int, int]:
    """Rows and columns of the stored blocks; (1, 1) where elements are stored."""
    first = batch_dim(x) + 1
    return tuple(x._held.shape[first:first + 2]) if x._kind in BLOCKED else (1, 1)
