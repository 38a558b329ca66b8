"""Sums, products and quotients of sparse tensors, dense ones and numbers."""
from __future__ import annotations

from typing import Any

from flambeau.core import _core, functions
from flambeau.sparse._calls import WRITING, handles, write
from flambeau.sparse._compressed import CompressedTensor
from flambeau.sparse._conversions import in_layout_of, to_coo, to_dense, with_sparse_dim
from flambeau.sparse._coo import coo, keys, new_coo, product_of, sparse_shape
from flambeau.sparse._history import conjugate, is_sampled, recording, tie, whole
from flambeau.sparse._masks import find, gathered
from flambeau.sparse._shape import expanded
from flambeau.sparse._tensor import filled, values_of

Tensor = _core.Tensor
_op = {**functions, **_core.operators()}
is_sparse = _core.is_sparse_object


def _is_number(x: Any) -> bool:
    return not isinstance(x, Tensor) or (x.ndim == 0 and not is_sparse(x))


def _check_dtypes(what: str, self: Any, other: Any, alpha: Any) -> None:
    """Refuse dtypes and factors that dense tensors refuse, in the same words."""
    if isinstance(self, Tensor) and isinstance(other, Tensor):
        empty = _op["empty"]
        _op[what](empty((0,), dtype=self.dtype), empty((0,), dtype=other.dtype), alpha=alpha)


@handles("add")
def add(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """``self + alpha * other``, of two sparse tensors or a dense and a sparse one."""
    if alpha != 1:
        _check_dtypes("add", self, other, alpha)
    return _sum(self, other, alpha)


def _sum(self: Any, other: Any, alpha: Any) -> Any:
    if is_sparse(self) and is_sparse(other):
        return _add_sparse(self, other, alpha)
    if not is_sparse(self) and isinstance(self, Tensor):
        return _add_to_dense(self, other, alpha)
    if isinstance(self, CompressedTensor) and isinstance(other, Tensor):
        if tuple(self.shape) != tuple(other.shape):
            raise RuntimeError(f"add(): expected sizes to match, got {list(self.shape)} and "
                               f"{list(other.shape)}")
        return to_dense(self) + (other if alpha == 1 else other * alpha)
    raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead: the "
                       "result is dense")


def _same_shape(what: str, a: Any, b: Any) -> None:
    if tuple(a.shape) != tuple(b.shape):
        raise RuntimeError(f"{what}: expected sizes of 'self' and 'other' to match, but "
                           f"{list(a.shape)} != {list(b.shape)}; sparse tensors are not "
                           "broadcast")


def _add_sparse(a: Any, b: Any, alpha: Any) -> Any:
    _same_shape("add()", a, b)
    return _sum_of(_joined(a.detach(), b.detach(), alpha), a, b, alpha)


def _sum_of(result: Any, a: Any, b: Any, alpha: Any) -> Any:
    """Give a sum its history."""
    factor = alpha.conjugate() if isinstance(alpha, complex) else alpha
    return tie("Add", result, (a, b), lambda g, needs: (g, g if alpha == 1 else g * factor))


def _times(alpha: Any, values: Any) -> Any:
    """In the dtype of the result: before, the negative of an unsigned number would wrap."""
    return values if alpha == 1 else (values * alpha).to(values.dtype)


def _joined(a: Any, b: Any, alpha: Any) -> Any:
    dtype = _core.promote_types(a.dtype, b.dtype)
    if isinstance(a, CompressedTensor) or isinstance(b, CompressedTensor):
        sum_ = _joined(to_coo(a), to_coo(b), alpha)
        return in_layout_of(sum_, a)
    if a._nnz() == 0 and b._nnz():
        a = with_sparse_dim(a, b.sparse_dim())
    b = with_sparse_dim(b, a.sparse_dim())
    held, added = a._held.to(dtype), _times(alpha, b._held.to(dtype))
    at = _op["cat"]([a._at, b._at], 1)
    values = _op["cat"]([held, added], 0)
    if a._at is b._at and a._ordered:
        return new_coo(a._at, held + added, tuple(a.shape), True)
    both = new_coo(at, values, tuple(a.shape), False)
    return both.coalesce() if a._ordered and b._ordered else both


def _add_to_dense(self: Any, other: Any, alpha: Any) -> Any:
    if self.ndim == 0 and other.ndim:
        raise RuntimeError("add(): a dense tensor without dimensions and a sparse one would give "
                           "a dense result; write x.to_dense() + y")
    if tuple(self.shape) != tuple(other.shape):
        raise RuntimeError("add: expected 'self' to be no smaller than, and of the shape of, "
                           f"'other', but sizes are {list(self.shape)} and {list(other.shape)}")
    if _core.level_of(self):        # of vmap or jvp
        return _op["add"](self, to_dense(other), alpha=alpha)
    return _sum_of(_scattered(self.detach(), other.detach(), alpha), self, other, alpha)


def _scattered(dense: Any, other: Any, alpha: Any) -> Any:
    dtype = _core.promote_types(dense.dtype, other.dtype)
    result = dense.to(dtype).clone(memory_format="contiguous_format")
    return _scatter_into(result, other, alpha)


