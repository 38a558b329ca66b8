"""Products of matrices, one of which is sparse."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.core import _core, functions
from flambeau.core.layouts import sparse_csr
from flambeau.sparse._calls import handles
from flambeau.sparse._compressed import BLOCKED, CompressedTensor
from flambeau.sparse._conversions import entries_as_values, to_compressed, to_coo
from flambeau.sparse._coo import add_at, coo, keys, product_of
from flambeau.sparse._history import conjugate, is_sampled, recording, tie
from flambeau.sparse._tensor import filled, values_of

_op = {**functions, **_core.operators()}
_INT64 = _core._dtype_named("int64")
is_sparse = _core.is_sparse_object


class Indices:
    """Rows and columns of a matrix's entries, and the order of them that products want."""

    def __init__(self, rows: Any, columns: Any, shape: tuple[int, int], ordered: bool,
                 orders: Any, flipped: bool = False) -> None:
        self.rows, self.columns, self.shape = rows, columns, shape
        self.ordered, self.orders, self.flipped = ordered, orders, flipped

    def transposed(self) -> Indices:
        """The same of the transposed matrix."""
        return Indices(self.columns, self.rows, self.shape[::-1], False, self.orders,
                       not self.flipped)

    def by_rows(self) -> tuple[Any, Any, Any]:
        """Where rows start, columns by rows, and the order of entries, None for their own."""
        found: tuple[Any, Any, Any] = self.orders.find((self.flipped, self.shape), self.rows,
                                                       self._sorted_by_rows)
        return found

    def _sorted_by_rows(self) -> tuple[Any, Any, Any]:
        rows, columns, order = self.rows, self.columns.contiguous(), None
        if not (self.ordered and not self.flipped) and not bool((rows[1:] >= rows[:-1]).all()):
            rows, order = _op["sort"](rows, stable=True)
            columns = _op["index_select"](columns, 0, order)
        every = _op["arange"](0, self.shape[0] + 1, 1, dtype=_INT64, device=rows.device)
        return _op["searchsorted"](rows.contiguous(), every), columns, order


def indices_of(x: Any) -> Indices:
    """Of a matrix in coordinate format."""
    return Indices(x._at[0], x._at[1], tuple(x.shape), x._ordered, x._order)


def _has_kernel(a: Any, b: Any) -> bool:
    return a.dtype is b.dtype and a.dtype.name in ("float32", "float64")


def product(indices: Indices, values: Any, dense: Any) -> Any:
    """A sparse matrix times a dense one.

    Args:
        indices: Of the sparse matrix ``(n, m)``.
        values: ``(nnz,)``.
        dense: ``(m, k)``.

    Returns:
        ``(n, k)``.
    """
    def backward(g: Any, needs: Sequence[bool]) -> tuple[Any, Any]:
        back = sampled(indices, g, conjugate(dense)) if needs[0] else None
        there = product(indices.transposed(), conjugate(values), g) if needs[1] else None
        return back, there

    if _core.level_of(dense):       # of vmap or jvp, which know the operators alone
        return _composed_product(indices, values, dense)
    result = _product(indices, values.detach(), dense.detach())
    return tie("SparseProduct", result, (values, dense), backward, (values, dense))


def _product(indices: Indices, values: Any, dense: Any) -> Any:
    if not _has_kernel(values, dense):
        return _composed_product(indices, values, dense)
    starts, columns, order = indices.by_rows()
    values = values if order is None else _op["index_select"](values, 0, order)
    return _core.call("csr_product", [starts, columns, values, dense])


def _composed_product(indices: Indices, values: Any, dense: Any) -> Any:
    terms = values.unsqueeze(1) * _op["index_select"](dense, 0, indices.columns)
    return add_at(indices.shape[0], indices.rows, terms)


