"""Parts of sparse tensors: by an index, or by several."""
from __future__ import annotations

from typing import Any

from flambeau.core import _core, functions
from flambeau.core.dims import wrapped_dim
from flambeau.sparse._calls import handles
from flambeau.sparse._compressed import CompressedTensor, batch_dim, new_compressed
from flambeau.sparse._conversions import to_coo
from flambeau.sparse._coo import coo
from flambeau.sparse._shape import unsqueeze
from flambeau.sparse._tensor import filled, values_of

_op = {**functions, **_core.operators()}
_INT64 = _core._dtype_named("int64")


def _select_matrix(self: Any, dim: int, index: int) -> Any:
    """The matrices at one index of a batch."""
    parts = [part.select(dim, index) for part in (*self._parts(), values_of(self))]
    shape = tuple(s for d, s in enumerate(self.shape) if d != dim)
    made = new_compressed(self._kind, parts[0].contiguous(), parts[1].contiguous(),
                          parts[2].detach(), shape)
    return filled(made, parts[2])


@handles("select", "select_copy")
def select(self: Any, dim: int, index: int) -> Any:
    """The part at one index of a dimension; dense when no indexed dimension is left."""
    dim = wrapped_dim("select", dim, self.ndim)
    batch = batch_dim(self) if isinstance(self, CompressedTensor) else 0
    if batch <= dim < batch + 2 and batch:
        raise RuntimeError("select(): selecting sparse dimensions is not supported for batched "
                           "sparse compressed tensors; write x[i].select(...), or x.to_dense()")
    size = self.shape[dim]
    if not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for tensor of size "
                         f"{list(self.shape)} at dimension {dim}")
    index = index % size
    if dim < batch:
        return _select_matrix(self, dim, index)
    is_compressed = isinstance(self, CompressedTensor)     # one row or column of it is in order
    self = to_coo(self)
    count = self.sparse_dim()
    shape = tuple(s for d, s in enumerate(self.shape) if d != dim)
    if dim >= count:
        return coo(self._at, values_of(self).select(dim - count + 1, index), shape, self._ordered)
    there = self._at[dim] == index
    values = values_of(self)[there]
    if count == 1:
        return values.sum(0, dtype=self.dtype) if self.dtype.name != "bool" else values.any(0)
    kept = [row[there] for d, row in enumerate(self._at.unbind(0)) if d != dim]
    return coo(_op["stack"](kept), values, shape, self._ordered or is_compressed)


@handles("unbind")
def unbind(self: Any, dim: int = 0) -> tuple[Any, ...]:
    """All parts along a dimension."""
    dim = wrapped_dim("unbind", dim, self.ndim)
    return tuple([select(self, dim, i) for i in range(self.shape[dim])])


@handles("index_select")
def index_select(self: Any, dim: int, index: Any) -> Any:
    """The parts at several indices of a dimension."""
    self = to_coo(self)
    dim = wrapped_dim("index_select", dim, self.ndim)
    if index.ndim > 1 or index.is_floating_point() or index.dtype.name == "bool":
        raise RuntimeError("index_select(): index must be a vector of integers, got shape "
                           f"{list(index.shape)} and {index.dtype}")
    index = index.reshape(-1).to(_INT64)
    size, count = self.shape[dim], self.sparse_dim()
    if index.numel() and not bool(((index >= -size) & (index < size)).all()):
        raise IndexError(f"index_select(): index contains values out of range [{-size}, {size}) "
                         f"for dimension {dim}")
    index = _op["where"](index < 0, index + size, index)
    shape = tuple(index.numel() if d == dim else s for d, s in enumerate(self.shape))
    if dim >= count:
        return coo(self._at, _op["index_select"](values_of(self), dim - count + 1, index), shape,
                   self._ordered)
    sorted_row, order = _op["sort"](self._at[dim].contiguous(), stable=True)
    first = _op["searchsorted"](sorted_row, index)
    counts = _op["searchsorted"](sorted_row, index, right=True) - first
    new = _op["repeat_interleave"](_op["arange"](0, index.numel(), 1, dtype=_INT64,
                                                 device=index.device), counts)
    before = counts.cumsum(0) - counts
    step = _op["arange"](0, new.numel(), 1, dtype=_INT64, device=index.device) - before[new]
    entry = order[first[new] + step]
    rows = [new if d == dim else row[entry] for d, row in enumerate(self._at.unbind(0))]
    return coo(_op["stack"](rows), _op["index_select"](values_of(self), 0, entry), shape, False)


@handles("narrow_copy")
def narrow_copy(self: Any, dim: int, start: int, length: int) -> Any:
    """A stretch of a dimension, as a new tensor."""
    self = to_coo(self)
    dim = wrapped_dim("narrow_copy", dim, self.ndim)
    size, count = self.shape[dim], self.sparse_dim()
    start = start + size if start < 0 else start
    if length < 0 or not 0 <= start <= size - length:
        raise RuntimeError(f"narrow_copy(): start ({start}) + length ({length}) exceeds dimension "
                           f"size ({size})")
    shape = tuple(length if d == dim else s for d, s in enumerate(self.shape))
    if dim >= count:
        return coo(self._at, values_of(self).narrow(dim - count + 1, start, length), shape,
                   self._ordered)
    row = self._at[dim]
    there = (row >= start) & (row < start + length)
    at = self._at[:, there].clone()
    at[dim] -= start
    return coo(at, values_of(self)[there], shape, self._ordered)


def get_item(self: Any, index: Any) -> Any:
    """``x[index]`` with integers, None, an ellipsis, full slices, and one tensor of integers."""
    items = list(index) if isinstance(index, tuple) else [index]
    named = sum(item is not None and item is not ... for item in items)
    if named > self.ndim:
        raise IndexError(f"too many indices for tensor of dimension {self.ndim}")
    if ... in [item for item in items if item is ...]:
        at = next(i for i, item in enumerate(items) if item is ...)
        items[at:at + 1] = [slice(None)] * (self.ndim - named)
    dim = 0
    for item in items:
        if item is None:
            self = unsqueeze(to_coo(self), dim)
            dim += 1
        elif isinstance(item, slice):
            self = _sliced(self, dim, item)
            dim += 1
        elif isinstance(item, (list, _core.Tensor)) and not _is_integer(item):
            self = _picked(self, dim, item)
            dim += 1
        elif isinstance(item, bool) or not hasattr(item, "__index__"):
            raise IndexError("a sparse tensor takes integers, None, ..., slices and vectors of "
                             f"integers as an index, not {type(item).__name__}")
        else:
            self = self.select(dim, int(item))
    return self


def _is_integer(item: Any) -> bool:
    return isinstance(item, _core.Tensor) and item.ndim == 0 and item.dtype.name != "bool"


def _sliced(self: Any, dim: int, item: slice) -> Any:
    if item == slice(None):
        return self
    if not _core.is_sparse_object(self):
        return self[(slice(None),) * dim + (item,)]
    start, stop, step = item.indices(self.shape[dim])
    if step == 1:
        return narrow_copy(self, dim, start, max(stop - start, 0))
    if step < 1:
        raise ValueError("step must be greater than zero")
    return index_select(self, dim, _op["arange"](start, stop, step, dtype=_INT64))


def _picked(self: Any, dim: int, item: Any) -> Any:
    index = _core.as_tensor(item)
    if index.dtype.name == "bool":
        index = index.nonzero().squeeze(1)
    if not _core.is_sparse_object(self):
        return self.index_select(dim, index)
    return index_select(self, dim, index)
