"""Linear layers and convolutions with weights of integers, packed with all else that they need."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import flambeau
import flambeau.ao.nn.quantized._weights as _weights
from flambeau import Tensor
from flambeau.nn import functional as F

__all__ = ["Convolution", "PackedLinear", "convolutions", "linear", "linear_dynamic",
           "linear_dynamic_fp16", "linear_leaky_relu", "linear_prepack", "linear_prepack_fp16",
           "linear_relu", "linear_relu_dynamic", "linear_relu_dynamic_fp16", "linear_tanh",
           "linear_unpack"]


class PackedLinear(NamedTuple):
    """A weight and a bias, or None."""

    weight: Any
    shift: Any

    def bias(self) -> Any:
        """The bias, or None."""
        return self.shift

    def unpack(self) -> tuple[Any, Any]:
        """The weight and the bias."""
        return linear_unpack(self)


def linear_prepack(W: Any, B: Any = None) -> PackedLinear:
    """A weight of ``qint8`` and a bias, for the other operators."""
    return PackedLinear(W, B)


def linear_prepack_fp16(W: Any, B: Any = None) -> PackedLinear:
    """A weight rounded to ``float16``, where what is beyond its range is its end, and a bias."""
    limit = flambeau.finfo(flambeau.float16).max
    return PackedLinear(W.detach().clamp(-limit, limit).half(), B)


def linear_unpack(W_prepack: Any) -> tuple[Any, Any]:
    """The weight and the bias; a weight of ``float16`` as ``float32``."""
    weight, bias = W_prepack
    return (weight.float() if weight.dtype is flambeau.float16 else weight), bias


def linear(X: Any, W_prepack: Any, Y_scale_i: Any, Y_zero_point_i: Any) -> Any:
    """A product of integers."""
    return _linear("linear()", X, W_prepack, Y_scale_i, Y_zero_point_i, False)


def linear_relu(X: Any, W_prepack: Any, Y_scale_i: Any, Y_zero_point_i: Any) -> Any:
    """``relu`` of a product of integers."""
    return _linear("linear_relu()", X, W_prepack, Y_scale_i, Y_zero_point_i, True)


def _linear(name: str, X: Any, packed: Any, scale: Any, zero_point: Any, relu: bool) -> Any:
    weight, bias = packed
    return _weights.linear(_weights.expect_quantized(name, X), weight, bias, float(scale),
                           int(zero_point), relu)


def _then(function: Callable[..., Tensor]) -> Any:
    def product(X: Any, W_prepack: Any, Y_scale_i: Any, Y_zero_point_i: Any, *args: Any,
                **kwargs: Any) -> Any:
        weight, bias = W_prepack
        out = F.linear(X.dequantize(), weight.dequantize(), bias)
        return flambeau.quantize_per_tensor(function(out.detach(), *args, **kwargs),
                                            float(Y_scale_i), int(Y_zero_point_i), X.dtype)

    return product


linear_leaky_relu, linear_tanh = _then(F.leaky_relu), _then(flambeau.tanh)


def _rounded(X: Tensor, reduce_range: bool) -> Any:
    return flambeau.quantize_per_tensor_dynamic(X.detach().float(), flambeau.quint8, reduce_range)


def linear_dynamic(X: Tensor, W_prepack: Any, reduce_range: bool = False) -> Tensor:
    """A product of floats, rounded as they come with one scale, and a weight of integers."""
    weight, bias = W_prepack
    return F.linear(_rounded(X, reduce_range).dequantize(), weight.dequantize(), bias)


def linear_relu_dynamic(X: Tensor, W_prepack: Any, reduce_range: bool = False) -> Tensor:
    """``relu`` of `linear_dynamic`."""
    return F.relu(linear_dynamic(X, W_prepack, reduce_range))


def linear_dynamic_fp16(X: Tensor, W_prepack: Any) -> Tensor:
    """A product of floats with a weight that was rounded to ``float16``."""
    weight, bias = W_prepack
    return F.linear(X, weight.float(), bias)


def linear_relu_dynamic_fp16(X: Tensor, W_prepack: Any) -> Tensor:
    """``relu`` of `linear_dynamic_fp16`."""
    return F.relu(linear_dynamic_fp16(X, W_prepack))


class Convolution(NamedTuple):
    """The weight, the bias and the window of a convolution."""

    weight: Any
    bias: Any
    stride: tuple[int, ...]
    padding: Any
    output_padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int
    transposed: bool

    def unpack(self) -> tuple[Any, Any]:
        """The weight and the bias."""
        return self.weight, self.bias

    @property
    def sizes(self) -> int:
        """How many dimensions the window has."""
        return int(self.weight.ndim) - 2

    def multiply(self, x: Tensor, weight: Tensor) -> Tensor:
        """The convolution of floats, without bias."""
        n = self.sizes
        if self.transposed:
            function: Any = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[n - 1]
            return function(x, weight, None, self.stride, self.padding,
                            self.output_padding, self.groups, self.dilation)
        function = (F.conv1d, F.conv2d, F.conv3d)[n - 1]
        return function(x, weight, None, self.stride, self.padding,
                        self.dilation, self.groups)

    def integers(self, x: Any, scale: float, zero_point: int, relu: bool) -> Any:
        """The convolution of integers, with a scale for the result."""
        if self.transposed:
            return _weights.product(x, self.weight, self.bias, self.multiply, scale, zero_point,
                                    relu, -1 - self.sizes)
        window = (self.stride, self.padding, self.dilation, self.groups)
        return _weights.convolution(x, self.weight, self.bias, self.multiply, window, scale,
                                    zero_point, relu)

    def floats(self, x: Tensor) -> Tensor:
        """The convolution of floats with what the weight stands for."""
        out = self.multiply(x, self.weight.dequantize())
        if self.bias is None:
            return out
        return out + self.bias.detach().reshape(-1, *[1] * self.sizes)


def _spread(value: Any, n: int) -> tuple[int, ...]:
    found = (value,) if isinstance(value, int) else tuple(value)
    return found * n if len(found) == 1 else found


def _pack(n: int) -> Callable[..., Convolution]:
    def prepack(weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any,
                groups: int) -> Convolution:
        return Convolution(weight, bias, _spread(stride, n), padding, (0,) * n,
                           _spread(dilation, n), groups, False)

    return prepack


def _pack_transposed(n: int) -> Callable[..., Convolution]:
    def prepack(weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any,
                dilation: Any, groups: int) -> Convolution:
        return Convolution(weight, bias, _spread(stride, n), _spread(padding, n),
                           _spread(output_padding, n), _spread(dilation, n), groups, True)

    return prepack


def _convolved(name: str, relu: bool) -> Callable[..., Any]:
    def convolve(qx: Any, packed_weight: Convolution, output_scale: float,
                 output_zero_point: int) -> Any:
        x = _weights.expect_quantized(name, qx)
        return packed_weight.integers(x, float(output_scale), int(output_zero_point), relu)

    return convolve


def _dynamic(qx: Tensor, packed_weight: Convolution, reduce_range: bool = False) -> Tensor:
    """A convolution of floats that are rounded as they come."""
    return packed_weight.floats(_rounded(qx, reduce_range).dequantize())


def _added(relu: bool) -> Callable[..., Any]:
    def convolve(qx: Any, qaccum: Any, packed_weight: Convolution, output_scale: float,
                 output_zero_point: int) -> Any:
        out = packed_weight.floats(qx.dequantize()) + qaccum.dequantize()
        return flambeau.quantize_per_tensor(F.relu(out) if relu else out, float(output_scale),
                                            int(output_zero_point), qx.dtype)

    return convolve


def _unpack(packed_weights: Convolution) -> tuple[Any, Any]:
    weight, bias, *_ = packed_weights
    return weight, bias


def convolutions() -> dict[str, Callable[..., Any]]:
    """All operators of convolutions, by name."""
    found: dict[str, Callable[..., Any]] = {
        "conv_prepack": _pack(2), "conv_unpack": _unpack, "conv2d_add": _added(False),
        "conv2d_add_relu": _added(True)}
    for n in (1, 2, 3):
        plain, transposed = f"conv{n}d", f"conv_transpose{n}d"
        for name, pack in ((plain, _pack(n)), (transposed, _pack_transposed(n))):
            found |= {name: _convolved(name, False), f"{name}_prepack": pack,
                      f"{name}_unpack": _unpack, f"{name}_dynamic": _dynamic}
        found[f"{plain}_relu"] = _convolved(f"{plain}_relu", True)
    return found
