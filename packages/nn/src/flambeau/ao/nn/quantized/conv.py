"""Convolutions with integers for weights, inputs and outputs."""
from __future__ import annotations

from typing import Any

import flambeau
import flambeau.ao.nn.intrinsic.fused as fused
import flambeau.ao.nn.quantized._weights as _weights
from flambeau import Tensor
from flambeau import nn as layers
from flambeau.ao.nn.qat.modules import conv_arguments
from flambeau.ao.nn.quantized.computed import output_scale
from flambeau.ao.nn.quantized.linear import OutputScale, weight_and_bias
from flambeau.ao.operators.products import Convolution
from flambeau.nn import Module
from flambeau.nn import functional as F
from flambeau.nn.utils.fusion import fuse_conv_bn_weights

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]


class _Conv(OutputScale, Module):
    """A convolution of integers; the float layer that it keeps knows the sizes."""

    _relu = False
    _FLOAT: Any

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
                 padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
                 padding_mode: str = "zeros", device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        sizes = self._FLOAT(in_channels, out_channels, kernel_size, stride, padding, dilation,
                            groups=groups, bias=bias, padding_mode=padding_mode, device="meta")
        self._take_sizes(sizes)

    def _take_sizes(self, sizes: Any) -> None:
        self.__dict__["_sizes"] = sizes
        for name in ("in_channels", "out_channels", "kernel_size", "stride", "padding",
                     "dilation", "groups", "padding_mode", "output_padding", "transposed"):
            setattr(self, name, getattr(sizes, name))
        self.scale, self.zero_point = 1.0, 0
        weight = flambeau.zeros(sizes.weight.shape)
        self.set_weight_bias(flambeau.quantize_per_tensor(weight, 1.0, 0, flambeau.qint8),
                             None if sizes.bias is None else flambeau.zeros(sizes.out_channels))

    def _get_name(self) -> str:
        kind = self._FLOAT.__name__
        return f"QuantizedConvReLU{kind[-2:]}" if self._relu else f"Quantized{kind}"

    def extra_repr(self) -> str:
        """Sizes and scales."""
        words = self._sizes.extra_repr().split(", bias=")[0]
        words += f", scale={self.scale}, zero_point={self.zero_point}"
        return words + (", bias=False" if self.bias() is None else "")

    def _multiply(self, x: Tensor, weight: Tensor) -> Tensor:
        product: Tensor = self._sizes._conv_forward(x, weight, None)
        return product

    def forward(self, input: Any) -> Any:
        """Integers out of integers."""
        x = _weights.expect_quantized(self._get_name(), input)
        n = len(self.kernel_size)
        if x.ndim not in (n + 1, n + 2):
            raise ValueError(f"{self._get_name()}: the input must have {n + 1} or {n + 2} "
                             f"dimensions, and has shape {list(x.shape)}")
        return self._product(x)

    def _product(self, x: Any) -> Any:
        if self.padding_mode != "zeros":
            return _weights.product(x, self.weight(), self.bias(), self._multiply, self.scale,
                                    self.zero_point, self._relu, -1 - len(self.kernel_size))
        return _weights.convolution(x, self.weight(), self.bias(), self._multiply,
                                    (self.stride, self.padding, self.dilation, self.groups),
                                    self.scale, self.zero_point, self._relu)

    def set_weight_bias(self, w: Any, b: Tensor | None) -> None:
        """Take another weight and bias."""
        self.__dict__["_weight"], self.__dict__["_bias"] = w, b

    @property
    def _packed_params(self) -> Convolution:
        s = self._sizes
        return Convolution(self._weight, self._bias, s.stride, s.padding, s.output_padding,
                           s.dilation, s.groups, s.transposed)

    def _weight_bias(self) -> tuple[Any, Tensor | None]:
        return self._weight, self._bias

    def weight(self) -> Any:
        """The quantized weight."""
        return self._weight

    def bias(self) -> Tensor | None:
        """The bias, in float32."""
        return self._bias

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Write weight, bias and output scale."""
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "weight"] = self.weight()
        destination[prefix + "bias"] = self.bias()

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool,
                              missing_keys: Any, unexpected_keys: Any, error_msgs: Any) -> None:
        """Read weight, bias and output scale."""
        missing_keys += [prefix + name for name in ("weight", "bias")
                         if strict and prefix + name not in state_dict]
        self.set_weight_bias(state_dict.pop(prefix + "weight", self.weight()),
                             state_dict.pop(prefix + "bias", self.bias()))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys,
                                      unexpected_keys, error_msgs)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized form of a layer that was prepared and has seen numbers."""
        scale, zero_point = output_scale(mod)
        if isinstance(mod, fused._FusedModule):
            conv, norm, _ = fused.parts(mod)
            if norm is not None:
                conv.weight, conv.bias = fuse_conv_bn_weights(
                    conv.weight, conv.bias, norm.running_mean, norm.running_var, norm.eps,
                    norm.weight, norm.bias)
            conv.qconfig = mod.qconfig
            mod = conv
        weight, bias = weight_and_bias(mod)
        made = cls(**{**conv_arguments(mod), "bias": bias is not None})
        made.set_weight_bias(weight, bias)
        made.scale, made.zero_point = scale, zero_point
        return made


