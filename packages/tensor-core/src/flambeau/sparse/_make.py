"""Functions that make sparse tensors of their parts, and check them."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.core import _core, functions
from flambeau.core.layouts import layout as Layout
from flambeau.core.layouts import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from flambeau.sparse._compressed import BLOCKED, BY_ROWS, LAYOUTS, compressed
from flambeau.sparse._coo import coo, keys, new_coo
from flambeau.sparse._invariants import check_sparse_tensor_invariants as _invariants

Tensor = _core.Tensor
_op = {**functions, **_core.operators()}
_INT64 = _core._dtype_named("int64")


def _as_dense(what: str, name: str, value: Any, dtype: Any = None, device: Any = None) -> Any:
    if _core.is_sparse_object(value):
        raise TypeError(f"{what}(): {name} must be dense, not of layout {value.layout}: take its "
                        "parts, or write x.to_dense()")
    return _core.as_tensor(value, dtype=dtype, device=device)


def _as_indices(what: str, name: str, value: Any, device: Any, narrow: bool = False) -> Any:
    index = _as_dense(what, name, value, device=device)
    empty = not isinstance(value, Tensor) and index.numel() == 0
    exact = index.is_floating_point() and bool((index == index.floor()).all())
    if not (empty or exact) and (index.is_floating_point() or index.is_complex()
                                 or index.dtype.name == "bool"):
        raise RuntimeError(f"{what}(): {name} must be an int64 tensor, but got {index.dtype}: "
                           f"write {name}.long()")
    keep = narrow and index.dtype.name == "int32"
    return (index if keep else index.to(_INT64)).detach()


def _finish(result: Any, requires_grad: bool, pin_memory: Any) -> Any:
    if not requires_grad:
        return result
    return _core.requiring(result.detach(), True)


def sparse_coo_tensor(indices: Any = None, values: Any = None, size: Sequence[int] | None = None, *,
                      dtype: Any = None, device: Any = None, requires_grad: bool = False,
                      check_invariants: bool | None = None, pin_memory: bool = False,
                      is_coalesced: bool | None = None, layout: Any = None) -> Any:
    r"""A sparse tensor in coordinate format.

    ``x[indices[:, k]]`` is ``values[k]``; where an index occurs several times, its values are
    added.

    Args:
        indices: Integers of shape ``(sparse_dim, nnz)``. A shape alone, here or as ``size``, makes
            a tensor without elements.
        values: Tensor or numbers of shape ``(nnz, *dense_sizes)``.
        size: Shape of the tensor; by default the smallest that has the indices.
        dtype: Of the values.
        device: Of the parts.
        requires_grad: Whether gradients are computed for the tensor.
        check_invariants: Accepted; indices are always checked.
        pin_memory: Accepted; memory is not pinned.
        is_coalesced: Whether indices are sorted and occur once each.
        layout: ``flambeau.sparse_coo``.

    Returns:
        A tensor of layout ``sparse_coo``. Gradients flow to ``values``.

    Raises:
        RuntimeError: Indices are negative or beyond ``size``, or shapes do not fit.

    Example:
        >>> import flambeau
        >>> x = flambeau.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
        >>> x.to_dense()
        tensor([[0., 0., 3.],
                [4., 0., 0.]])
    """
    what = "sparse_coo_tensor"
    if values is None:
        if indices is None and size is None:
            raise TypeError(f"{what}(): give indices and values, or size= alone for a tensor "
                            "without elements")
        return _finish(empty_coo(tuple(indices if size is None else size), dtype, device),
                       requires_grad, pin_memory)
    held = _as_dense(what, "values", values, dtype, device)
    at = _as_indices(what, "indices", indices, held.device)
    if at.ndim != 2:
        raise RuntimeError(f"{what}(): indices must be sparse_dim x nnz, but got shape "
                           f"{list(at.shape)}: write a row for each dimension")
    held = held.unsqueeze(0).expand(at.shape[1], *held.shape) if held.ndim == 0 else held
    if held.shape[0] != at.shape[1]:
        raise RuntimeError(f"{what}(): number of indices must equal the first size of values, but "
                           f"indices are {list(at.shape)} and values {list(held.shape)}")
    shape = _coo_shape(what, at, held, size)
    at = at.contiguous()
    if is_coalesced:
        numbers = keys(at, shape[:at.shape[0]])
        if not bool((numbers[1:] > numbers[:-1]).all()):
            raise RuntimeError(f"{what}(): cannot set is_coalesced to true if indices correspond "
                               "to uncoalesced COO tensor: call coalesce() on it")
    return _finish(coo(at, held, shape, bool(is_coalesced)), requires_grad, pin_memory)


def _coo_shape(what: str, at: Any, held: Any, size: Sequence[int] | None) -> tuple[int, ...]:
    """The shape, after indices were checked against it."""
    dims, count = at.shape
    least = [int(n) for n in at.amin(1).tolist()] if count else [0] * dims
    most = [int(n) for n in at.amax(1).tolist()] if count else [-1] * dims
    if any(n < 0 for n in least):
        raise RuntimeError(f"{what}(): found negative index {min(least)} for dim "
                           f"{least.index(min(least))}; indices count from 0")
    if size is None:
        return (*[n + 1 for n in most], *held.shape[1:])
    shape = tuple([int(n) for n in size])
    if any(n < 0 for n in shape):
        raise RuntimeError(f"{what}(): negative size in {list(shape)}")
    if len(shape) != dims + held.ndim - 1:
        raise RuntimeError(f"{what}(): number of dimensions must be sparse_dim ({dims}) + "
                           f"dense_dim ({held.ndim - 1}), but got {len(shape)} in size "
                           f"{list(shape)}")
    for dim, (n, bound) in enumerate(zip(most, shape, strict=False)):
        if n >= bound:
            raise RuntimeError(f"{what}(): size is inconsistent with indices: for dim {dim}, size "
                               f"is {bound} but found index {n}")
    if tuple(held.shape[1:]) != shape[dims:]:
        raise RuntimeError(f"{what}(): values has incorrect size, expected "
                           f"{[count, *shape[dims:]]}, got {list(held.shape)}")
    return shape


def empty_coo(shape: tuple[int, ...], dtype: Any = None, device: Any = None,
              sparse_dim: int | None = None) -> Any:
    """A tensor in coordinate format without elements."""
    if any(int(n) < 0 for n in shape):
        raise RuntimeError(f"a sparse tensor of negative size {list(shape)} cannot be made")
    dims = len(shape) if sparse_dim is None else sparse_dim
    at = _op["zeros"]((dims, 0), dtype=_INT64, device=device)
    values = _op["zeros"]((0, *shape[dims:]), dtype=dtype, device=device)
    return new_coo(at, values, tuple(int(n) for n in shape), True)


def sparse_compressed_tensor(compressed_indices: Any, plain_indices: Any, values: Any,
                             size: Sequence[int] | None = None, *, dtype: Any = None,
                             layout: Any = None, device: Any = None, pin_memory: bool = False,
                             requires_grad: bool = False,
                             check_invariants: bool | None = None) -> Any:
    """A sparse matrix in a compressed format.

    Args:
        compressed_indices: int64 or int32: where each row or column starts among the values, and
            at last how many there are.
        plain_indices: The column or row of each value.
        values: Tensor or numbers of shape ``(nnz, ...)``; of blocks ``(nnz, rows, columns, ...)``.
        size: Shape of the tensor; by default the smallest that has the indices.
        dtype: Of the values.
        layout: ``flambeau.sparse_csr``, ``sparse_csc``, ``sparse_bsr`` or ``sparse_bsc``.
        device: Of the parts.
        pin_memory: Accepted; memory is not pinned.
        requires_grad: Whether gradients are computed for the tensor.
        check_invariants: Whether the columns of a row must be sorted and occur once each. All
            else is always checked.

    Returns:
        A tensor of the layout.

    Raises:
        RuntimeError: Starts do not rise to the number of values, or an index is out of range.

    Example:
        >>> import flambeau
        >>> flambeau.sparse_compressed_tensor([0, 1, 2], [1, 0], [3.0, 4.0],
        ...                                   layout=flambeau.sparse_csr).to_dense()
        tensor([[0., 3.],
                [4., 0.]])
    """
    if layout not in LAYOUTS:
        raise RuntimeError("sparse_compressed_tensor(): layout must be flambeau.sparse_csr, "
                           f"sparse_csc, sparse_bsr or sparse_bsc, got {layout!r}")
    what = f"{str.__str__(layout)}_tensor"
    held = _as_dense(what, "values", values, dtype, device)
    starts = _as_indices(what, "compressed_indices", compressed_indices, held.device, True)
    along = _as_indices(what, "plain_indices", plain_indices, held.device, True)
    shape = _compressed_shape(what, layout, starts, along, held, size)
    if check_invariants or (check_invariants is None and _invariants.is_enabled()):
        _check_sorted(what, starts, along)
    result = compressed(layout, starts.contiguous(), along.contiguous(), held, shape)
    return _finish(result, requires_grad, pin_memory)


def _check_parts(what: str, starts: Any, along: Any, held: Any, blocked: bool) -> None:
    """Whether sizes and dtypes of the parts fit each other."""
    batch = starts.ndim - 1
    if batch < 0 or along.ndim != starts.ndim or starts.shape[-1] < 1:
        raise RuntimeError(f"{what}(): compressed and plain indices must have as many dimensions, "
                           "1 or those of a batch before it, and the first an element at least, "
                           f"got shapes {list(starts.shape)} and {list(along.shape)}")
    if starts.dtype is not along.dtype:
        raise RuntimeError(f"{what}(): compressed and plain indices must have the same dtype, got "
                           f"{starts.dtype} and {along.dtype}")
    if held.ndim < batch + (3 if blocked else 1) or \
            tuple(held.shape[:batch + 1]) != tuple(along.shape):
        raise RuntimeError(f"{what}(): values must be {'blocks' if blocked else 'elements'}, one "
                           f"for each of the plain indices {list(along.shape)}, got shape "
                           f"{list(held.shape)}")
    if starts.shape[:-1] != along.shape[:-1]:
        raise RuntimeError(f"{what}(): batches of compressed and plain indices differ: "
                           f"{list(starts.shape[:-1])} and {list(along.shape[:-1])}")


def _compressed_shape(what: str, layout: Any, starts: Any, along: Any, held: Any,
                      size: Sequence[int] | None) -> tuple[int, ...]:
    blocked = layout in BLOCKED
    _check_parts(what, starts, along, held, blocked)
    batch = tuple(starts.shape[:-1])
    first, count = len(batch) + 1, along.shape[-1]
    rises = (starts[..., 0] == 0).all() & (starts[..., -1] == count).all() \
        & (starts[..., 1:] >= starts[..., :-1]).all()
    if not bool(rises):
        raise RuntimeError(f"{what}(): compressed indices must rise from 0 to the number of "
                           f"values, {count}, and never fall, got {_shown(starts)}")
    block = tuple(held.shape[first:first + 2]) if blocked else (1, 1)
    major = 0 if layout in BY_ROWS else 1
    least, most = (int(along.min()), int(along.max())) if along.numel() else (0, -1)
    grid = [0, 0]
    grid[major], grid[1 - major] = starts.shape[-1] - 1, most + 1
    tail = tuple(held.shape[first + (2 if blocked else 0):])
    shape = (*batch, grid[0] * block[0], grid[1] * block[1], *tail) if size is None else \
        tuple([int(n) for n in size])
    if len(shape) != len(batch) + 2 + len(tail) or shape[:len(batch)] != batch \
            or shape[len(batch) + 2:] != tail or any(n < 0 for n in shape):
        raise RuntimeError(f"{what}(): size {list(shape)} does not fit a matrix of values of "
                           f"shape {list(held.shape)} and batches of {list(batch)}")
    matrix = shape[len(batch):len(batch) + 2]
    if matrix[major] != grid[major] * block[major] or matrix[1 - major] % max(block[1 - major], 1):
        raise RuntimeError(f"{what}(): size {list(shape)} does not fit {starts.shape[-1]} "
                           f"compressed indices and blocks of {block}: there is one more than "
                           "rows or columns")
    if least < 0 or most >= 0 and most * block[1 - major] >= matrix[1 - major]:
        raise RuntimeError(f"{what}(): plain indices must be in [0, "
                           f"{matrix[1 - major] // max(block[1 - major], 1)}), found "
                           f"{least if least < 0 else most}")
    return shape


def _shown(starts: Any) -> str:
    return str(starts.tolist()) if starts.numel() < 9 else f"{starts.reshape(-1)[:8].tolist()}..."


def _check_sorted(what: str, starts: Any, along: Any) -> None:
    """Whether plain indices rise within each row: with where rows start, they then all differ."""
    nnz = along.shape[-1]
    if nnz < 2:
        return
    first = _op["zeros"]((*along.shape[:-1], nnz + 1), dtype=_core._dtype_named("bool"),
                         device=along.device).scatter(-1, starts.to(_INT64), True)
    if not bool(((along[..., 1:] > along[..., :-1]) | first[..., 1:-1]).all()):
        raise RuntimeError(f"{what}(): plain indices must be sorted and distinct within each row "
                           "or column: sort them, or go over sparse_coo_tensor(...).coalesce()")


def _maker(kind: Layout, first: str, second: str, example: str) -> Any:
    def make(compressed_indices: Any, plain_indices: Any, values: Any,
             size: Sequence[int] | None = None, *, dtype: Any = None, device: Any = None,
             pin_memory: bool = False, requires_grad: bool = False,
             check_invariants: bool | None = None, layout: Any = None) -> Any:
        return sparse_compressed_tensor(
            compressed_indices, plain_indices, values, size, dtype=dtype, layout=kind,
            device=device, pin_memory=pin_memory, requires_grad=requires_grad,
            check_invariants=check_invariants)

    def named(*args: Any, **options: Any) -> Any:
        for name, other in ((first, "compressed_indices"), (second, "plain_indices")):
            if name in options:
                options[other] = options.pop(name)
        return make(*args, **options)

    name = str.__str__(kind) + "_tensor"
    named.__name__ = named.__qualname__ = name
    named.__module__ = "flambeau"
    named.__doc__ = f"""A sparse matrix of layout ``flambeau.{str.__str__(kind)}``.

    Args:
        {first}: Where each starts among the values, and at last how many there are.
        {second}: The other index of each value.
        values: Tensor or numbers of shape ``(nnz, ...)``.
        size: Shape of the tensor; by default the smallest that has the indices.
        dtype, device, pin_memory, requires_grad, check_invariants: As of
            ``sparse_compressed_tensor``.

    Returns:
        A tensor of the layout.

    Example:
        >>> import flambeau
        >>> {example}
    """
    return named


sparse_csr_tensor = _maker(
    sparse_csr, "crow_indices", "col_indices",
    "flambeau.sparse_csr_tensor([0, 1, 2], [1, 0], [3.0, 4.0]).to_dense()[0]\n"
    "        tensor([0., 3.])")
sparse_csc_tensor = _maker(
    sparse_csc, "ccol_indices", "row_indices",
    "flambeau.sparse_csc_tensor([0, 1, 2], [1, 0], [3.0, 4.0]).to_dense()[0]\n"
    "        tensor([0., 4.])")
sparse_bsr_tensor = _maker(
    sparse_bsr, "crow_indices", "col_indices",
    "flambeau.sparse_bsr_tensor([0, 1], [1], [[[3.0, 4.0]]]).to_dense()\n"
    "        tensor([[0., 0., 3., 4.]])")
sparse_bsc_tensor = _maker(
    sparse_bsc, "ccol_indices", "row_indices",
    "flambeau.sparse_bsc_tensor([0, 1], [1], [[[3.0, 4.0]]]).to_dense()\n"
    "        tensor([[0., 0.],\n                [3., 4.]])")


def empty_of_layout(shape: Sequence[int], kind: Any, dtype: Any = None, device: Any = None) -> Any:
    """What ``zeros`` and ``empty`` give for a sparse layout: no element is stored."""
    shape = tuple(int(n) for n in shape)
    if kind is sparse_coo:
        return empty_coo(shape, dtype, device)
    if kind not in (sparse_csr, sparse_csc) or len(shape) < 2:
        raise RuntimeError(f"a tensor of layout {kind} and shape {list(shape)} without elements "
                           "cannot be made: it has two dimensions, or a batch before them, and "
                           "blocks have sizes; write zeros_like(x) or sparse_compressed_tensor")
    count = shape[-2 if kind is sparse_csr else -1] + 1
    starts = _op["zeros"]((*shape[:-2], count), dtype=_INT64, device=device)
    along = _op["zeros"]((*shape[:-2], 0), dtype=_INT64, device=device)
    values = _op["zeros"]((*shape[:-2], 0), dtype=dtype, device=device)
    return compressed(kind, starts, along, values, shape)