def _scatter_into(target: Any, other: Any, alpha: Any) -> Any:
    """Add to contiguous memory."""
    other = to_coo(other)
    if target.dtype.name == "bool":
        return target.logical_or_(to_dense(other))
    values = _times(alpha, other._held.to(target.dtype))
    flat = target.view(product_of(sparse_shape(other)), *target.shape[other.sparse_dim():])
    flat.index_add_(0, keys(other._at, sparse_shape(other)), values)
    return target


@handles("add", into=WRITING)
def add_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """``self += alpha * other``, of which a dense ``self`` is not copied."""
    if alpha != 1:
        _check_dtypes("add", self, other, alpha)
    return _sum_into(self, other, alpha)


def _sum_into(self: Any, other: Any, alpha: Any) -> Any:
    plain = not is_sparse(self) and not recording((self, other)) and self.is_contiguous() \
        and tuple(self.shape) == tuple(other.shape) \
        and _core.can_cast(other.dtype, self.dtype)
    if plain:
        _scatter_into(self, other.detach(), alpha)
        return self
    return write(self, _sum(self, other, alpha), "add")


@handles("sub")
def subtract(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """``self - alpha * other``."""
    _check_dtypes("sub", self, other, alpha)
    return _sum(self, other, -alpha)


@handles("sub", into=WRITING)
def subtract_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """``self -= alpha * other``."""
    _check_dtypes("sub", self, other, alpha)
    return _sum_into(self, other, -alpha)


@handles("rsub")
def subtract_from(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """``other - alpha * self``."""
    _check_dtypes("sub", other, self, alpha)
    return _sum(other, self, -alpha)


@handles("mul")
def multiply(self: Any, other: Any) -> Any:
    """The product of elements: stored where both factors are, or where the sparse one is."""
    if not is_sparse(self) or (self.ndim == 0 and is_sparse(other) and other.ndim):
        self, other = other, self
    if is_sparse(other) and other.ndim == 0 and self.ndim:
        other = to_dense(other)
    if _is_number(other):
        return _scaled(self, other)
    if is_sparse(other):
        return _multiply_sparse(self, other)
    shape = tuple(_op["broadcast_shapes"](tuple(self.shape), tuple(other.shape)))
    if shape != tuple(self.shape):
        self = expanded(self, shape)
    spread = _op["broadcast_to"](other, tuple(self.shape))
    if not is_sampled(self) and self.is_complex() == other.is_complex():
        def backward(g: Any, needs: Any) -> tuple[Any, Any]:
            return (g * conjugate(spread) if needs[0] else None,
                    to_dense(g * conjugate(self)) if needs[1] else None)

        return tie("Mul", multiply(self.detach(), other.detach()), (self, spread), backward,
                   (spread,))
    if isinstance(self, CompressedTensor):
        return in_layout_of(multiply(to_coo(self), spread), self)
    return filled(self.detach(), values_of(self) * gathered(spread, self._at))


def _scaled(x: Any, factor: Any) -> Any:
    """A sparse tensor times a number, or a tensor of one."""
    tensor = isinstance(factor, Tensor)
    if is_sampled(x) or (tensor and factor.requires_grad):
        return filled(x.detach(), values_of(x) * factor)
    real = not x.is_complex()
    back = conjugate(factor) if tensor else factor.conjugate()
    return whole("Mul", _scaled(x.detach(), factor), x,
                 lambda g: (g * back).real if real and g.is_complex() else g * back)


def _multiply_sparse(a: Any, b: Any) -> Any:
    _same_shape("mul()", a, b)
    if not (is_sampled(a) and is_sampled(b)):
        result = _multiply_sparse(a.detach(), b.detach())
        return tie("Mul", result, (a, b),
                   lambda g, needs: (g * conjugate(b) if needs[0] else None,
                                     g * conjugate(a) if needs[1] else None))
    if isinstance(a, CompressedTensor):
        return in_layout_of(multiply(to_coo(a), to_coo(b)), a)
    a, b = a.coalesce(), with_sparse_dim(to_coo(b), a.sparse_dim()).coalesce()
    if a._at is b._at:
        return filled(a.detach(), values_of(a) * values_of(b))
    number, there = find(b, a)
    values = values_of(a)[there] * _op["index_select"](values_of(b), 0, number[there])
    return coo(a._at[:, there], values, tuple(a.shape), True)


@handles("div")
def divide(self: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """A sparse tensor divided by a number or a tensor of one."""
    return _divided("div", self, other, {"rounding_mode": rounding_mode} if rounding_mode else {})


@handles("floor_divide")
def floor_divide(self: Any, other: Any) -> Any:
    """The same, rounded down."""
    return _divided("floor_divide", self, other, {})


def _divided(name: str, self: Any, other: Any, options: dict[str, Any]) -> Any:
    if not is_sparse(self) or not _is_number(other):
        raise RuntimeError("Sparse division requires a scalar or zero-dim dense tensor divisor "
                           "(got shape "
                           f"{list(other.shape) if isinstance(other, Tensor) else []} for "
                           "divisor): 0 / 0 would stand where nothing is stored; write "
                           "x.to_dense() / y.to_dense()")
    if options or name == "floor_divide":
        self = self.coalesce() if not isinstance(self, CompressedTensor) else self
    if name == "div" and not options and not is_sampled(self) and not (
            isinstance(other, Tensor) and other.requires_grad):
        return whole("Div", _divided(name, self.detach(), other, options), self,
                     lambda g: g / other)
    return filled(self.detach(), _op[name](values_of(self), other, **options))
