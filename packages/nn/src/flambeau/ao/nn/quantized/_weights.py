"""Weights of integers, and the products with them that quantized layers share.

Sums of integers are exact, are scaled once in float32, rounded, and clamped to the dtype. Kernels
of integers compute them (`_integers.py`); where these have no form for a weight, as for one with
zero points or of a transposed convolution, floats do, wide enough to hold each sum.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
import flambeau.ao.nn.quantized._integers as _integers
from flambeau import Tensor
from flambeau.core.quantized.schemes import RANGES, Quantizer
from flambeau.core.quantized.tensor import QuantizedTensor, wrap
from flambeau.nn import functional as F

Product = Callable[[Tensor, Tensor], Tensor]


def quantized_weight(weight: Tensor, observer: Any) -> QuantizedTensor:
    """A weight as integers, with the scales that an observer knows or finds.

    Args:
        weight: Floats.
        observer: What knows scales; it is shown the weight where it has seen nothing.

    Raises:
        ValueError: The observer wants another dtype than ``qint8``.
    """
    if observer.dtype is not flambeau.qint8:
        raise ValueError(f"weights are quantized to qint8, and the observer of the QConfig says "
                         f"{observer.dtype}: write e.g. default_weight_observer")
    weight = weight.detach().float()
    scale, zero = observer.calculate_qparams()
    made: QuantizedTensor
    if observer.qscheme in (flambeau.per_tensor_affine, flambeau.per_tensor_symmetric):
        made = flambeau.quantize_per_tensor(weight, float(scale), int(zero), flambeau.qint8)
    else:
        made = flambeau.quantize_per_channel(weight, scale.double(), zero.long(),
                                             observer.ch_axis, flambeau.qint8)
    return made


def centered(x: QuantizedTensor) -> Tensor:
    """What the integers of a tensor differ from its zero points by, in float32."""
    quantizer = x._quantizer
    if quantizer.axis is None:
        return x._values.float() - float(quantizer.zero_point)
    return x._values.float() - quantizer.along(quantizer.zero_point.float(), x.ndim)


def scales_of(weight: QuantizedTensor) -> Tensor:
    """The scales of a weight in float32: one, or one for each row."""
    scale = weight._quantizer.scale
    return scale.float() if isinstance(scale, Tensor) else flambeau.tensor([float(scale)])


def expect_quantized(layer: str, x: Any) -> QuantizedTensor:
    """The input of a quantized layer.

    Raises:
        TypeError: It is not quantized.
    """
    if not isinstance(x, QuantizedTensor) or x._quantizer.axis is not None:
        raise TypeError(f"{layer}: the input must be quantized with one scale, and it is "
                        f"{getattr(x, 'dtype', type(x).__name__)}: put a QuantStub before this "
                        "layer, or write quantize_per_tensor(x, scale, zero_point, dtype)")
    return x


def product(x: QuantizedTensor, weight: QuantizedTensor, bias: Tensor | None, multiply: Product,
            scale: float, zero_point: int, relu: bool, channels: int) -> QuantizedTensor:
    """A layer's result by floats: scaled, rounded, clamped.

    Args:
        x: The input.
        weight: Its weight.
        bias: Floats, or None.
        multiply: The layer's product of two float tensors, without bias.
        scale: Of the result.
        zero_point: Of the result.
        relu: Whether what is below zero becomes zero.
        channels: The dimension of the result that the bias runs along.
    """
    a, b = centered(x), centered(weight)
    if 255 * 255 * weight.numel() >= 2**24 * min(weight.shape[:2]):
        a, b = a.double(), b.double()
    sums = multiply(a, b).float()
    along = [1] * sums.ndim
    along[channels] = -1
    one = float(x._quantizer.scale) * scales_of(weight)     # what one of the sums is worth
    if bias is not None:
        sums = sums + (bias.detach().float() / one).reshape(along)
    numbers = flambeau.round(sums * (one / scale).reshape(along)) + zero_point
    low, high = RANGES[x._dtype]
    integers = numbers.clamp(max(low, zero_point) if relu else low, high)
    return wrap(integers.to(x._values.dtype), x._dtype, Quantizer(scale, zero_point))


def linear(x: QuantizedTensor, weight: QuantizedTensor, bias: Tensor | None, scale: float,
           zero_point: int, relu: bool) -> QuantizedTensor:
    """The result of a linear layer; arguments are those of `product`."""
    made = _integers.linear(x, weight, bias, scale, zero_point, relu)
    if made is None:
        return product(x, weight, bias, F.linear, scale, zero_point, relu, -1)
    return made


def convolution(x: QuantizedTensor, weight: QuantizedTensor, bias: Tensor | None,
                multiply: Product, window: tuple[Any, Any, Any, int], scale: float,
                zero_point: int, relu: bool) -> QuantizedTensor:
    """The result of a convolution; other arguments are those of `product`.

    Args:
        window: Stride, padding, dilation and groups, as a convolution takes them.
    """
    n = weight.ndim - 2
    sizes = _integers.window_of(window, tuple(weight.shape[2:]))
    made = sizes and _integers.convolution(x, weight, bias, sizes, scale, zero_point, relu)
    if made is None:
        return product(x, weight, bias, multiply, scale, zero_point, relu, -1 - n)
    return made
