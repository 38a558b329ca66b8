"""Sums along the rows or columns of a CSR matrix: no index has to be sorted for them."""
from __future__ import annotations

from typing import Any

from flambeau.core import _core, functions
from flambeau.core.layouts import sparse_csr
from flambeau.sparse._compressed import CompressedTensor, new_compressed

_op = {**functions, **_core.operators()}
_INT64 = _core._dtype_named("int64")


def is_plain_csr(x: Any) -> bool:
    """Whether a tensor is one CSR matrix of numbers, without history.

    Args:
        x: A tensor.
    """
    return isinstance(x, CompressedTensor) and x._kind is sparse_csr and x.ndim == 2 \
        and not (x.requires_grad and _core.is_grad_enabled()) and x.dtype.name != "bool"


def sum_of_csr(x: Any, gone: list[int], dtype: Any) -> Any:
    """Sums that keep the dimensions, as a CSR matrix with an element where something was added.

    Args:
        x: A matrix for which `is_plain_csr` holds.
        gone: The dimensions to sum over.
        dtype: Of the result.
    """
    starts, columns = x._starts.to(_INT64), x._along.to(_INT64)
    values = x._held.to(dtype)
    counts = starts[1:] - starts[:-1]
    if gone == [1]:
        there = counts > 0
        sums = _rows(starts, columns, values, x.shape[1])
        kept = _op["cat"]([_op["zeros"]((1,), dtype=_INT64), there.to(_INT64).cumsum(0)])
        along = _op["zeros"]((int(kept[-1]),), dtype=_INT64)
        return _matrix(x, kept, along, sums[there], (x.shape[0], 1))
    zeros = _op["zeros"]((x.shape[1],), dtype=dtype)
    sums = zeros.index_add(0, columns, values)
    if gone == [0]:
        there = _op["zeros_like"](zeros, dtype=_core._dtype_named("bool"))
        there[columns] = True
        along = there.nonzero().reshape(-1)
        return _matrix(x, _core.as_tensor([0, along.numel()]), along, sums[there],
                       (1, x.shape[1]))
    some = min(columns.numel(), 1)
    return _matrix(x, _core.as_tensor([0, some]), _op["zeros"]((some,), dtype=_INT64),
                   values.sum(dtype=dtype).reshape(1)[:some], (1, 1))


def _rows(starts: Any, columns: Any, values: Any, width: int) -> Any:
    """The sum of each row's values."""
    rows = starts.numel() - 1
    if values.dtype.name in ("float32", "float64"):
        ones = _op["ones"]((width, 1), dtype=values.dtype)
        return _core.call("csr_product", [starts, columns, values, ones]).reshape(rows)
    number = _op["repeat_interleave"](_op["arange"](0, rows, 1, dtype=_INT64),
                                      starts[1:] - starts[:-1])
    return _op["zeros"]((rows,), dtype=values.dtype).index_add(0, number, values)


def _matrix(x: Any, starts: Any, along: Any, values: Any, shape: tuple[int, int]) -> Any:
    kind = x._along.dtype
    return new_compressed(sparse_csr, starts.to(kind), along.to(kind), values, shape)
