"""From one layout to another: every way leads over coordinates."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.core import _core, functions
from flambeau.core.layouts import layout as Layout
from flambeau.core.layouts import (
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from flambeau.sparse._compressed import BLOCKED, CompressedTensor, batch_dim, block_sizes
from flambeau.sparse._compressing import (
    checked_blocks,
    compressed_of,
    entry_indices,
    same_elements,
    turned,
)
from flambeau.sparse._coo import CooTensor, Orders, coo, dense_of, new_coo, product_of
from flambeau.sparse._history import is_sampled, tie, whole
from flambeau.sparse._masks import gathered
from flambeau.sparse._tensor import values_of

_op = {**functions, **_core.operators()}
_INT64 = _core._dtype_named("int64")


def to_coo(x: Any) -> Any:
    """A sparse tensor in coordinate format."""
    if isinstance(x, CooTensor):
        return x
    versions = (x._starts._version, x._along._version)
    if x._cache.get("versions") != versions:
        at, ordered = entry_indices(x)
        x._cache.update(versions=versions, entries=(at, ordered, Orders()))
    at, ordered, orders = x._cache["entries"]
    values = values_of(x)
    if values.ndim != x.dense_dim() + 1:
        values = values.reshape(at.shape[1], *x.shape[batch_dim(x) + 2:])
    result = coo(at, values, tuple(x.shape), ordered)
    result._order = orders
    return result


def entries_as_values(values: Any, pattern: Any) -> Any:
    """Values of the entries that `to_coo` gives of a compressed tensor, as the tensor has them."""
    own = pattern._held.ndim - pattern.dense_dim()
    return values if own == 1 else values.reshape(*pattern._held.shape[:own], *values.shape[1:])


def to_compressed(x: Any, kind: Layout, blocksize: int | Sequence[int] | None = None,
                  dense_dim: int | None = None) -> Any:
    """Matrices, dense or sparse, in a compressed format.

    Args:
        x: A tensor of two dimensions, or more: a dense one has a batch of matrices before
            ``dense_dim`` last dimensions.
        kind: The layout.
        blocksize: Rows and columns of blocks; an integer stands for both.
        dense_dim: How many of the last dimensions of a dense tensor are not indexed.
    """
    if kind not in BLOCKED and blocksize is not None:
        raise RuntimeError(f"conversion to {kind} takes no blocksize, got {blocksize}")
    blocksize = (blocksize, blocksize) if isinstance(blocksize, int) else blocksize
    if same_elements(x, kind, blocksize):
        return x if x._kind is kind else turned(x, kind)
    if not _core.is_sparse_object(x):
        return _compressed_dense(x, kind, blocksize, dense_dim or 0)
    batch = batch_dim(x) if isinstance(x, CompressedTensor) else 0
    if isinstance(x, CooTensor) and x.sparse_dim() != 2:
        raise RuntimeError(f"conversion from Sparse to {kind} for input tensors with "
                           f"sparse_dim()!=2 is not supported, got {x.sparse_dim()}: write "
                           "x.to_dense() first")
    if kind in BLOCKED:
        if batch:
            raise RuntimeError(f"conversion from {x.layout} to {kind} for batched inputs is not "
                               "supported: write x.to_dense() first")
        blocksize = checked_blocks(x, kind, blocksize, batch)
    narrow = isinstance(x, CompressedTensor) and x._along.dtype is not _INT64
    return compressed_of(to_coo(x), kind, blocksize or (1, 1), narrow)


def _compressed_dense(x: Any, kind: Layout, blocksize: Sequence[int] | None,
                      dense_dim: int) -> Any:
    if x.ndim - dense_dim < 2:
        raise RuntimeError(f"conversion to {kind} needs two dimensions at least, dense ones "
                           f"aside, got shape {list(x.shape)} and dense_dim={dense_dim}: write "
                           "x.unsqueeze(0)")
    if kind in BLOCKED:
        blocksize = checked_blocks(x, kind, blocksize, x.ndim - dense_dim - 2)
    entries = from_dense(x.detach(), x.ndim - dense_dim)
    result = compressed_of(entries, kind, blocksize or (1, 1))
    return tie("ToSparse", result, (x,), lambda g, needs: (to_dense(g),))


def in_layout_of(x: Any, model: Any) -> Any:
    """Matrices in coordinate format in the layout of another tensor of their shape."""
    if not isinstance(model, CompressedTensor):
        return x
    return compressed_of(x, model._kind, block_sizes(model), model._along.dtype is not _INT64)


def from_dense(x: Any, sparse_dim: int | None = None) -> Any:
    """The elements of a dense tensor that are not zero, in coordinate format.

    Args:
        x: A dense tensor.
        sparse_dim: How many of its dimensions are indexed; all by default.
    """
    count = x.ndim if sparse_dim is None else sparse_dim
    if not 0 <= count <= x.ndim or (count == 0 and x.ndim > 0):
        raise RuntimeError(f"to_sparse(): sparse_dim argument must be in >0 and <= {x.ndim}, got "
                           f"{sparse_dim}")
    filled = x.detach() != 0
    if count < x.ndim:
        filled = filled.reshape(*x.shape[:count], product_of(x.shape[count:])).any(-1)
    at = filled.nonzero().t().contiguous()
    values = gathered(x, at) if count else x.reshape(1)[:at.shape[1]]
    result = new_coo(at, values.detach(), tuple(x.shape), True)
    return tie("ToSparse", result, (x,), lambda g, needs: (to_dense(g),))


def to_dense(x: Any, dtype: Any = None, masked_grad: bool | None = None) -> Any:
    """All elements of a tensor of any layout."""
    result = x
    if masked_grad is False and isinstance(x, CompressedTensor):
        result = whole("ToDense", to_dense(x.detach()), x, lambda g: _like(g, x))
    elif _core.is_sparse_object(x):
        result = dense_of(to_coo(x), masked_grad is None or masked_grad)
    return result if dtype is None else result.to(dtype)


def _like(gradient: Any, x: Any) -> Any:
    """A gradient in the layout of a sparse tensor, with all elements that it has."""
    if isinstance(x, CooTensor):
        return to_coo(gradient) if _core.is_sparse_object(gradient) else \
            from_dense(gradient, x.sparse_dim())
    entries = to_coo(gradient) if _core.is_sparse_object(gradient) else \
        from_dense(gradient, batch_dim(x) + 2)
    return in_layout_of(entries, x)


def with_sparse_dim(x: Any, count: int) -> Any:
    """A tensor in coordinate format with so many indexed dimensions."""
    if x.sparse_dim() == count:
        return x
    return from_dense(dense_of(x), count)


def converted(x: Any, kind: Any, blocksize: Sequence[int] | None = None,
              dense_dim: int | None = None) -> Any:
    """``x.to_sparse(layout=kind)``.

    Args:
        x: A tensor of any layout.
        kind: The layout that is wanted.
        blocksize: Of blocked layouts.
        dense_dim: How many of the last dimensions of a dense tensor are not indexed.
    """
    if kind is strided:
        return to_dense(x)
    if _core.is_sparse_object(x) and x.layout is not kind and not is_sampled(x):
        return whole("ToSparse", converted(x.detach(), kind, blocksize, dense_dim), x,
                     lambda g: _like(g, x))
    if kind is sparse_coo:
        if _core.is_sparse_object(x):
            return to_coo(x)
        return from_dense(x, x.ndim - (dense_dim or 0) if x.ndim else None)
    if kind in (sparse_csr, sparse_csc, sparse_bsr, sparse_bsc):
        return to_compressed(x, kind, blocksize, dense_dim)
    raise RuntimeError(f"to_sparse(): there is no layout {kind!r}: use flambeau.sparse_coo, "
                       "sparse_csr, sparse_csc, sparse_bsr or sparse_bsc")
