"""Sparse tensors: of most elements, which are zero, nothing is stored.

Example:
    >>> import flambeau
    >>> edges, weights = flambeau.tensor([[0, 1, 1], [2, 0, 2]]), flambeau.tensor([1.0, 2.0, 3.0])
    >>> graph = flambeau.sparse_coo_tensor(edges, weights, (2, 3))
    >>> graph @ flambeau.ones(3, 1)
    tensor([[1.],
            [5.]])
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.core import _core, functions
from flambeau.sparse import (  # noqa: F401  (they fill the table of calls)
    _arithmetic,
    _indexing,
    _pointwise,
    _products,
    _reduce,
    _shape,
)
from flambeau.sparse._calls import call as _call
from flambeau.sparse._calls import write as _write
from flambeau.sparse._conversions import to_coo as _to_coo
from flambeau.sparse._invariants import check_sparse_tensor_invariants
from flambeau.sparse._make import (
    sparse_bsc_tensor,
    sparse_bsr_tensor,
    sparse_compressed_tensor,
    sparse_coo_tensor,
    sparse_csc_tensor,
    sparse_csr_tensor,
)
from flambeau.sparse._products import dsmm, hspmm, sampled_addmm, smm, sspaddmm
from flambeau.sparse._reduce import sparse_log_softmax, sparse_softmax
from flambeau.sparse._tensor import SparseTensor

__all__ = [
    "SparseTensor", "addmm", "as_sparse_gradcheck", "check_sparse_tensor_invariants", "dsmm",
    "hspmm",
    "log_softmax", "mm", "sampled_addmm", "smm", "softmax", "sparse_bsc_tensor",
    "sparse_bsr_tensor", "sparse_compressed_tensor", "sparse_coo_tensor", "sparse_csc_tensor",
    "sparse_csr_tensor", "spdiags", "sspaddmm", "sum",
]

_op = {**functions, **_core.operators()}
_core.set_sparse_functions(_call, lambda x: x.detach())


def mm(mat1: Any, mat2: Any, reduce: str | None = None, *, out: Any = None) -> Any:
    """The product of two matrices, one of which is sparse at least.

    Args:
        mat1: ``(n, m)``, sparse or dense.
        mat2: ``(m, k)``, sparse or dense.
        reduce: What becomes of the terms of an element: ``"sum"``, ``"mean"``, ``"amax"`` or
            ``"amin"``, also written ``"max"`` and ``"min"``; but for the first, ``mat1`` is of
            layout ``sparse_csr``.
        out: Tensor that takes the result.

    Returns:
        ``(n, k)``: sparse if both factors are, else dense. The gradient of a sparse factor has
        its indices.

    Raises:
        RuntimeError: Shapes or dtypes do not fit.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse()
        >>> flambeau.sparse.mm(x, flambeau.ones(2, 1))
        tensor([[2.],
                [3.]])
    """
    if not _core.is_sparse_object(mat1) and not _core.is_sparse_object(mat2):
        result = _op["mm"](mat1, mat2)
    elif reduce in (None, "sum"):
        result = _products.masked_mm(mat1, mat2)
    else:
        result = _reduced_mm(mat1, mat2, reduce)
    return result if out is None else _write(out, result, "mm")


def _reduced_mm(mat1: Any, mat2: Any, reduce: Any) -> Any:
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    if reduce not in ("mean", "amax", "amin") or not _core.is_sparse_object(mat1) \
            or mat1.layout != "sparse_csr" or _core.is_sparse_object(mat2):
        raise RuntimeError(f"sparse.mm(): reduce={reduce!r} of these layouts is not computed: "
                           "reduce is 'sum', 'mean', 'amax' or 'amin', mat1 sparse_csr and mat2 "
                           "dense")
    from flambeau.sparse._tensor import values_of

    entries = _to_coo(mat1)
    rows, columns = entries._at.unbind(0)
    terms = values_of(entries).unsqueeze(1) * _op["index_select"](mat2, 0, columns)
    zeros = _op["zeros"]((mat1.shape[0], mat2.shape[1]), dtype=terms.dtype, device=terms.device)
    return zeros.scatter_reduce(0, rows.unsqueeze(1).expand(*terms.shape), terms, reduce,
                                include_self=False)


def addmm(mat: Any, mat1: Any, mat2: Any, *, beta: Any = 1.0, alpha: Any = 1.0) -> Any:
    """``beta * mat + alpha * mat1 @ mat2`` with a sparse ``mat1``.

    Args:
        mat: ``(n, k)``, dense.
        mat1: ``(n, m)``, sparse.
        mat2: ``(m, k)``, dense.
        beta: Factor of ``mat``.
        alpha: Factor of the product.

    Returns:
        Dense ``(n, k)``.

    Example:
        >>> import flambeau
        >>> x = flambeau.eye(2).to_sparse()
        >>> flambeau.sparse.addmm(flambeau.ones(2, 1), x, flambeau.ones(2, 1))
        tensor([[2.],
                [2.]])
    """
    return _products.addmm(mat, mat1, mat2, beta=beta, alpha=alpha,
                           multiply=_products.masked_mm)


def sum(input: Any, dim: int | Sequence[int] | None = None, dtype: Any = None) -> Any:
    """The sum of a sparse tensor's elements, of all or over some dimensions.

    Args:
        input: A sparse tensor.
        dim: Dimensions to sum over; all by default.
        dtype: Of the result.

    Returns:
        A sparse tensor while an indexed dimension is left, else a dense one.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([[0.0, 2.0], [3.0, 4.0]]).to_sparse()
        >>> flambeau.sparse.sum(x), flambeau.sparse.sum(x, 0).to_dense()
        (tensor(9.), tensor([3., 6.]))
    """
    if _core.is_sparse_object(input):
        return _reduce.masked_sum(input, dim, dtype)
    return _reduce.total(input, dim, dtype=dtype)


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """``softmax`` over the stored elements; those not stored count as minus infinity.

    Args:
        input: A sparse tensor.
        dim: Along which the results add up to 1.
        dtype: Of the result.

    Returns:
        A tensor with the indices of ``input``.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([[0.0, 2.0], [3.0, 3.0]]).to_sparse()
        >>> flambeau.sparse.softmax(x, 1).values()
        tensor([1.0000, 0.5000, 0.5000])
    """
    return sparse_softmax(input, dim, dtype)


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The logarithm of `softmax`.

    Args:
        input: A sparse tensor.
        dim: Along which the softmax adds up to 1.
        dtype: Of the result.

    Returns:
        A tensor with the indices of ``input``.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([[0.0, 2.0], [3.0, 3.0]]).to_sparse()
        >>> flambeau.sparse.log_softmax(x, 1).values()
        tensor([ 0.0000, -0.6931, -0.6931])
    """
    return sparse_log_softmax(input, dim, dtype)