def sampled(indices: Indices, left: Any, right: Any) -> Any:
    """Elements of ``left @ right.T`` at the indices of a matrix.

    Args:
        indices: Of a matrix ``(n, m)``.
        left: ``(n, k)``.
        right: ``(m, k)``.

    Returns:
        ``(nnz,)``.
    """
    def backward(g: Any, needs: Sequence[bool]) -> tuple[Any, Any]:
        return (product(indices, g, conjugate(right)) if needs[0] else None,
                product(indices.transposed(), g, conjugate(left)) if needs[1] else None)

    if _core.level_of(left) or _core.level_of(right):
        return _composed_sample(indices, left, right)
    result = _sampled(indices, left.detach(), right.detach())
    return tie("SampledProduct", result, (left, right), backward, (left, right))


def _sampled(indices: Indices, left: Any, right: Any) -> Any:
    if _has_kernel(left, right):
        return _core.call("sampled_product", [indices.rows, indices.columns, left, right])
    return _composed_sample(indices, left, right)


def _composed_sample(indices: Indices, left: Any, right: Any) -> Any:
    return (_op["index_select"](left, 0, indices.rows)
            * _op["index_select"](right, 0, indices.columns)).sum(1)


def _check_matrices(what: str, a: Any, b: Any) -> None:
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise RuntimeError(f"{what}: expected two matrices, the second with as many rows as the "
                           f"first has columns, got {list(a.shape)} and {list(b.shape)}")
    if a.dtype is not b.dtype:
        raise RuntimeError(f"{what}: expected both matrices of one dtype, got {a.dtype} and "
                           f"{b.dtype}: write x.to({b.dtype})")
    for x in (a, b):
        if is_sparse(x) and x.dense_dim():
            raise RuntimeError(f"{what}: sparse matrices have two indexed dimensions, got "
                               f"sparse_dim={x.sparse_dim()}, dense_dim={x.dense_dim()}")


@handles("mm")
def mm(self: Any, mat2: Any, out_dtype: Any = None) -> Any:
    """The product of two matrices; sparse where both are. A sparse leaf's gradient is dense."""
    _check_matrices("mm()", self, mat2)
    if all(is_sampled(x) for x in (self, mat2) if is_sparse(x)):
        return _masked_mm(self, mat2)

    def backward(g: Any, needs: Sequence[bool]) -> tuple[Any, Any]:
        return (_product_for(g, adjoint(mat2), self) if needs[0] else None,
                _product_for(adjoint(self), g, mat2) if needs[1] else None)

    return tie("Mm", _masked_mm(self.detach(), mat2.detach()), (self, mat2), backward,
               [x for x in (self, mat2) if not is_sparse(x)])


def adjoint(x: Any) -> Any:
    """Rows as columns, and complex numbers conjugated."""
    return conjugate(x.t())


def _product_for(a: Any, b: Any, factor: Any) -> Any:
    """The gradient of a factor: dense unless both matrices are sparse, and always for a dense
    one."""
    result = mm(a, b) if is_sparse(a) or is_sparse(b) else _op["mm"](a, b)
    return result.to_dense() if is_sparse(result) and not is_sparse(factor) else result


def masked_mm(self: Any, mat2: Any) -> Any:
    """The product of two matrices, of which a sparse one gets a gradient at its own indices."""
    _check_matrices("mm()", self, mat2)
    return _masked_mm(self, mat2)


def _masked_mm(self: Any, mat2: Any) -> Any:
    if is_sparse(self) and is_sparse(mat2):
        return _sparse_times_sparse(self, mat2)
    if is_sparse(self):
        if isinstance(self, CompressedTensor) and self._kind is sparse_csr \
                and _has_kernel(self, mat2) and not recording((self, mat2)) \
                and not _core.level_of(mat2):
            return _core.call("csr_product", [self._starts.to(_INT64), self._along.to(_INT64),
                                              self._held.detach(), mat2])
        entries = to_coo(self)
        return product(indices_of(entries), values_of(entries), mat2)
    entries = to_coo(mat2)
    flipped = indices_of(entries).transposed()
    return product(flipped, values_of(entries), self.t()).t()


def dsmm(mat1: Any, mat2: Any) -> Any:
    """The product of two matrices, under its old name."""
    return _op["mm"](mat1, mat2)


