"""Sums over dimensions, softmax and comparisons of sparse tensors."""
from __future__ import annotations

from typing import Any

from flambeau.core import _core, functions
from flambeau.core.dims import wrapped_dim
from flambeau.sparse._calls import handles
from flambeau.sparse._compressed import CompressedTensor
from flambeau.sparse._conversions import to_compressed, to_coo, with_sparse_dim
from flambeau.sparse._coo import add_at, coo, keys
from flambeau.sparse._csr_sums import is_plain_csr, sum_of_csr
from flambeau.sparse._history import is_sampled, whole
from flambeau.sparse._masks import matched
from flambeau.sparse._shape import _rows, unsqueeze
from flambeau.sparse._tensor import filled, values_of

_op = {**functions, **_core.operators()}


@handles("sum")
def total(self: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum of all elements, or over some dimensions."""
    if dtype is None and not (self.is_floating_point() or self.is_complex()):
        dtype = _core._dtype_named("int64")
    dims = () if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if not dims or (len(set(dims)) == self.ndim and not keepdim):
        return _sum_of_all(self, dtype or self.dtype)
    gone = sorted({wrapped_dim("sum", d, self.ndim) for d in dims})
    if not is_sampled(self):
        return _sum_with_whole_gradient(self, gone, keepdim, dtype)
    if isinstance(self, CompressedTensor):
        if keepdim and is_plain_csr(self) and self.device.type == "cpu":
            return sum_of_csr(self, gone, dtype or self.dtype)
        if not keepdim:
            raise RuntimeError("sum(): reduction operations on CSR tensors with keepdim=False is "
                               "unsupported; write x.to_sparse_coo().sum(dim)")
        return to_compressed(total(to_coo(self), dim, True, dtype=dtype), self._kind)
    result = _summed(self, gone, dtype or self.dtype)
    for d in gone if keepdim else ():
        result = unsqueeze(result, d) if _core.is_sparse_object(result) else result.unsqueeze(d)
    return result


def _sum_with_whole_gradient(x: Any, gone: list[int], keepdim: bool, dtype: Any) -> Any:
    shape, own = tuple(x.shape), x.dtype

    def backward(g: Any) -> Any:
        g = g.to_dense().to(own)
        for d in () if keepdim else gone:
            g = g.unsqueeze(d)
        return g.expand(shape)

    return whole("Sum", total(x.detach(), gone, keepdim, dtype=dtype), x, backward)


def masked_sum(x: Any, dim: Any, dtype: Any) -> Any:
    """A sum whose gradient is at the indices of ``x``; see ``flambeau.sparse.sum``."""
    return total(filled(x.detach(), values_of(x)), dim, dtype=dtype)


def _sum_of_all(x: Any, dtype: Any) -> Any:
    if is_sampled(x):
        return values_of(x).sum(dtype=dtype)
    shape, own = tuple(x.shape), x.dtype
    return whole("Sum", x._held.detach().sum(dtype=dtype), x, lambda g: g.to(own).expand(shape))


def _summed(x: Any, gone: list[int], dtype: Any) -> Any:
    count = x.sparse_dim()
    values = values_of(x).to(dtype)
    dense = [d - count + 1 for d in gone if d >= count]
    values = values.sum(dense) if dense else values
    kept = [d for d in range(count) if d not in gone]
    if not kept:
        return values.sum(0)
    shape = tuple(s for d, s in enumerate(x.shape) if d not in gone)
    result = coo(x._at if len(kept) == count else _rows(x._at, kept), values, shape,
                 x._ordered and len(kept) == count)
    return result.coalesce() if len(kept) < count else result


def _softmax(name: str, x: Any, dim: int, dtype: Any) -> Any:
    if not _core.is_sparse_object(x):
        raise RuntimeError(f"sparse.{name}(): expected a sparse tensor; write flambeau.{name}(x, "
                           "dim)")
    kind = x.layout if isinstance(x, CompressedTensor) else None
    x = to_coo(x).coalesce()
    dim = wrapped_dim(name, dim, x.ndim)
    values = values_of(x) if dtype is None else values_of(x).to(dtype)
    count = x.sparse_dim()
    if dim >= count:
        values = _op[name](values, dim - count + 1)
    elif x._nnz():
        values = _softmax_of_groups(name, values, _group(x, dim, count))
    result = filled(x.detach(), values)
    return result if kind is None else to_compressed(result, kind)


def _group(x: Any, dim: int, count: int) -> Any:
    """The number of the row along ``dim`` that each entry is in."""
    rest = [d for d in range(count) if d != dim]
    numbers = keys(_rows(x._at, rest), tuple(x.shape[d] for d in rest))
    return numbers.unique(return_inverse=True)[1]


def _softmax_of_groups(name: str, values: Any, group: Any) -> Any:
    count = int(group.max()) + 1
    index = group.reshape(-1, *[1] * (values.ndim - 1)).expand(*values.shape)
    lowest = _op["full"]((count, *values.shape[1:]), float("-inf"), dtype=values.dtype,
                         device=values.device)
    most = lowest.scatter_reduce(0, index, values.detach(), "amax")
    shifted = values - _op["index_select"](most, 0, group)
    sums = add_at(count, group, shifted.exp())
    if name == "log_softmax":
        return shifted - _op["index_select"](sums.log(), 0, group)
    return shifted.exp() / _op["index_select"](sums, 0, group)


def sparse_softmax(x: Any, dim: int, dtype: Any = None) -> Any:
    """``softmax`` over the stored elements; see ``flambeau.sparse.softmax``."""
    return _softmax("softmax", x, dim, dtype)


def sparse_log_softmax(x: Any, dim: int, dtype: Any = None) -> Any:
    """``log_softmax`` over the stored elements; see ``flambeau.sparse.log_softmax``."""
    return _softmax("log_softmax", x, dim, dtype)


# ---- comparisons -------------------------------------------------------------------------------
def _aligned(a: Any, b: Any) -> tuple[Any, Any]:
    """Values of two sparse tensors at the indices that one of them has."""
    a, b = to_coo(a.detach()).coalesce(), to_coo(b.detach()).coalesce()
    b = with_sparse_dim(b, a.sparse_dim()).coalesce()
    at = _op["cat"]([a._at, b._at], 1)
    values = _op["cat"]([a._held, b._held.to(a.dtype)], 0)
    both = coo(at, values, tuple(a.shape), False).coalesce()
    return matched(a, both), matched(b, both)


@handles("allclose")
def allclose(self: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8,
             equal_nan: bool = False) -> bool:
    """Whether two sparse tensors have close elements."""
    if not (_core.is_sparse_object(self) and _core.is_sparse_object(other)):
        raise RuntimeError("allclose(): a sparse and a dense tensor are not compared; write "
                           "x.to_dense()")
    if tuple(self.shape) != tuple(other.shape):
        raise RuntimeError(f"allclose(): sizes {list(self.shape)} and {list(other.shape)} differ")
    a, b = _aligned(self, other)
    return bool(_op["allclose"](a, b, rtol=rtol, atol=atol, equal_nan=equal_nan))


@handles("equal")
def equal(self: Any, other: Any) -> bool:
    """Whether two sparse tensors have the same shape and elements."""
    if not (_core.is_sparse_object(self) and _core.is_sparse_object(other)):
        raise RuntimeError("equal(): a sparse and a dense tensor are not compared; write "
                           "x.to_dense()")
    if tuple(self.shape) != tuple(other.shape):
        return False
    a, b = _aligned(self, other)
    return bool(_op["equal"](a, b))