class Conv1d(_Conv):
    """`flambeau.nn.Conv1d` of integers, with the arguments of that layer."""

    _FLOAT: Any = layers.Conv1d


class Conv2d(_Conv):
    """`flambeau.nn.Conv2d` of integers, with the arguments of that layer."""

    _FLOAT: Any = layers.Conv2d


class Conv3d(_Conv):
    """`flambeau.nn.Conv3d` of integers, with the arguments of that layer."""

    _FLOAT: Any = layers.Conv3d


class _ConvTranspose(_Conv):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
                 padding: Any = 0, output_padding: Any = 0, groups: int = 1, bias: bool = True,
                 dilation: Any = 1, padding_mode: str = "zeros", device: Any = None,
                 dtype: Any = None) -> None:
        Module.__init__(self)
        sizes = self._FLOAT(in_channels, out_channels, kernel_size, stride, padding,
                            output_padding, groups, bias, dilation, padding_mode, device="meta")
        self._take_sizes(sizes)

    def _multiply(self, x: Tensor, weight: Tensor) -> Tensor:
        s = self._sizes
        functions = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)
        return functions[len(s.kernel_size) - 1](x, weight, None, s.stride, s.padding,
                                                 s.output_padding, s.groups, s.dilation)

    def _product(self, x: Any) -> Any:
        return _weights.product(x, self.weight(), self.bias(), self._multiply, self.scale,
                                self.zero_point, self._relu, -1 - len(self.kernel_size))

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized form of a layer that was prepared and has seen numbers."""
        weight, bias = weight_and_bias(mod)
        if weight._quantizer.axis is not None:
            raise NotImplementedError(f"{cls.__name__}: weights of transposed convolutions have "
                                      "one scale: write default_qconfig for this layer")
        made = cls(**{**conv_arguments(mod), "bias": bias is not None,
                      "output_padding": mod.output_padding})
        made.set_weight_bias(weight, bias)
        made.scale, made.zero_point = output_scale(mod)
        return made


class ConvTranspose1d(_ConvTranspose):
    """`flambeau.nn.ConvTranspose1d` of integers, with the arguments of that layer."""

    _FLOAT: Any = layers.ConvTranspose1d


class ConvTranspose2d(_ConvTranspose):
    """`flambeau.nn.ConvTranspose2d` of integers, with the arguments of that layer."""

    _FLOAT: Any = layers.ConvTranspose2d


class ConvTranspose3d(_ConvTranspose):
    """`flambeau.nn.ConvTranspose3d` of integers, with the arguments of that layer."""

    _FLOAT: Any = layers.ConvTranspose3d
