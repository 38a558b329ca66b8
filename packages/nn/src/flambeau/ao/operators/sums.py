"""Sums and products of integers, and their concatenation."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.core import ops
from flambeau.core.quantized.schemes import RANGES, Quantizer
from flambeau.core.quantized.tensor import QuantizedTensor, wrap

__all__ = ["add", "add_relu", "add_scalar", "add_scalar_relu", "cat", "cat_relu", "matmul", "mul",
           "mul_relu", "mul_scalar", "mul_scalar_relu"]


def _joined(operator: Any, x: Any, y: Any, scale: float, zero_point: int, *relu: bool) -> Any:
    """A sum or a product by a kernel of integers; None where it is not for these two."""
    if not 127 <= RANGES[x.dtype][1] <= 255 or x.shape != y.shape:
        return None
    (a, zero_a, _), (b, zero_b, _) = x._quantizer, y._quantizer
    made = operator(x._values, y._values, (a, b, scale), (zero_a, zero_b, zero_point), *relu)
    return wrap(made, x.dtype, Quantizer(scale, zero_point))


def _expect_alike(name: str, *tensors: Any) -> None:
    """Refuse tensors that are not all quantized, in one dtype, with one scale each."""
    if not all(isinstance(x, QuantizedTensor) and x.dtype is tensors[0].dtype
               and x._quantizer.axis is None for x in tensors):
        raise RuntimeError(f"{name}(): supported are quantized tensors of one dtype with one scale "
                           f"each, got {[str(getattr(x, 'dtype', type(x))) for x in tensors]}: "
                           "quantize them alike with quantize_per_tensor")


def written(made: Any, out: Any) -> Any:
    """A result, in the memory of ``out`` where that is given.

    Args:
        made: The result.
        out: A quantized tensor of its scale, or None.
    """
    return made if out is None else out.copy_(made)


def _scale(scale: Any, zero_point: Any, out: Any) -> tuple[float, int]:
    """The scale of a result: the one that is given, or that of ``out``."""
    if out is not None:
        return out.q_scale(), out.q_zero_point()
    if scale is None or zero_point is None:
        raise TypeError("the scale and the zero point of the result must be given: write "
                        "add(x, y, scale, zero_point)")
    return float(scale), int(zero_point)


def _rounded(result: Tensor, relu: bool, scale: Any, zero_point: Any, dtype: Any) -> Any:
    """The integers of a result that was computed in floats."""
    return flambeau.quantize_per_tensor(result.relu() if relu else result, scale, zero_point,
                                        dtype)


def add(qa: Any, qb: Any, scale: Any = None, zero_point: Any = None, *, out: Any = None,
        relu: bool = False) -> Any:
    """``qa + qb``, of a tensor or a number."""
    if not isinstance(qb, Tensor):
        return written(add_scalar_relu(qa, qb) if relu else add_scalar(qa, qb), out)
    _expect_alike("add", qa, qb)
    scale, zero_point = _scale(scale, zero_point, out)
    made = _joined(ops.quantized_add, qa, qb, scale, zero_point, relu)
    if made is None:
        made = _rounded(qa.dequantize() + qb.dequantize(), relu, scale, zero_point, qa.dtype)
    return written(made, out)


def add_relu(qa: Any, qb: Any, scale: Any = None, zero_point: Any = None, *,
             out: Any = None) -> Any:
    """``relu(qa + qb)``."""
    return add(qa, qb, scale, zero_point, out=out, relu=True)


def mul(qa: Any, qb: Any, scale: Any = None, zero_point: Any = None, *, out: Any = None,
        relu: bool = False) -> Any:
    """``qa * qb``, of a tensor or a number."""
    if not isinstance(qb, Tensor):
        return written(mul_scalar_relu(qa, qb) if relu else mul_scalar(qa, qb), out)
    _expect_alike("mul", qa, qb)
    scale, zero_point = _scale(scale, zero_point, out)
    made = None if relu else _joined(ops.quantized_mul, qa, qb, scale, zero_point)
    if made is None:
        made = _rounded(qa.dequantize() * qb.dequantize(), relu, scale, zero_point, qa.dtype)
    return written(made, out)


def mul_relu(qa: Any, qb: Any, scale: Any = None, zero_point: Any = None, *,
             out: Any = None) -> Any:
    """``relu(qa * qb)``."""
    return mul(qa, qb, scale, zero_point, out=out, relu=True)


def _with(x: Any, scale: float, zero_point: int) -> Any:
    """The same integers with another scale."""
    return wrap(x._values.clone(), x.dtype, Quantizer(scale, zero_point))


def add_scalar(qa: Any, b: Any) -> Any:
    """``qa + b`` with a number: the zero point moves, or both move where it has no room."""
    y = float(b)
    least, greatest = RANGES[qa.dtype]
    scale, zero = qa.q_scale(), qa.q_zero_point()
    steps = round(y / scale)
    moved = zero - steps
    if least <= moved <= greatest:
        return _with(qa, scale, moved)
    end = least if moved < least else greatest
    wider = (abs(moved - greatest) if moved < least else abs(moved - least)) \
        / (greatest - least) * scale
    return flambeau.quantize_per_tensor(qa.dequantize() + steps * scale, wider, end, qa.dtype)


def mul_scalar(qa: Any, b: Any) -> Any:
    """``qa * b`` with a number: the scale changes, and for numbers below zero the integers."""
    y = float(b)
    if y > 0:
        return _with(qa, qa.q_scale() * y, qa.q_zero_point())
    if y == 0:
        return flambeau.quantize_per_tensor(flambeau.zeros(qa.shape), 1.0, 0, qa.dtype)
    low, high = RANGES[qa.dtype]
    return flambeau.quantize_per_tensor(qa.dequantize() * y, qa.q_scale() * -y,
                                        high + low - qa.q_zero_point(), qa.dtype)


def add_scalar_relu(qa: Any, b: Any) -> Any:
    """``relu(qa + b)`` with a number."""
    return add_scalar(qa, b).relu()


def mul_scalar_relu(qa: Any, b: Any) -> Any:
    """``relu(qa * b)`` with a number."""
    return mul_scalar(qa, b).relu()


def matmul(qa: Any, qb: Any, scale: float, zero_point: int) -> Any:
    """``qa @ qb``."""
    _expect_alike("matmul", qa, qb)
    return flambeau.quantize_per_tensor(qa.dequantize() @ qb.dequantize(), float(scale),
                                        int(zero_point), qa.dtype)


def _cat(qx: Any, dim: int, scale: float | None, zero_point: int | None, out: Any,
         change: Callable[[Any], Any]) -> Any:
    _expect_alike("cat", *qx)
    first = qx[0] if out is None else out
    scale = first.q_scale() if scale is None else float(scale)
    zero_point = first.q_zero_point() if zero_point is None else int(zero_point)
    numbers = change(flambeau.cat([each.dequantize() for each in qx], dim=dim))
    return written(flambeau.quantize_per_tensor(numbers, scale, zero_point, qx[0].dtype), out)


def cat(qx: Any, dim: int, scale: float | None = None, zero_point: int | None = None, *,
        out: Any = None) -> Any:
    """Concatenation; without a scale, with that of the first."""
    return _cat(qx, dim, scale, zero_point, out, lambda x: x)


def cat_relu(qx: Any, dim: int, scale: float | None = None, zero_point: int | None = None, *,
             out: Any = None) -> Any:
    """``relu`` of the concatenation."""
    return _cat(qx, dim, scale, zero_point, out, flambeau.relu)
