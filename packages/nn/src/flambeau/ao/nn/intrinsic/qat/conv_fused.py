r"""Layers with a batch norm behind them, trained with the weight of both rounded.

The weight that will be quantized is :math:`w \gamma / \sigma` with the running deviation. It is
rounded, the layer computes with it, and its result times :math:`\sigma / \gamma` is what the batch
norm is given, which therefore sees batches as it would without rounding.
"""
from __future__ import annotations

from typing import Any

import flambeau
import flambeau.ao.nn.intrinsic.fused as fused
from flambeau import Tensor
from flambeau import nn as layers
from flambeau.ao.nn.qat.modules import Conv1d, Conv2d, Conv3d, Linear, conv_arguments
from flambeau.nn import functional as F
from flambeau.nn.utils.fusion import fuse_conv_bn_weights, fuse_linear_bn_weights

__all__ = ["ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d",
           "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearBn1d", "LinearReLU",
           "freeze_bn_stats", "update_bn_stats"]


class _Normed:
    """A layer with a rounded weight and a batch norm; a ReLU where the class says so."""

    _relu = False
    _version = 2    # of PyTorch's entries, which these are
    bn: Any
    weight: Any
    bias: Any
    weight_fake_quant: Any
    freeze_bn: bool

    def _new_norm(self, kind: Any, features: int, eps: float, momentum: float,
                  freeze: bool) -> None:
        """A batch norm with random factors, as networks that are trained from here begin."""
        self._norm_with(kind(features, eps, momentum), freeze)
        layers.init.uniform_(self.bn.weight)

    def _norm_with(self, bn: Any, freeze: bool = False) -> None:
        self.bn = bn
        self.freeze_bn = freeze
        if freeze:
            self.freeze_bn_stats()

    def _product(self, input: Tensor, weight: Tensor) -> Tensor:
        raise NotImplementedError

    def forward(self, input: Tensor) -> Tensor:
        """The layer with the rounded weight, then the batch norm."""
        deviation = flambeau.sqrt(self.bn.running_var + self.bn.eps)
        factor = self.bn.weight / deviation if self.bn.affine else 1 / deviation
        by_row = factor.reshape(-1, *[1] * (self.weight.ndim - 1))
        rounded = self.weight_fake_quant(self.weight * by_row)
        out = self._product(input, rounded)
        back = [1] * out.ndim
        back[1] = -1
        out = out / factor.reshape(back)
        if self.bias is not None:
            out = out + self.bias.reshape(back)
        out = self.bn(out)
        return F.relu(out) if self._relu else out

    def train(self, mode: bool = True) -> Any:
        """Switch to training; statistics that are frozen stay so."""
        this: Any = super().train(mode)     # type: ignore[misc]
        if mode and this.freeze_bn:
            this.bn.training = False
        return this

    def freeze_bn_stats(self) -> Any:
        """Keep running statistics as they are, and use them."""
        self.freeze_bn = True
        self.bn.training = False
        return self

    def update_bn_stats(self) -> Any:
        """Follow batches again."""
        self.freeze_bn = False
        self.bn.training = True
        return self

    def reset_running_stats(self) -> None:
        """Forget running statistics."""
        self.bn.reset_running_stats()


def freeze_bn_stats(mod: Any) -> None:
    """Keep running statistics as they are, for ``network.apply(freeze_bn_stats)``.

    Args:
        mod: Any module.
    """
    if isinstance(mod, _Normed):
        mod.freeze_bn_stats()


def update_bn_stats(mod: Any) -> None:
    """Let running statistics follow batches, for ``network.apply(update_bn_stats)``.

    Args:
        mod: Any module.
    """
    if isinstance(mod, _Normed):
        mod.update_bn_stats()


