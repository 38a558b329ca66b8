"""From one layout to another: every way leads over coordinates."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.core import _core, functions
from flambeau.core.layouts import (
    layout,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from flambeau.sparse._compressed import (
    BLOCKED,
    BY_ROWS,
    CompressedTensor,
    block_sizes,
    compressed,
)
from flambeau.sparse._coo import CooTensor, Orders, coo, dense_of, keys, new_coo, sparse_shape
from flambeau.sparse._history import tie
from flambeau.sparse._masks import gathered
from flambeau.sparse._tensor import values_of

_op = {**functions, **_core.operators()}
_INT64 = _core._dtype_named("int64")


def _numbers(count: int, device: Any) -> Any:
    return _op["arange"](0, count, 1, dtype=_INT64, device=device)


def _entry_indices(x: Any) -> tuple[Any, bool]:
    """The coordinates of a compressed tensor's elements in the order of its values, and whether
    they are sorted."""
    starts, along = x._starts.to(_INT64), x._along.to(_INT64)
    major = _op["repeat_interleave"](_numbers(starts.numel() - 1, along.device),
                                     starts[1:] - starts[:-1])
    rows, columns = (major, along) if x._kind in BY_ROWS else (along, major)
    height, width = block_sizes(x)
    if x._kind in BLOCKED:
        inside = _numbers(height * width, along.device)
        rows = (rows * height).unsqueeze(1) + inside // max(width, 1)
        columns = (columns * width).unsqueeze(1) + inside % max(width, 1)
    at = _op["stack"]([rows.reshape(-1), columns.reshape(-1)])
    if x._kind is not sparse_csr:
        return at, False
    numbers = keys(at, tuple(x.shape[:2]))
    return at, bool((numbers[1:] > numbers[:-1]).all())


def to_coo(x: Any) -> Any:
    """A sparse tensor in coordinate format."""
    if isinstance(x, CooTensor):
        return x
    versions = (x._starts._version, x._along._version)
    if x._cache.get("versions") != versions:
        at, ordered = _entry_indices(x)
        x._cache.update(versions=versions, entries=(at, ordered, Orders()))
    at, ordered, orders = x._cache["entries"]
    values = values_of(x)
    if x._kind in BLOCKED:
        values = values.reshape(-1, *values.shape[3:])
    result = coo(at, values, tuple(x.shape), ordered)
    result._order = orders
    return result


def entries_as_values(values: Any, pattern: Any) -> Any:
    """Values of the entries that `to_coo` gives of a compressed tensor, as the tensor has them."""
    if pattern._kind not in BLOCKED:
        return values
    return values.reshape(-1, *block_sizes(pattern), *values.shape[1:])


def _starts(sorted_rows: Any, count: int) -> Any:
    """Where each row starts among sorted ones."""
    return _op["searchsorted"](sorted_rows, _numbers(count + 1, sorted_rows.device))


def _compress(kind: layout, at: Any, values: Any, grid: tuple[int, ...],
              shape: tuple[int, ...]) -> Any:
    """Sort entries or blocks by rows or columns, and say where each starts."""
    major = 0 if kind in BY_ROWS else 1
    ordered = at if major == 0 else at.flip(0)
    numbers = keys(ordered, (grid[major], grid[1 - major]))
    if not bool((numbers[1:] >= numbers[:-1]).all()):
        order = numbers.argsort(stable=True)
        ordered, values = ordered[:, order], _op["index_select"](values, 0, order)
    return compressed(kind, _starts(ordered[0].contiguous(), grid[major]),
                      ordered[1].contiguous(), values, shape)


def to_compressed(x: Any, kind: layout, blocksize: Sequence[int] | None = None) -> Any:
    """A matrix, dense or sparse, in a compressed format.

    Args:
        x: A tensor of two dimensions, or more where those behind are dense.
        kind: The layout.
        blocksize: Rows and columns of blocks.
    """
    if kind in BLOCKED:
        return _to_blocks(x, kind, blocksize)
    if isinstance(x, CompressedTensor) and x._kind is kind:
        return x
    if x.ndim < 2:
        raise RuntimeError(f"conversion to {kind} needs two dimensions at least, got shape "
                           f"{list(x.shape)}: write x.unsqueeze(0)")
    x = from_dense(x, 2) if not _core.is_sparse_object(x) else to_coo(x).coalesce()
    if x.sparse_dim() != 2:
        raise RuntimeError(f"conversion to {kind}: only matrices, of sparse dimension 2, are held "
                           f"in it, got sparse dimension {x.sparse_dim()}")
    return _compress(kind, x._at, values_of(x), sparse_shape(x), tuple(x.shape))


def in_layout_of(x: Any, model: Any) -> Any:
    """A matrix in coordinate format in the layout of another one of its shape."""
    if not isinstance(model, CompressedTensor):
        return x
    return to_compressed(x, model._kind, block_sizes(model))


def _to_blocks(x: Any, kind: layout, blocksize: Sequence[int] | None) -> Any:
    if isinstance(x, CompressedTensor) and x._kind is kind and (
            blocksize is None or tuple(blocksize) == block_sizes(x)):
        return x
    if blocksize is None or len(tuple(blocksize)) != 2 or x.ndim != 2:
        raise RuntimeError(f"conversion to {kind} takes a matrix and a blocksize of two integers, "
                           f"got shape {list(x.shape)} and blocksize {blocksize}")
    height, width = blocksize
    if height < 1 or width < 1 or x.shape[0] % height or x.shape[1] % width:
        raise RuntimeError(f"conversion to {kind}: blocksize {(height, width)} must divide the "
                           f"shape {list(x.shape)}")
    dense = dense_of(to_coo(x)) if _core.is_sparse_object(x) else x
    grid = (x.shape[0] // height, x.shape[1] // width)
    blocks = dense.reshape(grid[0], height, grid[1], width).transpose(1, 2)
    at = (blocks.detach() != 0).any(3).any(2).nonzero().t().contiguous()
    return _compress(kind, at, gathered(blocks.contiguous(), at), grid, tuple(x.shape))


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
        filled = filled.reshape(*x.shape[:count], _product(x.shape[count:])).any(-1)
    at = filled.nonzero().t().contiguous()
    values = gathered(x, at) if count else x.reshape(1)[:at.shape[1]]
    result = new_coo(at, values.detach(), tuple(x.shape), True)
    return tie("ToSparse", result, (x,), lambda g, needs: (to_dense(g),))


def _product(sizes: Sequence[int]) -> int:
    count = 1
    for size in sizes:
        count *= size
    return count


def to_dense(x: Any, dtype: Any = None, masked_grad: bool | None = None) -> Any:
    """All elements of a tensor of any layout."""
    result = x
    if _core.is_sparse_object(x):
        result = dense_of(to_coo(x), masked_grad is None or masked_grad)
    return result if dtype is None else result.to(dtype)


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
    if kind is sparse_coo:
        if _core.is_sparse_object(x):
            return to_coo(x)
        return from_dense(x, x.ndim - (dense_dim or 0) if x.ndim else None)
    if kind in (sparse_csr, sparse_csc, sparse_bsr, sparse_bsc):
        return to_compressed(x, kind, blocksize)
    raise RuntimeError(f"to_sparse(): there is no layout {kind!r}: use flambeau.sparse_coo, "
                       "sparse_csr, sparse_csc, sparse_bsr or sparse_bsc")
