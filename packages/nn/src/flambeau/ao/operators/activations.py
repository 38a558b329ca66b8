"""Activations, norms and pooling of integers: floats compute, and are rounded to a given scale."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.ao.nn.quantized._weights import expect_quantized
from flambeau.nn import functional as F

__all__ = ["batch_norms", "celu", "clamp", "elu", "group_norm", "hardswish", "instance_norm",
           "layer_norm", "leaky_relu", "max_pool1d", "max_pool2d", "prelu", "relu6", "sigmoid",
           "softmax", "threshold"]


def _rounded(numbers: Tensor, x: Any, scale: Any, zero_point: Any) -> Any:
    return flambeau.quantize_per_tensor(numbers.detach(), float(scale), int(zero_point), x.dtype)


def relu6(qx: Any, inplace: bool = False) -> Any:
    """``min(max(x, 0), 6)``, with the scale of the input."""
    return F.relu6(qx, inplace)


def clamp(qx: Any, min: Any = None, max: Any = None) -> Any:
    """Numbers between two, with the scale of the input."""
    return flambeau.clamp(qx, min, max)


def threshold(qx: Any, threshold: float, value: float) -> Any:
    """A value instead of what is not above a threshold, with the scale of the input."""
    return F.threshold(qx, threshold, value)


def sigmoid(qx: Any, output_scale: float, output_zero_point: int) -> Any:
    """``sigmoid`` with a given scale."""
    x = expect_quantized("sigmoid()", qx)
    return _rounded(x.dequantize().sigmoid(), x, output_scale, output_zero_point)


def hardswish(input: Any, output_scale: float, output_zero_point: int) -> Any:
    """``hardswish`` with a given scale."""
    x = expect_quantized("hardswish()", input)
    return _rounded(F.hardswish(x.dequantize()), x, output_scale, output_zero_point)


def celu(self: Any, output_scale: float, output_zero_point: int, alpha: float = 1.0) -> Any:
    """``celu`` with a given scale."""
    x = expect_quantized("celu()", self)
    return _rounded(F.celu(x.dequantize(), alpha), x, output_scale, output_zero_point)


def elu(self: Any, output_scale: float, output_zero_point: int, alpha: float = 1.0,
        scale: float = 1.0, input_scale: float = 1.0) -> Any:
    """``scale * elu(x)`` with a given scale, where ``input_scale`` counts below zero."""
    x = expect_quantized("elu()", self)
    numbers = x.dequantize()
    below = alpha * ((numbers.clamp(max=0) * input_scale).exp() - 1)
    numbers = scale * flambeau.where(numbers > 0, numbers, below)
    return _rounded(numbers, x, output_scale, output_zero_point)


def leaky_relu(qx: Any, negative_slope: float, inplace: bool, output_scale: float,
               output_zero_point: int) -> Any:
    """``leaky_relu`` with a given scale; ``inplace`` has no effect."""
    x = expect_quantized("leaky_relu()", qx)
    return _rounded(F.leaky_relu(x.dequantize(), negative_slope), x, output_scale,
                    output_zero_point)


def softmax(qx: Any, dim: int, output_scale: float, output_zero_point: int) -> Any:
    """``softmax`` along a dimension, with a given scale."""
    x = expect_quantized("softmax()", qx)
    return _rounded(x.dequantize().softmax(dim), x, output_scale, output_zero_point)


def prelu(qx: Any, weight: Any, output_scale: float, output_zero_point: int) -> Any:
    """``prelu`` with quantized slopes and a given scale."""
    x = expect_quantized("prelu()", qx)
    return _rounded(F.prelu(x.dequantize(), weight.dequantize()), x, output_scale,
                    output_zero_point)


# ---- norms ---------------------------------------------------------------------------------------
def layer_norm(input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float,
               output_scale: float, output_zero_point: int) -> Any:
    """``layer_norm`` with a given scale."""
    x = expect_quantized("layer_norm()", input)
    numbers = F.layer_norm(x.dequantize(), normalized_shape, weight, bias, eps)
    return _rounded(numbers, x, output_scale, output_zero_point)


def group_norm(qx: Any, num_groups: int, weight: Any, bias: Any, eps: float, output_scale: float,
               output_zero_point: int) -> Any:
    """``group_norm`` with a given scale."""
    x = expect_quantized("group_norm()", qx)
    numbers = F.group_norm(x.dequantize(), num_groups, weight, bias, eps)
    return _rounded(numbers, x, output_scale, output_zero_point)


def instance_norm(qx: Any, weight: Any, bias: Any, eps: float, output_scale: float,
                  output_zero_point: int) -> Any:
    """``instance_norm`` with a given scale."""
    x = expect_quantized("instance_norm()", qx)
    numbers = F.instance_norm(x.dequantize(), weight=weight, bias=bias, eps=eps)
    return _rounded(numbers, x, output_scale, output_zero_point)


def _batch_norm(relu: bool) -> Callable[..., Any]:
    def normalize(qx: Any, weight: Any, bias: Any, mean: Any, var: Any, eps: float,
                  output_scale: float, output_zero_point: int) -> Any:
        x = expect_quantized("batch_norm()", qx)
        numbers = F.batch_norm(x.dequantize(), mean, var, weight, bias, False, 0.0, eps)
        return _rounded(F.relu(numbers) if relu else numbers, x, output_scale, output_zero_point)

    return normalize


def batch_norms() -> dict[str, Callable[..., Any]]:
    """The operators of batch norms, by name."""
    return {f"batch_norm{which}{end}": _batch_norm(bool(end))
            for which in ("", "1d", "2d", "3d") for end in ("", "_relu")}


# ---- pooling -------------------------------------------------------------------------------------
def max_pool1d(qx: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
               ceil_mode: bool = False) -> Any:
    """``max_pool1d``, with the scale of the input."""
    return flambeau.quantized_max_pool1d(qx, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(qx: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
               ceil_mode: bool = False) -> Any:
    """``max_pool2d``, with the scale of the input."""
    return flambeau.quantized_max_pool2d(qx, kernel_size, stride, padding, dilation, ceil_mode)