class _ConvNormed(_Normed):
    """A convolution with a rounded weight and a batch norm.

    Args:
        in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias,
            padding_mode: Of the convolution.
        eps: What the batch norm adds to variances.
        momentum: How much a batch counts in its running statistics.
        freeze_bn: Whether running statistics are used, and stay as they are.
        qconfig: Its ``weight`` makes the fake quantization.
    """

    _NORM: Any

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
                 padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: Any = None,
                 padding_mode: str = "zeros", eps: float = 1e-5, momentum: float = 0.1,
                 freeze_bn: bool = False, qconfig: Any = None) -> None:
        base: Any = super()
        base.__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
                      bool(bias), padding_mode, qconfig=qconfig)
        self._new_norm(self._NORM, out_channels, eps, momentum, freeze_bn)

    def _product(self, input: Tensor, weight: Tensor) -> Tensor:
        this: Any = self
        return this._conv_forward(input, weight, None)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a fused one, whose parameters it shares."""
        conv, bn, _ = fused.parts(mod)
        this: Any = cls
        made = this(**conv_arguments(conv), qconfig=mod.qconfig)
        made._norm_with(bn)
        return made._taken(conv, made)

    def to_float(self) -> Any:
        """A float layer with the batch norm in its weight, and with the ReLU."""
        this: Any = self
        conv = this._FLOAT_MODULE(**{**conv_arguments(this), "bias": True})
        bn = self.bn
        conv.weight, conv.bias = fuse_conv_bn_weights(
            self.weight, self.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
        return this._FUSED_RELU(conv, layers.ReLU()) if self._relu else conv


def _conv(name: str, base: Any, relu: Any, has_relu: bool) -> Any:
    return type(name, (_ConvNormed, base), {
        "_NORM": getattr(layers, f"BatchNorm{name[-2:]}"), "_relu": has_relu,
        "_FUSED_RELU": relu, "__module__": __name__, "__qualname__": name,
        "__doc__": f"A {base.__name__} with a rounded weight, a batch norm"
                   + (" and a ReLU." if has_relu else ".")})


ConvBn1d: Any = _conv("ConvBn1d", Conv1d, fused.ConvReLU1d, False)
ConvBn2d: Any = _conv("ConvBn2d", Conv2d, fused.ConvReLU2d, False)
ConvBn3d: Any = _conv("ConvBn3d", Conv3d, fused.ConvReLU3d, False)
ConvBnReLU1d: Any = _conv("ConvBnReLU1d", Conv1d, fused.ConvReLU1d, True)
ConvBnReLU2d: Any = _conv("ConvBnReLU2d", Conv2d, fused.ConvReLU2d, True)
ConvBnReLU3d: Any = _conv("ConvBnReLU3d", Conv3d, fused.ConvReLU3d, True)


class LinearBn1d(_Normed, Linear):
    """A linear layer with a rounded weight, and a batch norm.

    Args:
        in_features: Numbers in.
        out_features: Numbers out.
        bias: Whether there is one.
        eps: What the batch norm adds to variances.
        momentum: How much a batch counts in its running statistics.
        freeze_bn: Whether running statistics are used, and stay as they are.
        qconfig: Its ``weight`` makes the fake quantization.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, eps: float = 1e-5,
                 momentum: float = 0.1, freeze_bn: bool = False, qconfig: Any = None) -> None:
        super().__init__(in_features, out_features, bias, qconfig=qconfig)
        self._new_norm(layers.BatchNorm1d, out_features, eps, momentum, freeze_bn)

    def _product(self, input: Tensor, weight: Tensor) -> Tensor:
        return F.linear(input, weight)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a fused one, whose parameters it shares."""
        linear, bn, _ = fused.parts(mod)
        made = cls(linear.in_features, linear.out_features, linear.bias is not None,
                   qconfig=mod.qconfig)
        made._norm_with(bn)
        return made._taken(linear, made)

    def to_float(self) -> Any:
        """A float layer with the batch norm in its weight."""
        made = layers.Linear(self.in_features, self.out_features)
        bn = self.bn
        made.weight, made.bias = fuse_linear_bn_weights(
            self.weight, self.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
        return made


def _with_relu(name: str, base: Any, together: Any) -> Any:
    def forward(self: Any, input: Tensor) -> Tensor:
        """The layer with the rounded weight, then ReLU."""
        return F.relu(base.forward(self, input))

    def to_float(self: Any) -> Any:
        """The float layers with the same parameters."""
        return together(base.to_float(self), layers.ReLU())

    return type(name, (base,), {
        "forward": forward, "to_float": to_float, "__module__": __name__, "__qualname__": name,
        "__doc__": f"A {base.__name__} with a rounded weight, and a ReLU."})


ConvReLU1d: Any = _with_relu("ConvReLU1d", Conv1d, fused.ConvReLU1d)
ConvReLU2d: Any = _with_relu("ConvReLU2d", Conv2d, fused.ConvReLU2d)
ConvReLU3d: Any = _with_relu("ConvReLU3d", Conv3d, fused.ConvReLU3d)
LinearReLU: Any = _with_relu("LinearReLU", Linear, fused.LinearReLU)
