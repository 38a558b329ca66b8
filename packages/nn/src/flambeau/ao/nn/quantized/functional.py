"""Functions of quantized tensors: what layers of integers compute, with weights as arguments."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
import flambeau.ao.nn.quantized._weights as _weights
from flambeau import Tensor
from flambeau.nn import functional as F

__all__ = ["adaptive_avg_pool2d", "adaptive_avg_pool3d", "avg_pool2d", "avg_pool3d", "celu",
           "clamp", "conv1d", "conv2d", "conv3d", "elu", "hardsigmoid", "hardswish", "hardtanh",
           "interpolate", "leaky_relu", "linear", "max_pool1d", "max_pool2d", "threshold"]


def _as_it_is(function: Any) -> Any:
    name = function.__name__

    def apply(input: Any, *args: Any, **kwargs: Any) -> Any:
        return function(_weights.expect_quantized(f"{name}()", input), *args, **kwargs)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"`flambeau.nn.functional.{name}` of a quantized tensor, which keeps the scale."
    return apply


adaptive_avg_pool2d, adaptive_avg_pool3d = map(_as_it_is, (
    F.adaptive_avg_pool2d, F.adaptive_avg_pool3d))
avg_pool2d, avg_pool3d, max_pool1d, max_pool2d, interpolate = map(_as_it_is, (
    F.avg_pool2d, F.avg_pool3d, F.max_pool1d, F.max_pool2d, F.interpolate))
hardtanh, hardsigmoid, threshold = map(_as_it_is, (F.hardtanh, F.hardsigmoid, F.threshold))


def linear(input: Any, weight: Any, bias: Tensor | None = None, scale: float | None = None,
           zero_point: int | None = None) -> Any:
    """A linear map of integers.

    Args:
        input: A quantized tensor.
        weight: One of ``qint8``.
        bias: Floats.
        scale: Of the result; None: that of the input.
        zero_point: Of the result; None: that of the input.

    Example:
        >>> import flambeau
        >>> from flambeau.ao.nn.quantized import functional
        >>> x = flambeau.quantize_per_tensor(flambeau.ones(1, 3), 0.5, 0, flambeau.quint8)
        >>> w = flambeau.quantize_per_tensor(flambeau.ones(2, 3), 0.5, 0, flambeau.qint8)
        >>> functional.linear(x, w).int_repr()
        tensor([[6, 6]], dtype=flambeau.uint8)
    """
    x = _weights.expect_quantized("linear()", input)
    return _weights.linear(x, weight, bias, *_scale(x, scale, zero_point), False)


def _scale(x: Any, scale: float | None, zero_point: int | None) -> tuple[float, int]:
    return (x.q_scale() if scale is None else float(scale),
            x.q_zero_point() if zero_point is None else int(zero_point))


def _conv(n: int) -> Callable[..., Any]:
    function = (F.conv1d, F.conv2d, F.conv3d)[n - 1]
    name = f"conv{n}d"

    def conv(input: Any, weight: Any, bias: Tensor | None, stride: Any = 1, padding: Any = 0,
             dilation: Any = 1, groups: int = 1, padding_mode: str = "zeros", scale: float = 1.0,
             zero_point: int = 0, dtype: Any = flambeau.quint8) -> Any:
        x = _weights.expect_quantized(f"{name}()", input)
        if padding_mode != "zeros":
            raise NotImplementedError(f"{name}(): padding_mode is 'zeros' here, not "
                                      f"{padding_mode!r}: pad the input before")
        if dtype is not x.dtype:
            raise NotImplementedError(f"{name}(): the result has the input's dtype, {x.dtype}, "
                                      f"not {dtype}")

        def multiply(a: Tensor, b: Tensor) -> Tensor:
            product: Tensor = function(a, b, None, stride, padding, dilation, groups)
            return product

        return _weights.convolution(x, weight, bias, multiply, (stride, padding, dilation, groups),
                                    float(scale), int(zero_point), False)

    conv.__name__ = conv.__qualname__ = name
    conv.__doc__ = (f"`flambeau.nn.functional.{name}` of a quantized input and weight, with the "
                    "scale and the zero point of the result at the end.")
    return conv


conv1d, conv2d, conv3d = map(_conv, (1, 2, 3))


def _through(function: Any) -> Any:
    name = function.__name__

    def apply(input: Any, scale: float, zero_point: int, *args: Any, **kwargs: Any) -> Any:
        x = _weights.expect_quantized(f"{name}()", input)
        return flambeau.quantize_per_tensor(function(x.dequantize(), *args, **kwargs), scale,
                                            zero_point, x.dtype)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = (f"`flambeau.nn.functional.{name}` of a quantized tensor, with the scale and "
                     "the zero point of the result after it.")
    return apply


celu, elu, hardswish = map(_through, (F.celu, F.elu, F.hardswish))


def clamp(input: Any, min_: float, max_: float) -> Any:
    """Numbers between two, with the scale of the input.

    Args:
        input: A quantized tensor.
        min_: The least number.
        max_: The greatest.
    """
    return flambeau.clamp(input, min_, max_)


def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False,
               scale: float | None = None, zero_point: int | None = None) -> Any:
    """``leaky_relu`` of a quantized tensor.

    Args:
        input: The tensor.
        negative_slope: The slope below zero.
        inplace: Whether the input is written to, where the scale stays.
        scale: Of the result; None: that of the input.
        zero_point: Of the result; None: that of the input.
    """
    if scale is None and zero_point is None:
        return F.leaky_relu(input, negative_slope, inplace)
    numbers = F.leaky_relu(input.dequantize(), negative_slope)
    return flambeau.quantize_per_tensor(numbers, *_scale(input, scale, zero_point), input.dtype)
