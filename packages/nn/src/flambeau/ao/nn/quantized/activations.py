"""Activations of integers; those that keep the scale of their input compute in integers."""
from __future__ import annotations

import warnings
from typing import Any

import flambeau
from flambeau import nn as layers
from flambeau.ao.nn.quantized._weights import expect_quantized
from flambeau.ao.nn.quantized.computed import Computed, output_scale
from flambeau.ao.nn.quantized.linear import OutputScale
from flambeau.nn import functional as F

__all__ = ["Dropout", "ELU", "Hardswish", "LeakyReLU", "MaxPool2d", "PReLU", "ReLU6", "Sigmoid",
           "Softmax"]


class ReLU6(layers.ReLU6):
    """``min(max(x, 0), 6)`` of integers."""

    def _get_name(self) -> str:
        return "QuantizedReLU6"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> ReLU6:
        """Instead of a float layer."""
        return ReLU6(mod.inplace)


class MaxPool2d(layers.MaxPool2d):
    """`flambeau.nn.MaxPool2d`, which takes integers as it is."""


class Dropout(layers.Dropout):
    """Lets integers pass: quantized networks are not trained."""

    def _get_name(self) -> str:
        return "QuantizedDropout"

    def forward(self, input: Any) -> Any:
        """The input."""
        return input

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Dropout:
        """Instead of a float layer."""
        return cls(mod.p, mod.inplace)


class Hardswish(OutputScale, Computed, layers.Hardswish):
    """`flambeau.nn.Hardswish` of integers.

    Args:
        scale: Of the result.
        zero_point: Of the result.
        device, dtype: Accepted for compatibility.
    """

    _FLOAT = layers.Hardswish

    def __init__(self, scale: float, zero_point: int, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__()
        self._has_scale(scale, zero_point)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Hardswish:
        """Instead of a float layer that was prepared and has seen numbers."""
        return Hardswish(*output_scale(mod))


class ELU(Computed, layers.ELU):
    """`flambeau.nn.ELU` of integers.

    Args:
        scale: Of the result.
        zero_point: Of the result.
        alpha: What the float layer takes.
    """

    _FLOAT = layers.ELU

    def __init__(self, scale: float, zero_point: int, alpha: float = 1.0) -> None:
        super().__init__(alpha)
        self._has_scale(scale, zero_point)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> ELU:
        """Instead of a float layer that was prepared and has seen numbers."""
        return ELU(*output_scale(mod), mod.alpha)


class LeakyReLU(OutputScale, Computed, layers.LeakyReLU):
    """`flambeau.nn.LeakyReLU` of integers.

    Args:
        scale: Of the result.
        zero_point: Of the result.
        negative_slope: What the float layer takes.
        inplace: Accepted for compatibility: the result has another scale than the input.
        device, dtype: Accepted for compatibility.
    """

    _FLOAT = layers.LeakyReLU

    def __init__(self, scale: float, zero_point: int, negative_slope: float = 0.01,
                 inplace: bool = False, device: Any = None, dtype: Any = None) -> None:
        super().__init__(negative_slope, inplace)
        self._has_scale(scale, zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> LeakyReLU:
        """Instead of a float layer that was prepared and has seen numbers."""
        return cls(*output_scale(mod), mod.negative_slope, mod.inplace)


class Sigmoid(Computed, layers.Sigmoid):
    """`flambeau.nn.Sigmoid` of integers.

    Args:
        output_scale: Of the result.
        output_zero_point: Of the result.
    """

    _FLOAT = layers.Sigmoid

    def __init__(self, output_scale: float, output_zero_point: int) -> None:
        super().__init__()
        self._has_scale(output_scale, output_zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Sigmoid:
        """Instead of a float layer that was prepared and has seen numbers."""
        return cls(*output_scale(mod))


class Softmax(Computed, layers.Softmax):
    """`flambeau.nn.Softmax` of integers.

    Args:
        dim: The dimension.
        scale: Of the result.
        zero_point: Of the result.
    """

    _FLOAT = layers.Softmax

    def __init__(self, dim: int | None = None, scale: float = 1.0, zero_point: int = 0) -> None:
        super().__init__(dim)
        self._has_scale(scale, zero_point)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Softmax:
        """Instead of a float layer that was prepared and has seen numbers."""
        return Softmax(mod.dim, *output_scale(mod))


class PReLU(layers.Module):
    """`flambeau.nn.PReLU` of integers, its slopes among them.

    Args:
        output_scale: Of the result.
        output_zero_point: Of the result.
        num_parameters: How many slopes: one, or one for each channel.
    """

    def __init__(self, output_scale: float, output_zero_point: int,
                 num_parameters: int = 1) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.scale, self.zero_point = output_scale, output_zero_point
        self.set_weight(flambeau.quantize_per_tensor(flambeau.randn(num_parameters), 1.0, 0,
                                                     flambeau.quint8))

    def _get_name(self) -> str:
        return "QuantizedPReLU"

    def set_weight(self, w: Any) -> None:
        """Take other slopes, which are quantized."""
        self.weight = w

    def forward(self, input: Any) -> Any:
        """Integers out of integers."""
        x = expect_quantized(self._get_name(), input)
        out = F.prelu(x.dequantize(), self.weight.dequantize())
        return flambeau.quantize_per_tensor(out, float(self.scale), int(self.zero_point), x.dtype)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> PReLU:
        """Instead of a float layer that was prepared and has seen numbers."""
        made = cls(*output_scale(mod), mod.num_parameters)
        slopes, observer = mod.weight.detach().float(), mod.qconfig.weight()
        observer(slopes)
        if observer.dtype is not flambeau.quint8:
            warnings.warn(f"the slopes of PReLU are quantized to quint8, and its qconfig's weight "
                          f"is watched for {observer.dtype}: write weight=default_observer",
                          stacklevel=2)
        scale, zero_point = observer.calculate_qparams()
        made.set_weight(flambeau.quantize_per_tensor(slopes, float(scale), int(zero_point),
                                                     flambeau.quint8))
        return made
