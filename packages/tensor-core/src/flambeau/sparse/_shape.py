"""Dimensions of sparse tensors in another order, added, joined and taken apart."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.core import _core, functions
from flambeau.core.dims import wrapped_dim
from flambeau.sparse._calls import handles
from flambeau.sparse._compressed import CompressedTensor, batch_dim, new_compressed
from flambeau.sparse._conversions import to_coo
from flambeau.sparse._coo import CooTensor, coo
from flambeau.sparse._history import is_sampled, whole
from flambeau.sparse._tensor import filled, values_of

_op = {**functions, **_core.operators()}


@handles("transpose", "swapaxes", "swapdims")
def transpose(self: Any, dim0: int, dim1: int) -> Any:
    """Two dimensions swapped."""
    order = list(range(self.ndim))
    dim0, dim1 = (wrapped_dim("transpose", d, self.ndim) for d in (dim0, dim1))
    if order:
        order[dim0], order[dim1] = order[dim1], order[dim0]
    return permute(self, order)


@handles("t", "T", "adjoint", "mT", "numpy_T")
def t(self: Any) -> Any:
    """Rows as columns."""
    if self.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D: "
                           "write x.transpose(dim0, dim1)")
    return transpose(self, 0, 1) if self.ndim == 2 else self


@handles("permute", "movedim_to")
def permute(self: Any, dims: Sequence[int], *more: int) -> Any:
    """Dimensions in another order; indexed ones stay before dense ones."""
    dims = (dims, *more) if isinstance(dims, int) else tuple(dims)
    order = [wrapped_dim("permute", d, self.ndim) for d in dims]
    if sorted(order) != list(range(self.ndim)):
        raise RuntimeError(f"permute(): {list(dims)} does not name each of {self.ndim} dimensions "
                           "once")
    if not is_sampled(self):
        back = [order.index(d) for d in range(self.ndim)]
        return whole("Permute", permute(self.detach(), order), self, lambda g: g.permute(back))
    if order == list(range(self.ndim)):
        return filled(self.detach(), values_of(self))
    if isinstance(self, CompressedTensor):
        return _flipped(self, order)
    count = self.sparse_dim()
    if any(d >= count for d in order[:count]):
        raise RuntimeError("permute(): transpositions between sparse and dense dimensions are not "
                           f"allowed, sparse_dim is {count}: write x.to_dense()")
    values = values_of(self)
    tail = [d - count for d in order[count:]]
    if tail != list(range(len(tail))):
        values = values.permute(0, *[d + 1 for d in tail])
    at = self._at if count == 0 else _op["stack"]([self._at[d] for d in order[:count]])
    shape = tuple(self.shape[d] for d in order)
    return coo(at, values, shape, self._ordered and order[:count] == list(range(count)))


_FLIPPED = {"sparse_csr": "sparse_csc", "sparse_csc": "sparse_csr", "sparse_bsr": "sparse_bsc",
            "sparse_bsc": "sparse_bsr"}


def _flipped(self: Any, order: list[int]) -> Any:
    """Compressed matrices with dimensions in another order: rows and columns swapped are the same
    parts in the other layout."""
    from flambeau.core import layouts

    batch = batch_dim(self)
    ahead, matrix, tail = order[:batch], order[batch:batch + 2], order[batch + 2:]
    if sorted(ahead) != list(range(batch)) or sorted(matrix) != [batch, batch + 1]:
        raise RuntimeError("permute(): of compressed tensors rows and columns can be swapped, and "
                           "batch or dense dimensions among themselves, which is not the order "
                           f"{order}; write x.to_sparse_coo() first")
    values, kind = values_of(self), self._kind
    own = values.ndim - self.dense_dim()
    block = list(range(batch + 1, own))
    if matrix[0] != batch:
        kind = getattr(layouts, _FLIPPED[str.__str__(kind)])
        block.reverse()
    values = values.permute(*ahead, batch, *block, *[d - batch - 2 + own for d in tail])
    starts, along = (part.permute(*ahead, batch).contiguous()
                     for part in (self._starts, self._along))
    shape = tuple(self.shape[d] for d in order)
    return filled(new_compressed(kind, starts, along, values.detach(), shape), values)


@handles("movedim", "moveaxis")
def movedim(self: Any, source: Any, destination: Any) -> Any:
    """Dimensions moved to other positions."""
    sources = (source,) if isinstance(source, int) else tuple(source)
    targets = (destination,) if isinstance(destination, int) else tuple(destination)
    moved = {wrapped_dim("movedim", d, self.ndim): wrapped_dim("movedim", s, self.ndim)
             for s, d in zip(sources, targets, strict=True)}
    rest = iter([d for d in range(self.ndim) if d not in moved.values()])
    return permute(self, [moved[d] if d in moved else next(rest) for d in range(self.ndim)])


@handles("unsqueeze")
def unsqueeze(self: Any, dim: int) -> Any:
    """A dimension of size 1 more; before the dense ones it is an indexed one."""
    self = _coordinates("unsqueeze", self)
    dim = wrapped_dim("unsqueeze", dim, self.ndim + 1)
    shape = (*self.shape[:dim], 1, *self.shape[dim:])
    count = self.sparse_dim()
    if dim > count:
        return coo(self._at, values_of(self).unsqueeze(dim - count + 1), shape, self._ordered)
    zeros = _op["zeros"]((1, self._nnz()), dtype=self._at.dtype, device=self._at.device)
    at = _op["cat"]([self._at[:dim], zeros, self._at[dim:]], 0)
    return coo(at, values_of(self), shape, self._ordered)


@handles("squeeze")
def squeeze(self: Any, dim: Any = None) -> Any:
    """Without dimensions of size 1: all, or those that are named."""
    self = _coordinates("squeeze", self)
    named = range(self.ndim) if dim is None else [
        wrapped_dim("squeeze", d, self.ndim) for d in ((dim,) if isinstance(dim, int) else dim)]
    gone = {d for d in named if self.shape[d] == 1}
    count = self.sparse_dim()
    kept = [d for d in range(count) if d not in gone]
    values = values_of(self)
    for d in sorted((d for d in gone if d >= count), reverse=True):
        values = values.squeeze(d - count + 1)
    at = self._at if len(kept) == count else _rows(self._at, kept)
    return coo(at, values, tuple(self.shape[d] for d in range(self.ndim) if d not in gone),
               self._ordered)


def _rows(at: Any, kept: list[int]) -> Any:
    if kept:
        return _op["stack"]([at[d] for d in kept])
    return _op["zeros"]((0, at.shape[1]), dtype=at.dtype, device=at.device)


def _coordinates(what: str, x: Any) -> Any:
    if not isinstance(x, CooTensor):
        raise RuntimeError(f"{what}() is not implemented for layout {x.layout}; write "
                           "x.to_sparse_coo() first")
    return x


@handles("cat")
def cat(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Tensors joined along a dimension."""
    tensors = list(tensors)
    for x in tensors:
        if not _core.is_sparse_object(x):
            raise RuntimeError("cat(): concatenating sparse tensors, but a dense one was found: "
                               "write x.to_sparse(), or to_dense() of the others")
    parts = [to_coo(x) for x in tensors]
    first = parts[0]
    dim = wrapped_dim("cat", dim, first.ndim)
    count = first.sparse_dim()
    for x in parts:
        same = x.sparse_dim() == count and x.ndim == first.ndim and all(
            a == b for d, (a, b) in enumerate(zip(x.shape, first.shape, strict=True)) if d != dim)
        if not same:
            raise RuntimeError("cat(): sizes of tensors must match except in dimension "
                               f"{dim}, and sparse dimensions too, got {list(first.shape)} and "
                               f"{list(x.shape)}")
    shape = list(first.shape)
    shape[dim] = sum(x.shape[dim] for x in parts)
    ats, values, offset = [], [], 0
    for x in parts:
        at, part = x._at, values_of(x)
        if dim < count:
            shift = _op["zeros"]((count, 1), dtype=at.dtype, device=at.device)
            shift[dim] = offset
            at = at + shift
        else:
            part = _padded(part, dim - count + 1, offset, shape[dim])
        offset += x.shape[dim]
        ats.append(at)
        values.append(part)
    return coo(_op["cat"](ats, 1), _op["cat"](values, 0), tuple(shape), False)