def spdiags(diagonals: Any, offsets: Any, shape: Sequence[int], layout: Any = None) -> Any:
    """A sparse matrix with these diagonals.

    Args:
        diagonals: ``(count, length)``, or a single one ``(length,)``: element ``j`` stands in
            column ``j``.
        offsets: How far above the main diagonal each lies.
        shape: Of the matrix.
        layout: ``flambeau.sparse_coo`` by default, ``sparse_csr`` or ``sparse_csc``.

    Returns:
        A sparse matrix.

    Raises:
        ValueError: Shapes do not fit, or an offset is repeated.

    Example:
        >>> import flambeau
        >>> x = flambeau.sparse.spdiags(flambeau.ones(1, 2), flambeau.tensor([1]), (2, 2))
        >>> x.to_dense()
        tensor([[0., 1.],
                [0., 0.]])
    """
    rows = diagonals if diagonals.ndim == 2 else diagonals.unsqueeze(0)
    offsets = offsets.reshape(-1)
    if offsets.is_floating_point() or offsets.dtype.name == "bool":
        raise ValueError(f"spdiags(): Offset Tensor must have dtype Long but got {offsets.dtype}")
    if len(shape) != 2 or rows.shape[0] != offsets.numel():
        raise RuntimeError(f"spdiags(): number of diagonals ({rows.shape[0]}) does not match the "
                           f"number of offsets ({offsets.numel()}), or shape {list(shape)} is not "
                           "that of a matrix")
    if offsets.unique().numel() != offsets.numel():
        raise RuntimeError("spdiags(): Offset tensor contains duplicate values")
    columns = _op["arange"](0, rows.shape[1], 1, dtype=_core._dtype_named("int64"))
    at = columns - offsets.to(columns.dtype).unsqueeze(1)
    there = (at >= 0) & (at < shape[0]) & (columns < shape[1])
    where = _op["stack"]([at[there], columns.expand(*at.shape)[there]])
    result = sparse_coo_tensor(where, rows[there], tuple(shape))
    return result if layout is None else result.to_sparse(layout=layout)


def as_sparse_gradcheck(gradcheck: Any) -> Any:
    """A ``gradcheck`` for functions of sparse tensors: it differentiates by their values.

    Args:
        gradcheck: ``flambeau.autograd.gradcheck``, or a function that is called as it is.

    Returns:
        A function of the same arguments. With ``masked=True`` elements that are not stored count
        for nothing, with ``masked=False``, the default, they are differentiated by, too.

    Example:
        >>> import flambeau
        >>> check = flambeau.sparse.as_sparse_gradcheck(flambeau.autograd.gradcheck)
        >>> x = flambeau.eye(2, dtype=flambeau.float64).to_sparse().requires_grad_()
        >>> check(lambda x: x @ x, x, masked=True)
        True
    """
    def check(func: Any, inputs: Any, **options: Any) -> Any:
        from flambeau.sparse._checking import of_values

        args = (inputs,) if isinstance(inputs, _core.Tensor) else tuple(inputs)
        dense, values = of_values(func, args, bool(options.get("masked", False)))
        return gradcheck(dense, values, **options)

    return check
