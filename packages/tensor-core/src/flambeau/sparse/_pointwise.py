"""Functions of each element that leave zero at zero: they are applied to the stored values."""
from __future__ import annotations

from typing import Any

from flambeau.core import _core, functions
from flambeau.sparse._calls import CALLS, WRITING, handles, write
from flambeau.sparse._compressed import new_compressed
from flambeau.sparse._conversions import to_dense
from flambeau.sparse._coo import CooTensor
from flambeau.sparse._history import is_sampled, whole
from flambeau.sparse._tensor import filled, values_of

_op = {**functions, **_core.operators()}

#: Those that of a sum are the sum: indices may occur several times.
ADDITIVE = ("neg", "positive", "conj", "resolve_conj", "resolve_neg", "cast", "to_device", "real",
            "imag", "clone", "contiguous_copy")
#: Linear functions that are their own derivative.
SELF_ADJOINT = ("neg", "positive", "conj")
KEEP_ZERO = ("abs", "asin", "asinh", "atan", "atanh", "ceil", "deg2rad", "erf", "erfinv", "expm1",
             "floor", "frac", "isinf", "isnan", "isneginf", "isposinf", "log1p", "nan_to_num",
             "rad2deg", "relu", "round", "sgn", "sign", "signbit", "sin", "sinh", "sqrt", "square",
             "tan", "tanh", "trunc", "angle", "hardshrink", "softshrink", "hardtanh_", "leaky_relu",
             "elu_", "silu", "gelu", "mish", "selu", "celu_", "softsign", "tanhshrink", "dropout")


def _elementwise(name: str, additive: bool) -> Any:
    operator: Any = _op.get(name)

    def apply(self: Any, *args: Any, **options: Any) -> Any:
        if name in SELF_ADJOINT and not is_sampled(self):
            return whole(name.capitalize(), apply(self.detach()), self, operator)
        if isinstance(self, CooTensor) and not additive:
            self = self.coalesce()
        return filled(self.detach(), operator(values_of(self), *args, **options))

    return apply


CALLS.update({name: _elementwise(name, True) for name in ADDITIVE if name in _op})
CALLS.update({name: _elementwise(name, False) for name in KEEP_ZERO if name in _op})


@handles("clone")
def clone(self: Any, *, memory_format: Any = None) -> Any:
    """A copy with indices and values of its own."""
    copy = self.detach()._like(self._held.detach().clone())
    _copy_indices(copy)
    from flambeau.sparse._history import tie

    return tie("Clone", copy, (self,), lambda g, needs: (g,))


def _copy_indices(copy: Any) -> None:
    for name in ("_at",) if isinstance(copy, CooTensor) else ("_starts", "_along"):
        setattr(copy, name, getattr(copy, name).clone())


@handles("cast")
def cast(self: Any, dtype: Any) -> Any:
    """The values in another dtype."""
    if dtype.name == "bool" and isinstance(self, CooTensor):
        self = self.coalesce()
    if not is_sampled(self) and not dtype.is_complex:
        own = self.dtype
        return whole("Cast", filled(self.detach(), self._held.detach().to(dtype)), self,
                     lambda g: g.to(own))
    return filled(self.detach(), values_of(self).to(dtype))


@handles("to_device")
def to_device(self: Any, device: Any) -> Any:
    """The parts on another device."""
    values = values_of(self).to(device)
    pattern = self.detach()
    for name in ("_at",) if isinstance(pattern, CooTensor) else ("_starts", "_along"):
        setattr(pattern, name, getattr(pattern, name).to(device))
    return filled(pattern, values)


@handles("pow")
def power(self: Any, exponent: Any) -> Any:
    """``x ** n`` for a number n above zero, which zero keeps."""
    if not _core.is_sparse_object(self) or _core.is_sparse_object(exponent) \
            or isinstance(exponent, _core.Tensor) or isinstance(exponent, complex):
        raise RuntimeError("pow(): of sparse tensors only powers with a number as exponent are "
                           "computed; write x.to_dense() first")
    if exponent == 0:
        raise RuntimeError("pow(): cannot raise to zeroth power on sparse tensor: the result "
                           "would be dense; write x.to_dense() first")
    return CALLS["_power"](self, exponent)


CALLS["_power"] = _elementwise("pow", False)