def _padded(values: Any, dim: int, before: int, size: int) -> Any:
    """Values with zeros around them along a dimension."""
    def zeros(width: int) -> Any:
        shape = (*values.shape[:dim], width, *values.shape[dim + 1:])
        return _op["zeros"](shape, dtype=values.dtype, device=values.device)

    return _op["cat"]([zeros(before), values, zeros(size - before - values.shape[dim])], dim)


@handles("stack")
def stack(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Tensors of one shape along a new dimension."""
    tensors = list(tensors)
    if any(tuple(x.shape) != tuple(tensors[0].shape) for x in tensors):
        raise RuntimeError("stack(): expects each tensor to be equal size")
    return cat([unsqueeze(to_coo(x), dim) for x in tensors], dim)


@handles("hstack")
def hstack(tensors: Sequence[Any]) -> Any:
    """Side by side."""
    return cat(tensors, 0 if tensors[0].ndim == 1 else 1)


@handles("vstack")
def vstack(tensors: Sequence[Any]) -> Any:
    """One above the other."""
    return cat([unsqueeze(x, 0) if x.ndim == 1 else x for x in tensors], 0)


def expanded(x: Any, shape: tuple[int, ...]) -> Any:
    """A tensor in coordinate format, repeated along new dimensions and those of size 1.

    Args:
        x: The tensor.
        shape: The result's; it must be one that ``x`` can be broadcast to.
    """
    while x.ndim < len(shape):
        x = unsqueeze(x, 0)
    for dim in [d for d in range(x.sparse_dim()) if x.shape[d] != shape[d]]:
        x = cat([x] * shape[dim], dim) if shape[dim] else \
            coo(x._at[:, :0], values_of(x)[:0], (*x.shape[:dim], 0, *x.shape[dim + 1:]), True)
    values = values_of(x)
    tail = shape[x.sparse_dim():]
    if tuple(values.shape[1:]) != tail:
        values = values.expand(values.shape[0], *tail)
    return coo(x._at, values, shape, x._ordered)
