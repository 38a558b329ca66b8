"""Operators that libraries take from PyTorch under private names."""
from __future__ import annotations

from typing import Any

import flambeau
from flambeau.core import Tensor

_stack = flambeau.stack
_conj = flambeau.conj


def _segment_reduce(data: Tensor, reduce: str, **options: Any) -> Tensor:
    """What the elements of each segment give; ``amax`` and ``amin`` are taken, too."""
    word = {"amax": "max", "amin": "min"}.get(reduce, reduce)
    return flambeau.segment_reduce(data, word, **options)


def native_norm(self: Tensor, p: float = 2) -> Tensor:
    """The norm of all elements, of a sparse tensor, too."""
    return flambeau.norm(self, p)


def _unique2(input: Tensor, sorted: bool = True, return_inverse: bool = False,
             return_counts: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Different elements, where each element is among them, and counts; empty if not asked for."""
    values, inverse, counts = flambeau.unique(input, sorted, return_inverse=True,
                                              return_counts=True)
    return values, inverse if return_inverse else inverse[:0], counts[:0 if not return_counts
                                                                      else None]


def _softmax(input: Tensor, dim: int, half_to_float: bool = False) -> Tensor:
    """Softmax along a dimension."""
    return flambeau.softmax(input.float() if half_to_float else input, dim)


def _log_softmax(input: Tensor, dim: int, half_to_float: bool = False) -> Tensor:
    """The logarithm of softmax along a dimension."""
    return flambeau.log_softmax(input.float() if half_to_float else input, dim)


def _safe_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Softmax; 0 where all elements are minus infinity."""
    found = flambeau.softmax(input, dim, dtype=dtype)
    empty = (input == float("-inf")).all(dim, keepdim=True)
    return found.masked_fill(empty, 0.0)


def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int,
                           input_dtype: Any) -> Tensor:
    """The gradient of softmax's input."""
    product = grad_output * output
    return (product - output * product.sum(dim, keepdim=True)).to(input_dtype)


def _log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int,
                               input_dtype: Any) -> Tensor:
    """The gradient of log softmax's input."""
    total = grad_output.sum(dim, keepdim=True)
    return (grad_output - output.exp() * total).to(input_dtype)


def _euclidean_dist(x1: Tensor, x2: Tensor) -> Tensor:
    """Distances between the rows of two matrices."""
    return flambeau.cdist(x1, x2)


def _shape_as_tensor(self: Tensor) -> Tensor:
    """The sizes of a tensor, made by operators: where they are recorded, they may vary."""
    sizes = [flambeau.full((), size, dtype=flambeau.int64) for size in self.shape]
    return flambeau.stack(sizes) if sizes else flambeau.empty(0, dtype=flambeau.int64)


shape_as_tensor = _shape_as_tensor


def _dim_arange(like: Tensor, dim: int) -> Tensor:
    """Numbers from 0 to a size of a tensor."""
    return flambeau.arange(like.shape[dim], device=like.device)


def _is_all_true(self: Tensor) -> Tensor:
    """Whether all elements are true."""
    return self.all()


def _is_any_true(self: Tensor) -> Tensor:
    """Whether an element is true."""
    return self.any()


def _assert_async(input: Tensor, assert_msg: str = "") -> None:
    """Raise unless an element is true.

    Raises:
        RuntimeError: It is zero.
    """
    if not bool(input):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """``v`` scaled to have the norms ``g``."""
    dims = [i for i in range(v.dim()) if i != dim % v.dim()] if dim != -1 else None
    return v * (g / flambeau.linalg.vector_norm(v, dim=dims, keepdim=dims is not None))


def _int_mm(self: Tensor, mat2: Tensor) -> Tensor:
    """The product of matrices of int8, in int32."""
    return flambeau.mm(self.int(), mat2.int())


def _pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """The tensor, in pinned memory where there is a GPU."""
    return self.pin_memory()


def _nnpack_available() -> bool:
    """False: there is no such library."""
    return False


def _has_compatible_shallow_copy_type(self: Tensor, from_: Tensor) -> bool:
    """Whether ``self.data = from_`` is possible: both lie in memory in the same way."""
    return self.layout == from_.layout


class _Functions:
    """The functions of `torch`, once more."""

    def __getattr__(self, name: str) -> Any:
        return getattr(flambeau, name)


_VariableFunctions = _Functions()