@handles("any")
def any_element(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Whether an element is not zero."""
    if dim is not None:
        return to_dense(self).any(dim, keepdim)
    if isinstance(self, CooTensor):
        self = self.coalesce()
    return self._held.detach().any()


@handles("norm")
def norm(self: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None,
         ord: Any = None) -> Any:
    """The norm of all stored values."""
    if dim is not None and len(dim if isinstance(dim, (list, tuple)) else (dim,)) != self.ndim:
        raise RuntimeError("norm(): of sparse tensors only the norm of all elements is computed, "
                           "without dim; write x.to_dense().norm(dim=...)")
    if isinstance(self, CooTensor):
        self = self.coalesce()
    number = ord if ord is not None else p
    values = values_of(self).reshape(-1)
    values = values if dtype is None else values.to(dtype)
    result = _op["norm"](values, 2 if number in ("fro", None) else number)
    return result.reshape((1,) * self.ndim) if keepdim else result


@handles("ones_like")
def ones_like(self: Any, **options: Any) -> Any:
    """A tensor with the indices of a compressed one, where it has ones."""
    return full_like(self, 1, **options)


@handles("full_like")
def full_like(self: Any, fill_value: Any, **options: Any) -> Any:
    """A tensor with the indices of a compressed one, where it has this number."""
    layout = options.get("layout")
    if layout is not None and str.__str__(layout) == "strided" and isinstance(self, CooTensor):
        wants_grad = options.pop("requires_grad", False)
        filled = _op["fill_"](empty_like(self, **options), fill_value)
        return filled.requires_grad_() if wants_grad else filled
    if isinstance(self, CooTensor):
        raise NotImplementedError("full_like(): every element of a tensor of layout "
                                  f"{self.layout} would be stored; write x.to_dense() first")
    made = empty_like(self, **options)
    made._held.fill_(fill_value)
    return made


@handles("empty_like")
def empty_like(self: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
               requires_grad: bool = False, memory_format: Any = None,
               **options: Any) -> Any:
    """A tensor with the indices of a compressed one, or without elements."""
    if layout is not None and str.__str__(layout) == "strided" and isinstance(self, CooTensor):
        plain = memory_format is None or str.__str__(memory_format) == "preserve_format"
        return functions["empty"](tuple(self.shape), dtype=dtype or self.dtype,
                                  device=device or self.device, requires_grad=requires_grad,
                                  memory_format=None if plain else memory_format)
    if memory_format is not None and str.__str__(memory_format) != "preserve_format":
        raise RuntimeError("empty_like(): memory format option is only supported by strided "
                           f"tensors, not by layout {self.layout}: write x.to_dense() first")
    if isinstance(self, CooTensor) and layout in (None, self.layout):
        return zeros_like(self, dtype=dtype, device=device, requires_grad=requires_grad)
    if layout not in (None, self.layout):
        raise RuntimeError(f"empty_like with different sparse layout is not supported: the tensor "
                           f"is of layout {self.layout}, and {layout} is asked for; write "
                           "zeros_like(x, layout=...)")
    made = clone(self.detach())
    made = made if dtype is None else cast(made, dtype)
    made = made if device is None else to_device(made, device)
    return _core.requiring(made, True) if requires_grad else made


@handles("randn_like")
def random_like(self: Any, *, generator: Any = None, **options: Any) -> Any:
    """A tensor with the indices of a compressed one, where it has random numbers."""
    made = empty_like(self, **options)
    made._held.normal_(generator=generator)
    return made


@handles("zeros_like")
def zeros_like(self: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
               requires_grad: bool = False, memory_format: Any = None,
               pin_memory: bool = False) -> Any:
    """A tensor of the layout and shape without elements."""
    from flambeau.sparse._make import empty_coo, empty_of_layout

    dtype, device = dtype or self.dtype, device or self.device
    kind = layout or self.layout
    if isinstance(self, CooTensor) and kind is self.layout:
        made = empty_coo(tuple(self.shape), dtype, device, self.sparse_dim())
    elif kind is self.layout:
        held, batch = self._held, self._along.ndim - 1
        shape = (*held.shape[:batch], 0, *held.shape[batch + 1:])
        made = new_compressed(kind, _op["zeros_like"](self._starts, device=device),
                              _op["empty"]((*held.shape[:batch], 0), dtype=self._along.dtype,
                                           device=device),
                              _op["zeros"](shape, dtype=dtype, device=device), tuple(self.shape))
    elif str.__str__(kind) == "strided":
        made = _op["zeros"](tuple(self.shape), dtype=dtype, device=device)
    else:
        made = empty_of_layout(tuple(self.shape), kind, dtype, device)
    return _core.requiring(made, True) if requires_grad else made


@handles("copy", into=WRITING)
def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Let a sparse tensor have the elements of another, or a dense one those of a sparse one."""
    if not _core.is_sparse_object(self):
        return self.copy_(to_dense(src))
    if not _core.is_sparse_object(src):
        raise RuntimeError("copy_() between dense and sparse Tensors is not implemented! Found "
                           f"self.layout = {self.layout} and src.layout = {src.layout}; write "
                           "x = y.to_sparse()")
    if tuple(self.shape) != tuple(src.shape):
        raise RuntimeError(f"copy_(): sizes {list(self.shape)} and {list(src.shape)} differ")
    if not isinstance(self, CooTensor) and (self._kind is not src.layout
                                            or self._held.shape != src._held.shape):
        raise RuntimeError("copy_(): only sparse compressed tensors with the same number of "
                           "specified elements, layout and blocks are supported, got "
                           f"{self._kind} of values {list(self._held.shape)} and {src.layout} of "
                           f"{list(src._held.shape)}: write x = y.clone()")
    return write(self, clone(src).to(self.dtype), "copy")


@handles("fill", into=WRITING)
def fill_(self: Any, value: Any) -> Any:
    """Zeros alone can be filled in; in compressed tensors, any number where elements are."""
    if not isinstance(self, CooTensor):
        return write(self, full_like(self, value), "fill")
    if isinstance(value, _core.Tensor) or value != 0:
        raise RuntimeError("fill_(): every element of a sparse tensor would be stored; write "
                           "x.to_dense().fill_(value)")
    return self.zero_()
