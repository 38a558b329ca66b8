"""Coordinate format: one column of indices for each stored element, or row of elements."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau.core import _core, functions
from flambeau.core.layouts import sparse_coo
from flambeau.sparse._history import is_sampled, tie, whole
from flambeau.sparse._tensor import SparseTensor, blank, values_of

_op = {**functions, **_core.operators()}


class Orders:
    """What products found out of indices: kept by all tensors that have these very indices."""

    __slots__ = ("known", "version")

    def __init__(self) -> None:
        self.known: dict[Any, Any] = {}
        self.version = 0

    def find(self, key: Any, at: Any, compute: Callable[[], Any]) -> Any:
        """What was found out of indices under a key, unless they were written to since.

        Args:
            key: Which fact.
            at: The indices.
            compute: What finds it out.
        """
        if self.version != at._version:
            self.known.clear()
            self.version = at._version
        if key not in self.known:
            self.known[key] = compute()
        return self.known[key]


class CooTensor(SparseTensor):
    """A tensor of layout ``flambeau.sparse_coo``."""

    __slots__ = ("_at", "_order", "_ordered")
    layout = sparse_coo
    is_sparse = True

    def _like(self, values: Any) -> Any:
        shape = sparse_shape(self) + tuple(values.shape[1:])
        return new_coo(self._at, values, shape, self._ordered, self._order)

    def _parts(self) -> tuple[Any, ...]:
        return (self._at,)

    def _once(self, gradient: Any) -> Any:
        first = first_of(self)
        if first is None:
            return gradient
        own = _op["arange"](0, first.numel(), 1, dtype=first.dtype, device=first.device)
        kept = (first == own).reshape(-1, *[1] * (gradient.ndim - 1))
        return _op["where"](kept, gradient,
                            _op["zeros"]((), dtype=gradient.dtype, device=gradient.device))

    def _each(self, values: Any) -> Any:
        first = first_of(self)
        if first is None:
            return values
        return _op["index_select"](add_at(first.numel(), first, values), 0, first)

    def _become(self, other: Any) -> Any:
        super()._become(other)
        self._at, self._ordered, self._order = other._at, other._ordered, other._order
        return self

    def sparse_dim(self) -> int:
        """How many dimensions are given by indices."""
        return int(self._at.shape[0])

    def dense_dim(self) -> int:
        """How many dimensions each stored value has."""
        return self._held.ndim - 1

    _dimI, _dimV = sparse_dim, dense_dim

    def is_coalesced(self) -> bool:
        """Whether indices are known to be sorted, each of them once."""
        return self._ordered

    def _coalesced_(self, coalesced: bool) -> Any:
        """Say that indices are sorted and unique, or may not be."""
        self._ordered = coalesced
        return self

    def _indices(self) -> Any:
        """The indices, a column for each stored value."""
        return self._at

    def _values(self) -> Any:
        """The values, without history."""
        return self._held.detach()

    def indices(self) -> Any:
        """The indices of a coalesced tensor."""
        self._expect_coalesced("indices")
        return self._at

    def values(self) -> Any:
        """The values of a coalesced tensor, with its history."""
        self._expect_coalesced("values")
        return values_of(self)

    def sparse_resize_(self, size: Any, sparse_dim: int, dense_dim: int) -> Any:
        """Let the tensor have another shape; elements stay at their indices.

        Args:
            size: The new shape.
            sparse_dim: How many of its dimensions are indexed.
            dense_dim: How many follow.
        """
        from flambeau.sparse._resizing import resized

        return self._become(resized(self, tuple(size), sparse_dim, dense_dim))

    def sparse_resize_and_clear_(self, size: Any, sparse_dim: int, dense_dim: int) -> Any:
        """The same, and drop all elements.

        Args:
            size: The new shape.
            sparse_dim: How many of its dimensions are indexed.
            dense_dim: How many follow.
        """
        from flambeau.sparse._resizing import cleared

        return self._become(cleared(self, tuple(size), sparse_dim, dense_dim))

    def _expect_coalesced(self, what: str) -> None:
        if not self._ordered:
            raise RuntimeError(f"Cannot get {what} on an uncoalesced tensor, please call "
                               ".coalesce() first: an index may occur several times")

    def coalesce(self) -> Any:
        """The same tensor with sorted indices, each of them once: values are added.

        Example:
            >>> import flambeau
            >>> x = flambeau.sparse_coo_tensor([[1, 0, 1]], [3.0, 4.0, 5.0], (3,))
            >>> x.coalesce()
            tensor(indices=tensor([[0, 1]]),
                   values=tensor([4., 8.]),
                   size=(3,), nnz=2, layout=flambeau.sparse_coo)
        """
        if self._ordered:
            return self
        if not is_sampled(self):
            return whole("Coalesce", coalesced(self.detach()), self, lambda g: g)
        return coalesced(self)


def first_of(x: Any) -> Any:
    """For each entry the first that has its index; None where all differ."""
    if x._ordered or x._nnz() < 2:
        return None
    return x._order.find("first", x._at, lambda: _first_of(keys(x._at, sparse_shape(x))))


def _first_of(numbers: Any) -> Any:
    ordered, order = _op["sort"](numbers, stable=True)
    starts = _op["cat"]([_op["ones"]((1,), dtype=_core._dtype_named("bool"),
                                     device=numbers.device), ordered[1:] != ordered[:-1]])
    if bool(starts.all()):
        return None
    first = order[starts][starts.cumsum(0) - 1]
    return _op["empty_like"](order).index_copy(0, order, first)


def new_coo(at: Any, values: Any, shape: tuple[int, ...], ordered: bool,
            order: Any = None) -> Any:
    """A tensor of these parts, which are not checked and have no history."""
    result = _core.make_sparse(CooTensor, blank(shape, values))
    result._at, result._held, result._ordered = at, values, ordered
    result._order = Orders() if order is None else order
    return result


def coo(at: Any, values: Any, shape: tuple[int, ...], ordered: bool) -> Any:
    """A tensor of these parts with the history of the values."""
    from flambeau.sparse._masks import sample

    result = new_coo(at, values.detach(), shape, ordered)
    pattern = result.detach()
    return tie("SparseCooTensor", result, (values,), lambda g, needs: (sample(g, pattern),))


def sparse_shape(x: Any) -> tuple[int, ...]:
    """Sizes of the dimensions that are given by indices."""
    return tuple(x.shape[:x._at.shape[0]])


def product_of(sizes: Sequence[int]) -> int:
    """How many indices there are in dimensions of these sizes."""
    count = 1
    for size in sizes:
        count *= size
    return count


def keys(at: Any, sizes: tuple[int, ...]) -> Any:
    """One number for each column of indices, in their order.

    Args:
        at: int64 ``(sparse_dim, nnz)``.
        sizes: Of the dimensions.
    """
    if at.shape[0] == 0:
        return _op["zeros"]((at.shape[1],), dtype=at.dtype, device=at.device)
    result = at[0]
    for row, size in zip(at.unbind(0)[1:], sizes[1:], strict=True):
        result = result * size + row
    return result


def unkeyed(numbers: Any, sizes: tuple[int, ...]) -> Any:
    """The indices that numbers of `keys` stand for."""
    rows = []
    for size in reversed(sizes):
        rows.append(numbers % max(size, 1))
        numbers = numbers // max(size, 1)
    rows.reverse()
    if not rows:
        return _op["zeros"]((0, numbers.numel()), dtype=numbers.dtype, device=numbers.device)
    return _op["stack"](rows)


def add_at(count: int, index: Any, values: Any) -> Any:
    """Zeros of ``count`` rows with each of the values added to its row.

    Args:
        count: Rows of the result.
        index: A row for each value.
        values: ``(n, ...)``, with their history.
    """
    boolean = values.dtype.name == "bool"
    if boolean:
        values = values.to(_core._dtype_named("int64"))
    zeros = _op["zeros"]((count, *values.shape[1:]), dtype=values.dtype, device=values.device)
    total = _op["index_add"](zeros, 0, index, values)
    return total != 0 if boolean else total


def coalesced(x: Any) -> Any:
    """What `CooTensor.coalesce` gives of a tensor that may not be."""
    sizes = sparse_shape(x)
    numbers = keys(x._at, sizes)
    count = numbers.numel()
    if count < 2 or bool((numbers[1:] > numbers[:-1]).all()):
        return coo(x._at, values_of(x), tuple(x.shape), True)
    ordered, order = _op["sort"](numbers, stable=True)
    first = _op["cat"]([_op["ones"]((1,), dtype=_core._dtype_named("bool"),
                                    device=numbers.device), ordered[1:] != ordered[:-1]])
    group = first.cumsum(0) - 1
    unique = ordered[first]
    values = values_of(x)
    if unique.numel() == count:
        values = _op["index_select"](values, 0, order)
    else:
        row = _op["empty_like"](group).index_copy(0, order, group)
        values = add_at(unique.numel(), row, values)
    return coo(unkeyed(unique, sizes), values, tuple(x.shape), True)


def _from_dense(x: Any, sparse_dim: int) -> Any:
    from flambeau.sparse._conversions import from_dense

    return from_dense(x, sparse_dim)


def dense_of(x: Any, masked: bool = True) -> Any:
    """All elements of a tensor; its gradient is that of the stored ones, or with ``masked=False``
    dense."""
    if not masked:
        count = x.sparse_dim()
        return tie("ToDense", dense_of(x.detach()), (x,),
                   lambda g, needs: (_from_dense(g, count),))
    sizes = sparse_shape(x)
    return add_at(product_of(sizes), keys(x._at, sizes), values_of(x)).reshape(tuple(x.shape))
