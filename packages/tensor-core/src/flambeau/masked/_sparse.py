"""Reductions of sparse tensors: without a mask, what is stored takes part."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.core import _core, functions, layouts
from flambeau.sparse._make import sparse_compressed_tensor, sparse_coo_tensor, sparse_csr_tensor

_op = {**functions, **_core.operators()}


def dense(x: Any) -> Any:
    """A tensor with all elements, whatever its layout."""
    return x if x is None or x.layout is layouts.strided else x.to_dense()


def stored(x: Any) -> Any:
    """Which elements of a sparse tensor are stored: bools, dense."""
    if x.layout is layouts.sparse_coo:
        x = x.detach().coalesce()
        there = sparse_coo_tensor(
            x.indices(), _op["ones_like"](x.values(), dtype=_core._dtype_named("int8")), x.shape)
    else:
        by_rows = x.layout in (layouts.sparse_csr, layouts.sparse_bsr)
        there = sparse_compressed_tensor(
            x.crow_indices() if by_rows else x.ccol_indices(),
            x.col_indices() if by_rows else x.row_indices(),
            _op["ones_like"](x.values(), dtype=_core._dtype_named("int8")), x.shape,
            layout=x.layout)
    return there.to_dense() != 0


def reduced_sparse(x: Any, mask: Any, dims: tuple[int, ...], keepdim: bool,
                   compute: Callable[[Any, Any, tuple[int, ...]], Any]) -> Any:
    """What ``compute(data, mask, dims)`` gives, stored where at least one element took part.

    Args:
        x: A sparse tensor.
        mask: Bools of its shape, dense: where they hold, what is not stored counts as 0; None:
            what is stored takes part.
        dims: The dimensions to reduce.
        keepdim: Whether they are kept with size 1.
        compute: The reduction of dense tensors.

    Returns:
        A tensor of the layout of ``x``.

    Raises:
        ValueError: The layout is of matrices, and the result is none.
    """
    wanted = stored(x) if mask is None else mask
    dims = dims or tuple(range(x.ndim))
    result = compute(dense(x), wanted, dims)
    left = _op["any"](wanted, dims, keepdim=keepdim) if dims else wanted
    values = result[left]
    if x.layout is layouts.sparse_coo:
        return sparse_coo_tensor(left.nonzero().t(), values, result.shape,
                                        is_coalesced=True)
    if x.layout is not layouts.sparse_csr or result.ndim != 2:
        raise ValueError(f"the result would be of {result.ndim} dimensions and layout {x.layout}, "
                         "which is not made: pass keepdim=True for a matrix in sparse_csr, or "
                         "convert with to_sparse_coo()")
    pattern = left.to_sparse_csr()
    return sparse_csr_tensor(pattern.crow_indices(), pattern.col_indices(), values,
                                    result.shape)