def _sparse_times_sparse(a: Any, b: Any) -> Any:
    """Every entry of ``a`` meets the row of ``b`` that its column names."""
    left, right = to_coo(a).coalesce(), to_coo(b).coalesce()
    starts, columns, _ = indices_of(right).by_rows()
    at = left._at[1]
    counts = starts[at + 1] - starts[at]
    mine = _op["repeat_interleave"](_op["arange"](0, at.numel(), 1, dtype=_INT64,
                                                  device=at.device), counts)
    first = counts.cumsum(0) - counts
    step = _op["arange"](0, mine.numel(), 1, dtype=_INT64, device=at.device) - first[mine]
    theirs = starts[at[mine]] + step
    values = _op["index_select"](values_of(left), 0, mine) \
        * _op["index_select"](values_of(right), 0, theirs)
    rows = _op["stack"]([left._at[0][mine], columns[theirs]])
    result = coo(rows, values, (a.shape[0], b.shape[1]), False).coalesce()
    if not isinstance(a, CompressedTensor):
        return result
    return to_compressed(result, sparse_csr if a._kind in BLOCKED else a._kind)


@handles("mv")
def mv(self: Any, vec: Any) -> Any:
    """A matrix times a vector."""
    if self.ndim != 2 or vec.ndim != 1 or is_sparse(vec):
        raise RuntimeError(f"mv(): expected a sparse matrix and a dense vector, got shapes "
                           f"{list(self.shape)} and {list(vec.shape)}")
    return mm(self, vec.unsqueeze(1)).reshape(-1)


@handles("matmul", "linalg_matmul")
def matmul(self: Any, other: Any) -> Any:
    """``self @ other`` of matrices, of a matrix and a vector, and of stacks of matrices."""
    if self.ndim == 2 and other.ndim == 2:
        return mm(self, other)
    if self.ndim == 2 and other.ndim == 1 and is_sparse(self):
        return mv(self, other)
    if self.ndim == 1 and other.ndim == 2 and is_sparse(other):
        return mm(self.unsqueeze(0), other).squeeze(0)
    if self.ndim == 3 and other.ndim == 3 and is_sparse(self):
        return bmm(self, other)
    raise RuntimeError(f"matmul(): of shapes {list(self.shape)} and {list(other.shape)}, one of "
                       "which is sparse, no product is computed: expand is unsupported for Sparse "
                       "tensors; write x.to_dense() first")


@handles("bmm")
def bmm(self: Any, mat2: Any) -> Any:
    """A sparse stack of matrices times a dense one."""
    if not is_sparse(self) or is_sparse(mat2) or self.ndim != 3 or mat2.ndim != 3 \
            or self.shape[0] != mat2.shape[0] or self.shape[2] != mat2.shape[1] \
            or self.sparse_dim() != 3:
        raise RuntimeError("bmm(): expected a sparse stack of matrices and a dense one that fits, "
                           f"got shapes {list(self.shape)} and {list(mat2.shape)}")
    count, n, m = self.shape
    entries = self.coalesce()
    indices = _in_one_matrix(entries)
    if is_sampled(self):
        flat = product(indices, values_of(entries), mat2.reshape(count * m, mat2.shape[2]))
        return flat.reshape(count, n, mat2.shape[2])
    result = bmm(self.detach(), mat2.detach())
    return tie("Bmm", result, (self, mat2),
               lambda g, needs: (g @ conjugate(mat2.mT), conjugate(self.transpose(1, 2)) @ g),
               (mat2,))


@handles("addmm")
def addmm(self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1,
          multiply: Any = mm) -> Any:
    """``beta * self + alpha * mat1 @ mat2``."""
    result = multiply(mat1, mat2) if is_sparse(mat1) or is_sparse(mat2) else \
        _op["mm"](mat1, mat2)
    result = result if alpha == 1 else result * alpha
    if beta == 0:
        return result
    added = self if beta == 1 else self * beta
    if is_sparse(added) and not is_sparse(result):
        return result + added
    return added + result


