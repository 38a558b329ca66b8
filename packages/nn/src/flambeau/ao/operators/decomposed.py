"""Quantization of plain tensors of integers: the operators of ``ops.quantized_decomposed``."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor

__all__ = ["OPERATORS"]


def _integers(steps: Tensor, quant_min: int, quant_max: int, dtype: Any) -> Tensor:
    return steps.clamp(quant_min, quant_max).to(dtype)


def quantize_per_tensor(input: Tensor, scale: Any, zero_point: Any, quant_min: int,
                        quant_max: int, dtype: Any) -> Tensor:
    """``clamp(round(x / scale) + zero_point)`` in an integer dtype."""
    inverse = 1.0 / scale
    return _integers(flambeau.round(input * inverse).double() + zero_point, quant_min, quant_max,
                     dtype)


def dequantize_per_tensor(input: Tensor, scale: Any, zero_point: Any, quant_min: int,
                          quant_max: int, dtype: Any, *, out_dtype: Any = None) -> Tensor:
    """``scale * (q - zero_point)`` in ``float32``, or another dtype."""
    _expect(input, dtype)
    kind = out_dtype or flambeau.float32
    return (input.double() - zero_point).to(kind) * _number(scale, kind)


def _number(scale: Any, kind: Any) -> Any:
    return scale.to(kind) if isinstance(scale, Tensor) else scale


def _expect(input: Tensor, dtype: Any) -> None:
    if input.dtype is not dtype:
        raise AssertionError(f"dequantize: expecting input to have dtype {dtype}, but got dtype: "
                             f"{input.dtype}")


def _ends(input: Tensor, low: Tensor, high: Tensor, quant_min: int, quant_max: int,
          eps: Any) -> tuple[Tensor, Tensor]:
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = flambeau.maximum((high - low) / float(quant_max - quant_min), flambeau.as_tensor(eps))
    zero = (quant_min - flambeau.round(low / scale)).clamp(quant_min, quant_max)
    return scale.double(), zero.long()


def choose_qparams(input: Tensor, quant_min: int, quant_max: int, eps: Any,
                   dtype: Any) -> tuple[Tensor, Tensor]:
    """The scale and the zero point that hold all numbers of a tensor."""
    low, high = flambeau.aminmax(input)
    return _ends(input, low, high, quant_min, quant_max, eps)


def choose_qparams_symmetric(input: Tensor, quant_min: int, quant_max: int, eps: Any,
                             dtype: Any) -> tuple[Tensor, Tensor]:
    """The scale with 0 in the middle that holds all numbers of a tensor."""
    greatest = input.abs().max()
    scale = flambeau.maximum(greatest / (float(quant_max - quant_min) / 2),
                             flambeau.as_tensor(eps))
    return scale.double(), flambeau.zeros((), dtype=flambeau.int64)


def _along(values: Tensor | None, axis: int, ndim: int) -> Any:
    return 0 if values is None else values.reshape([-1 if d == axis % ndim else 1
                                                    for d in range(ndim)])


def quantize_per_channel(input: Tensor, scales: Tensor, zero_points: Tensor, axis: int,
                         quant_min: int, quant_max: int, dtype: Any) -> Tensor:
    """`quantize_per_tensor` with a scale for each index of a dimension."""
    inverse, zero = (_along(each, axis, input.ndim) for each in (1.0 / scales, zero_points))
    return _integers(flambeau.round(input * inverse).double() + zero, quant_min, quant_max, dtype)


def dequantize_per_channel(input: Tensor, scales: Tensor, zero_points: Tensor | None, axis: int,
                           quant_min: int, quant_max: int, dtype: Any, *,
                           out_dtype: Any = None) -> Tensor:
    """`dequantize_per_tensor` with a scale for each index of a dimension."""
    _expect(input, dtype)
    kind = out_dtype or flambeau.float32
    scale, zero = (_along(each, axis, input.ndim) for each in (scales, zero_points))
    return (input.double() - zero).to(kind) * scale.to(kind)


def choose_qparams_per_token(input: Tensor, dtype: Any) -> tuple[Tensor, Tensor]:
    """A scale with 0 in the middle for each row of the last dimension."""
    scales = input.abs().amax(-1, keepdim=True)
    if scales.dtype is flambeau.float16:
        scales = scales.float()
    scales = scales.clamp(min=1e-5) / (2 ** (8 * dtype.itemsize - 1) - 1)
    return scales, flambeau.zeros_like(scales)


def quantize_per_token(input: Tensor, scales: Tensor, zero_points: Tensor, quant_min: int,
                       quant_max: int, dtype: Any) -> Tensor:
    """Integers with a scale for each row."""
    return _integers(flambeau.round(input / scales + zero_points), quant_min, quant_max, dtype)


def dequantize_per_token(input: Tensor, scales: Tensor, zero_points: Tensor, quant_min: int,
                         quant_max: int, dtype: Any,
                         output_dtype: Any = flambeau.float32) -> Tensor:
    """What integers with a scale for each row stand for."""
    return ((input - zero_points) * scales).to(output_dtype)


_FORMS: dict[Callable[..., Any], tuple[str, ...]] = {
    quantize_per_tensor: ("default", "tensor", "tensor2"),
    dequantize_per_tensor: ("default", "tensor", "tensor2"), choose_qparams: ("tensor",),
    choose_qparams_symmetric: ("tensor",), quantize_per_channel: ("default",),
    dequantize_per_channel: ("default",), choose_qparams_per_token: ("default",),
    quantize_per_token: ("default",), dequantize_per_token: ("default",)}

#: Functions by name, and by name and form.
OPERATORS: dict[str, Callable[..., Any]] = {
    function.__name__ + ("" if form == "default" else f".{form}"): function
    for function, forms in _FORMS.items() for form in forms}
