"""Writing through an index or a mask to tensors whose elements share memory, as expanded ones do.

Such a tensor is written element after element, so that of elements that are one in memory the last
value stays, and accumulated values add up. Called by ``native/dispatch/overlap.cpp``.
"""
from flambeau.core import _core

_op = _core.operators()


def _memory(x):
    """The memory from the first element to the last, and where in it each element lies."""
    span = 1 + sum((n - 1) * step for n, step in zip(x.shape, x.stride(), strict=True))
    numbers = _op["arange_of"](0, span, 1, dtype=_core._dtype_named("int64"), device=x.device)
    return (_op["as_strided"](x, (span,), (1,), x.storage_offset()),
            _op["as_strided"](numbers, x.shape, x.stride(), 0))


def index_put(x, indices, values, accumulate):
    memory, numbers = _memory(x)
    chosen = _op["index"](numbers, indices)
    values = _op["expand"](values, chosen.shape)
    _op["index_put_"](memory, [chosen], values, accumulate)


def index_fill(x, dim, index, value):
    mask = _op["full_of"](x.shape, False, dtype=_core._dtype_named("bool"), device=x.device)
    masked_fill(_op["index_fill_"](mask, dim, index, True), value, x)


def masked_fill(mask, value, x):
    """In the order of ``where``."""
    memory, numbers = _memory(x)
    _op["index_fill_"](memory, 0, _op["masked_select"](numbers, mask), value)
