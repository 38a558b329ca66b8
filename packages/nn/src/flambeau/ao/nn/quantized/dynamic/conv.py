"""Convolutions with weights of integers, for floats."""
from __future__ import annotations

from typing import Any

import flambeau
import flambeau.ao.nn.quantized._weights as _weights
import flambeau.ao.nn.quantized.conv as static
from flambeau import Tensor
from flambeau.ao.nn.qat.modules import conv_arguments
from flambeau.ao.nn.quantized.dynamic.linear import dynamic_weight

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]


class _Dynamic:
    """The input is quantized as it comes, with one scale; the result is of floats."""

    _FLOAT: Any

    def forward(self, input: Tensor, reduce_range: bool = True) -> Tensor:
        """Floats out of floats."""
        this: Any = self
        x = flambeau.quantize_per_tensor_dynamic(input.detach().float(), flambeau.quint8,
                                                 reduce_range)
        weight, bias = this.weight(), this.bias()
        sums: Tensor = this._multiply(_weights.centered(x), _weights.centered(weight))
        along = [-1, *[1] * len(this.kernel_size)]
        out = sums * (x.q_scale() * _weights.scales_of(weight)).reshape(along)
        return out if bias is None else out + bias.detach().reshape(along)

    def _get_name(self) -> str:
        return f"DynamicQuantized{self._FLOAT.__name__}"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized form of a float layer."""
        this: Any = cls
        more = {"output_padding": mod.output_padding} if mod.transposed else {}
        made = this(**conv_arguments(mod), **more)
        made.set_weight_bias(dynamic_weight(mod.weight, getattr(mod, "qconfig", None)), mod.bias)
        return made


class Conv1d(_Dynamic, static.Conv1d):
    """`flambeau.nn.Conv1d` with a weight of ``qint8``, with the arguments of that layer."""


class Conv2d(_Dynamic, static.Conv2d):
    """`flambeau.nn.Conv2d` with a weight of ``qint8``, with the arguments of that layer."""


class Conv3d(_Dynamic, static.Conv3d):
    """`flambeau.nn.Conv3d` with a weight of ``qint8``, with the arguments of that layer."""


class ConvTranspose1d(_Dynamic, static.ConvTranspose1d):
    """`flambeau.nn.ConvTranspose1d` with a weight of ``qint8``."""


class ConvTranspose2d(_Dynamic, static.ConvTranspose2d):
    """`flambeau.nn.ConvTranspose2d` with a weight of ``qint8``."""


class ConvTranspose3d(_Dynamic, static.ConvTranspose3d):
    """`flambeau.nn.ConvTranspose3d` with a weight of ``qint8``."""
