"""Other shapes for sparse tensors, in place."""
from __future__ import annotations

from typing import Any

from flambeau.core import _core, functions
from flambeau.core.layouts import sparse_csr
from flambeau.sparse._compressed import CompressedTensor, new_compressed
from flambeau.sparse._coo import new_coo

_op = {**functions, **_core.operators()}


def _check(what: str, size: tuple[int, ...], sparse_dim: int, dense_dim: int) -> None:
    if sparse_dim < 0 or dense_dim < 0 or len(size) != sparse_dim + dense_dim \
            or any(n < 0 for n in size):
        raise RuntimeError(f"{what}(): number of dimensions must be sparse_dim ({sparse_dim}) + "
                           f"dense_dim ({dense_dim}), and sizes not negative, got size "
                           f"{list(size)}")


def resized(x: Any, size: tuple[int, ...], sparse_dim: int, dense_dim: int) -> Any:
    """A tensor of another shape with the elements of ``x``, which must fit."""
    _check("sparse_resize_", size, sparse_dim, dense_dim)
    if x._nnz() == 0:
        return cleared(x, size, sparse_dim, dense_dim)
    tail = tuple(x.shape[x.sparse_dim():])
    if sparse_dim != x.sparse_dim() or dense_dim != len(tail):
        raise RuntimeError("sparse_resize_(): changing the number of sparse or dense dimensions "
                           "on a non-empty sparse tensor is not supported: write "
                           "sparse_resize_and_clear_, or make a new one")
    if any(a < b for a, b in zip(size, tuple(x.shape), strict=True)):
        raise RuntimeError("sparse_resize_(): shrinking the size of dimensions on a non-empty "
                           f"sparse tensor is not supported, from {list(x.shape)} to "
                           f"{list(size)}: write x.narrow_copy(dim, start, length)")
    values = x._held
    if size[sparse_dim:] != tail:
        larger = _op["zeros"]((x._nnz(), *size[sparse_dim:]), dtype=values.dtype,
                              device=values.device)
        larger[(slice(None), *[slice(n) for n in tail])] = values
        values = larger
    return new_coo(x._at, values, size, x._ordered)


def cleared(x: Any, size: tuple[int, ...], sparse_dim: int, dense_dim: int) -> Any:
    """A tensor of another shape without elements."""
    _check("sparse_resize_and_clear_", size, sparse_dim, dense_dim)
    at = _op["zeros"]((sparse_dim, 0), dtype=x._at.dtype, device=x.device)
    values = _op["zeros"]((0, *size[sparse_dim:]), dtype=x.dtype, device=x.device)
    return new_coo(at, values, size, True)


def resized_as(x: Any, other: Any) -> Any:
    """A tensor of the shape of another, and in compressed layouts with as many elements.

    Args:
        x: The sparse tensor; one in coordinate format keeps its elements.
        other: A sparse tensor of its layout.
    """
    if getattr(other, "layout", None) is not x.layout:
        raise RuntimeError("resize_as_sparse_(): self and src must have the same layout, got "
                           f"{x.layout} and {getattr(other, 'layout', type(other).__name__)}")
    if not isinstance(x, CompressedTensor):
        if tuple(x.shape) == tuple(other.shape) and x.sparse_dim() == other.sparse_dim():
            return x
        return resized(x, tuple(other.shape), other.sparse_dim(), other.dense_dim())
    if tuple(x.shape) == tuple(other.shape) and x._held.shape == other._held.shape:
        return x
    starts, along = (part.to(x._along.dtype).clone() for part in (other._starts, other._along))
    values = _op["zeros"](tuple(other._held.shape), dtype=x.dtype, device=x.device)
    return new_compressed(x.layout, starts, along, values, tuple(other.shape))


def resized_rows(x: Any, size: Any) -> Any:
    """Matrices of layout sparse_csr with more columns, or another number of rows.

    Args:
        x: The tensor; rows that are cut off take their elements along.
        size: The new shape.
    """
    size = tuple(int(n) for n in size)
    if getattr(x, "layout", None) is not sparse_csr or len(size) < 2 or x.dense_dim():
        raise RuntimeError("resize_(): Only batched sparse CSR matrices are supported, got layout "
                           f"{x.layout} and size {list(size)}")
    if any(n < 0 for n in size) or size[-1] < x.shape[-1]:
        raise RuntimeError("resize_(): Resizing columns of sparse CSR tensors to a smaller value "
                           f"is not supported, from {list(x.shape)} to {list(size)}: write "
                           "x.to_dense()[..., :columns].to_sparse_csr()")
    batch = len(size) - 2
    if len(x.shape) - 2 < batch or tuple(x.shape[x.ndim - 2 - batch:-2]) != size[:-2]:
        raise RuntimeError(f"resize_(): a batch {list(x.shape[:-2])} cannot become "
                           f"{list(size[:-2])}: write sparse_csr_tensor(...)")
    starts, along, values = x._starts, x._along, x._held
    while starts.ndim - 1 > batch:
        starts, along, values = starts[0], along[0], values[0]
    before = starts.shape[-1] - 1
    if size[-2] > before:
        last = starts[..., -1:].expand(*starts.shape[:-1], size[-2] - before)
        starts = _op["cat"]([starts, last], -1)
    starts = starts[..., :size[-2] + 1].clone()
    counts = set(starts[..., -1].reshape(-1).tolist())
    if len(counts) > 1:
        raise RuntimeError("resize_(): the matrices of a batch store as many elements each, but "
                           f"in {size[-2]} rows they have {sorted(counts)}: make a tensor of each")
    kept = counts.pop() if counts else 0
    return new_compressed(sparse_csr, starts, along[..., :kept].contiguous(),
                          values[..., :kept].contiguous(), size)
