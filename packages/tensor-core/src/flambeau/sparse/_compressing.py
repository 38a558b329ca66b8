"""Elements that are sorted by rows or columns, and where each row starts among them."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.core import _core, functions
from flambeau.core.layouts import layout
from flambeau.sparse._compressed import (
    BLOCKED,
    BY_ROWS,
    CompressedTensor,
    batch_dim,
    block_sizes,
    compressed,
)
from flambeau.sparse._coo import add_at, keys, product_of, sparse_shape, unkeyed
from flambeau.sparse._tensor import values_of

_op = {**functions, **_core.operators()}
_INT64 = _core._dtype_named("int64")


def numbers_to(count: int, device: Any) -> Any:
    """0, 1, ... up to a count, without it."""
    return _op["arange"](0, count, 1, dtype=_INT64, device=device)


def stored_indices(x: Any) -> Any:
    """Indices of a compressed tensor's elements or blocks, in the order of its values.

    Args:
        x: A compressed tensor.

    Returns:
        int64 ``(batch_dim + 2, n)``; rows and columns are those of blocks where it has blocks.
    """
    starts, along = x._starts.to(_INT64), x._along.to(_INT64)
    batch = tuple(starts.shape[:-1])
    rows, matrices = starts.shape[-1] - 1, product_of(batch)
    counts = (starts[..., 1:] - starts[..., :-1]).reshape(-1)
    major = _op["repeat_interleave"](numbers_to(matrices * rows, along.device), counts)
    ahead = []
    if batch:
        ahead = list(unkeyed(major // max(rows, 1), batch).unbind(0))
        major = major % max(rows, 1)
    minor = along.reshape(-1)
    return _op["stack"]([*ahead, *((major, minor) if x._kind in BY_ROWS else (minor, major))])


def entry_indices(x: Any) -> tuple[Any, bool]:
    """Indices of a compressed tensor's elements in the order of its values, and whether they are
    sorted."""
    at = stored_indices(x)
    count = at.shape[0]
    if x._kind in BLOCKED:
        height, width = block_sizes(x)
        inside = numbers_to(height * width, at.device)
        rows = (at[-2] * height).unsqueeze(1) + inside // max(width, 1)
        columns = (at[-1] * width).unsqueeze(1) + inside % max(width, 1)
        ahead = [row.unsqueeze(1).expand(*rows.shape) for row in at[:-2].unbind(0)]
        at = _op["stack"]([*ahead, rows, columns]).reshape(count, -1)
    if x._kind in BLOCKED or x._kind not in BY_ROWS:
        return at, False
    numbers = keys(at, tuple(x.shape[:count]))
    return at, bool((numbers[1:] > numbers[:-1]).all())


def _starts(kind: layout, rows: Any, count: int, matrices: int) -> Any:
    """Where each row starts among sorted ones, for each matrix of a batch."""
    every = _op["searchsorted"](rows, numbers_to(matrices * count + 1, rows.device))
    if matrices == 1:
        return every.unsqueeze(0)
    first = numbers_to(matrices, rows.device).unsqueeze(1) * count
    starts = every[first + numbers_to(count + 1, rows.device)] - every[first]
    if matrices and not bool((starts[:, -1] == starts[0, -1]).all()):
        raise RuntimeError(
            f"conversion to {kind}: Expect the same number of specified elements per batch, got "
            f"{starts[:, -1].tolist()[:8]}: the matrices of a batch store as many each. Make a "
            "tensor of each matrix, or write x.to_sparse()")
    return starts


def _compress(kind: layout, at: Any, values: Any, grid: tuple[int, ...],
              shape: tuple[int, ...], narrow: bool, ordered: bool = False) -> Any:
    """Sort elements or blocks by rows or columns, and say where each starts.

    Args:
        kind: The layout.
        at: Their indices.
        values: One for each.
        grid: Sizes of the batch, and how many rows and columns of elements or blocks there are.
        shape: Of the result.
        narrow: Whether indices are int32.
        ordered: Whether the indices are known to be sorted.
    """
    batch = grid[:-2]
    if kind not in BY_ROWS:
        at, grid = _op["cat"]([at[:-2], at[-2:].flip(0)]), (*batch, grid[-1], grid[-2])
        ordered = False
    numbers = None if ordered else keys(at, grid)
    if numbers is not None and not bool((numbers[1:] >= numbers[:-1]).all()):
        order = numbers.argsort(stable=True)
        at, values = at[:, order], _op["index_select"](values, 0, order)
    matrices = product_of(batch)
    starts = _starts(kind, keys(at[:-1], grid[:-1]).contiguous(), grid[-2], matrices)
    each = at.shape[1] // max(matrices, 1)
    starts, along = starts.reshape(*batch, grid[-2] + 1), at[-1].reshape(*batch, each).contiguous()
    if narrow:
        starts, along = (part.to(_core._dtype_named("int32")) for part in (starts, along))
    return compressed(kind, starts, along, values.reshape(*batch, each, *values.shape[1:]), shape)


def compressed_of(entries: Any, kind: layout, blocksize: Sequence[int] = (1, 1),
                  narrow: bool = False) -> Any:
    """A tensor in coordinate format, whose last two indexed dimensions are rows and columns.

    Args:
        entries: The tensor.
        kind: The layout that is wanted.
        blocksize: Rows and columns of blocks.
        narrow: Whether indices are int32.
    """
    entries = entries.coalesce()
    shape, sizes = tuple(entries.shape), sparse_shape(entries)
    if kind not in BLOCKED:
        return _compress(kind, entries._at, values_of(entries), sizes, shape, narrow, True)
    height, width = blocksize
    grid = (*sizes[:-2], sizes[-2] // height, sizes[-1] // width)
    rows, columns = entries._at[-2], entries._at[-1]
    at = _op["cat"]([entries._at[:-2], _op["stack"]([rows // height, columns // width])])
    blocks, of_block = keys(at, grid).unique(return_inverse=True)
    inside = rows % height * width + columns % width
    area, count = height * width, blocks.numel()
    values = add_at(count * area, of_block * area + inside, values_of(entries))
    values = values.reshape(count, height, width, *values.shape[1:])
    return _compress(kind, unkeyed(blocks, grid), values, grid, shape, narrow)


def turned(x: Any, kind: layout) -> Any:
    """A compressed tensor by columns instead of rows, or by rows instead of columns.

    Args:
        x: The tensor.
        kind: The other layout of the same elements or blocks.
    """
    batch = batch_dim(x)
    height, width = block_sizes(x)
    shape = tuple(x.shape)
    grid = (*shape[:batch], shape[batch] // max(height, 1), shape[batch + 1] // max(width, 1))
    values = values_of(x)
    values = values.reshape(-1, *values.shape[batch + 1:]) if values.numel() else \
        values.reshape(product_of(values.shape[:batch + 1]), *values.shape[batch + 1:])
    return _compress(kind, stored_indices(x), values, grid, shape, x._along.dtype is not _INT64)


def checked_blocks(x: Any, kind: layout, blocksize: Sequence[int] | None,
                   batch: int) -> tuple[int, int]:
    """Rows and columns of blocks, which must divide a tensor's.

    Args:
        x: The tensor.
        kind: The layout it shall have.
        blocksize: What the user said.
        batch: How many dimensions stand before rows and columns.
    """
    if blocksize is None or len(tuple(blocksize)) != 2:
        raise RuntimeError(f"conversion to {kind} takes a blocksize of two integers, got "
                           f"{blocksize}: write x.to_sparse(layout=..., blocksize=(2, 2))")
    height, width = blocksize
    if height < 1 or width < 1 or x.shape[batch] % height or x.shape[batch + 1] % width:
        raise RuntimeError(f"conversion to {kind}: blocksize {(height, width)} must be above 0 and "
                           f"divide the rows and columns of shape {list(x.shape)}")
    return height, width


def same_elements(x: Any, kind: layout, blocksize: Sequence[int] | None) -> bool:
    """Whether a tensor is compressed and has the blocks that are wanted already."""
    return isinstance(x, CompressedTensor) and (x._kind in BLOCKED) == (kind in BLOCKED) and (
        blocksize is None or kind not in BLOCKED or tuple(blocksize) == block_sizes(x))
