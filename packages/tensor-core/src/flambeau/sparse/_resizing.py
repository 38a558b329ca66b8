"""Other shapes for sparse tensors, in place."""
from __future__ import annotations

from typing import Any

from flambeau.core import _core, functions
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