@handles("addmv")
def addmv(self: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * self + alpha * mat @ vec``."""
    result = mv(mat, vec)
    result = result if alpha == 1 else result * alpha
    return result if beta == 0 else result + (self if beta == 1 else self * beta)


@handles("linear")
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """``input @ weight.T + bias``."""
    result = matmul(input, weight.t())
    return result if bias is None else result + bias


@handles("smm")
def smm(self: Any, mat2: Any) -> Any:
    """The product as a sparse tensor."""
    from flambeau.sparse._conversions import from_dense

    return from_dense(mm(self, mat2))


@handles("hspmm")
def hspmm(self: Any, mat2: Any) -> Any:
    """The product as a hybrid tensor: rows that are not empty."""
    if not is_sparse(self) or is_sparse(mat2):
        raise RuntimeError("hspmm(): expected a sparse and a dense matrix")
    result = mm(self, mat2)
    rows = to_coo(self).coalesce()._at[0].unique()
    return coo(rows.unsqueeze(0), _op["index_select"](result, 0, rows), tuple(result.shape), True)


@handles("sspaddmm")
def sspaddmm(self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * self + alpha * mat1 @ mat2`` as a sparse tensor."""
    return self * beta + smm(mat1, mat2) * alpha


def _in_one_matrix(entries: Any) -> Indices:
    """Of a stack of matrices, as if they stood along the diagonal of one."""
    if entries.ndim == 2:
        return indices_of(entries)
    n, m = entries.shape[-2:]
    stack = keys(entries._at[:-2], tuple(entries.shape[:-2]))
    count = product_of(entries.shape[:-2])
    return Indices(stack * n + entries._at[-2], stack * m + entries._at[-1],
                   (count * n, count * m), False, type(entries._order)())


def sampled_addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1.0, alpha: Any = 1.0,
                  out: Any = None) -> Any:
    """``beta * input + alpha * mat1 @ mat2`` where ``input`` has elements.

    Args:
        input: Sparse matrix ``(n, m)`` of layout ``sparse_csr``.
        mat1: Dense ``(n, k)``.
        mat2: Dense ``(k, m)``.
        beta: Factor of ``input``.
        alpha: Factor of the product.
        out: Sparse tensor that takes the result.

    Returns:
        A tensor with the indices of ``input``.

    Example:
        >>> import flambeau
        >>> x = flambeau.eye(2).to_sparse_csr()
        >>> flambeau.sparse.sampled_addmm(x, flambeau.ones(2, 3), flambeau.ones(3, 2)).values()
        tensor([4., 4.])
    """
    from flambeau.sparse._calls import write

    if not is_sparse(input) or input.layout != "sparse_csr" or input.dense_dim():
        raise RuntimeError("sampled_addmm(): Expected self to have sparse csr layout; write "
                           "x.to_sparse_csr()")
    batch = tuple(input.shape[:-2])
    if is_sparse(mat1) or is_sparse(mat2) or mat1.ndim != input.ndim or mat2.ndim != input.ndim \
            or mat1.shape[-1] != mat2.shape[-2] or mat1.dtype is not mat2.dtype \
            or tuple(input.shape) != (*mat1.shape[:-1], mat2.shape[-1]) \
            or tuple(mat2.shape[:-2]) != batch:
        raise RuntimeError(f"sampled_addmm(): input is {list(input.shape)}, and dense factors of "
                           "one dtype that give such a product are wanted, got "
                           f"{list(mat1.shape)} {mat1.dtype} and {list(mat2.shape)} {mat2.dtype}")
    entries = to_coo(input)
    values = entries_as_values(
        sampled(_in_one_matrix(entries), mat1.reshape(-1, mat1.shape[-1]),
                mat2.transpose(-1, -2).reshape(-1, mat1.shape[-1])), input) * alpha
    result = filled(input.detach(), values + values_of(input) * beta)
    return result if out is None else write(out, result, "sampled_addmm")
