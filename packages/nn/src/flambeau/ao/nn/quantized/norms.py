"""Norms of integers: computed in floats, with integers out."""
from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor
from flambeau import nn as layers
from flambeau.ao.nn.quantized._weights import expect_quantized
from flambeau.ao.nn.quantized.computed import Computed, output_scale
from flambeau.ao.nn.quantized.linear import OutputScale
from flambeau.nn import functional as F

__all__ = ["BNReLU2d", "BNReLU3d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "InstanceNorm1d",
           "InstanceNorm2d", "InstanceNorm3d", "LayerNorm"]


class LayerNorm(OutputScale, Computed, layers.LayerNorm):
    """`flambeau.nn.LayerNorm` of integers.

    Args:
        normalized_shape: What the float layer takes.
        weight, bias: Its parameters.
        scale, zero_point: Of the result.
        eps, elementwise_affine: What the float layer takes.
        device, dtype: Accepted for compatibility.
    """

    _FLOAT = layers.LayerNorm

    def __init__(self, normalized_shape: Any, weight: Any, bias: Any, scale: float,
                 zero_point: int, eps: float = 1e-5, elementwise_affine: bool = True,
                 device: Any = None, dtype: Any = None) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine)
        self.weight, self.bias = weight, bias
        self._has_scale(scale, zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> LayerNorm:
        """Instead of a float layer that was prepared and has seen numbers."""
        return cls(mod.normalized_shape, mod.weight, mod.bias, *output_scale(mod), mod.eps,
                   mod.elementwise_affine)


class GroupNorm(OutputScale, Computed, layers.GroupNorm):
    """`flambeau.nn.GroupNorm` of integers.

    Args:
        num_groups, num_channels: What the float layer takes.
        weight, bias: Its parameters.
        scale, zero_point: Of the result.
        eps, affine: What the float layer takes.
        device, dtype: Accepted for compatibility.
    """

    _FLOAT = layers.GroupNorm

    def __init__(self, num_groups: int, num_channels: int, weight: Any, bias: Any, scale: float,
                 zero_point: int, eps: float = 1e-5, affine: bool = True, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__(num_groups, num_channels, eps, affine)
        self.weight, self.bias = weight, bias
        self._has_scale(scale, zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> GroupNorm:
        """Instead of a float layer that was prepared and has seen numbers."""
        return cls(mod.num_groups, mod.num_channels, mod.weight, mod.bias, *output_scale(mod),
                   mod.eps, mod.affine)


class _InstanceNorm(OutputScale, Computed):
    """An instance norm of integers.

    Args:
        num_features: What the float layer takes.
        weight, bias: Its parameters, or None.
        scale, zero_point: Of the result.
        eps, momentum, affine, track_running_stats: What the float layer takes; statistics are
            those of each input.
        device, dtype: Accepted for compatibility.
    """

    eps: float
    weight: Any
    bias: Any

    def __init__(self, num_features: int, weight: Any, bias: Any, scale: float, zero_point: int,
                 eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
                 track_running_stats: bool = False, device: Any = None, dtype: Any = None) -> None:
        base: Any = super()
        base.__init__(num_features, eps, momentum, affine, track_running_stats)
        self.weight, self.bias = weight, bias
        self._has_scale(scale, zero_point)

    def forward(self, input: Any) -> Any:
        """Integers out of integers."""
        x = expect_quantized(self._get_name(), input)
        out = F.instance_norm(x.dequantize(), None, None, self.weight, self.bias, eps=self.eps)
        return flambeau.quantize_per_tensor(out.detach(), self.scale, self.zero_point, x.dtype)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Instead of a float layer that was prepared and has seen numbers."""
        return cls(mod.num_features, mod.weight, mod.bias, *output_scale(mod), mod.eps,
                   affine=mod.affine)


class InstanceNorm1d(_InstanceNorm, layers.InstanceNorm1d):
    """`flambeau.nn.InstanceNorm1d` of integers."""

    _FLOAT = layers.InstanceNorm1d


class InstanceNorm2d(_InstanceNorm, layers.InstanceNorm2d):
    """`flambeau.nn.InstanceNorm2d` of integers."""

    _FLOAT = layers.InstanceNorm2d


class InstanceNorm3d(_InstanceNorm, layers.InstanceNorm3d):
    """`flambeau.nn.InstanceNorm3d` of integers."""

    _FLOAT = layers.InstanceNorm3d


class _BatchNorm(OutputScale, Computed):
    """A batch norm of integers, by its running statistics.

    Args:
        num_features, eps, momentum: What the float layer takes.
        device, dtype: Accepted for compatibility.
    """

    _relu = False
    num_features: int
    eps: float
    running_mean: Tensor | None
    running_var: Tensor | None
    weight: Any
    bias: Any

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1,
                 device: Any = None, dtype: Any = None) -> None:
        base: Any = super()
        base.__init__(num_features, eps, momentum)
        self._has_scale(1.0, 0)

    def forward(self, input: Any) -> Any:
        """Integers out of integers."""
        x = expect_quantized(self._get_name(), input)
        out = F.batch_norm(x.dequantize(), self.running_mean, self.running_var, self.weight,
                           self.bias, False, 0.0, self.eps).detach()
        out = F.relu(out) if self._relu else out
        return flambeau.quantize_per_tensor(out, self.scale, self.zero_point, x.dtype)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Instead of a float layer that was prepared and has seen numbers."""
        scale, zero_point = output_scale(mod)
        norm = mod[0] if isinstance(mod, layers.Sequential) else mod
        made = cls(norm.num_features, norm.eps)
        for name in ("weight", "bias", "running_mean", "running_var"):
            setattr(made, name, getattr(norm, name))
        made._has_scale(scale, zero_point)
        return made


class BatchNorm2d(_BatchNorm, layers.BatchNorm2d):
    """`flambeau.nn.BatchNorm2d` of integers."""

    _FLOAT = layers.BatchNorm2d


class BatchNorm3d(_BatchNorm, layers.BatchNorm3d):
    """`flambeau.nn.BatchNorm3d` of integers."""

    _FLOAT = layers.BatchNorm3d


class BNReLU2d(BatchNorm2d):
    """A batch norm and a ReLU of integers."""

    _relu = True


class BNReLU3d(BatchNorm3d):
    """A batch norm and a ReLU of integers."""

    _relu = True
