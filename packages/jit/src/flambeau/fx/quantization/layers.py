"""The layer of integers for a layer that knows the integers of its weight."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import nn
from flambeau.ao.nn import intrinsic, quantized
from flambeau.ao.quantization import FixedQParamsObserver
from flambeau.ao.quantization.quantization_mappings import DEFAULT_STATIC_QUANT_MODULE_MAPPINGS

_reference = quantized.reference
_CONVOLUTIONS = (_reference.Conv1d, _reference.Conv2d, _reference.Conv3d)
_TRANSPOSED = (_reference.ConvTranspose1d, _reference.ConvTranspose2d, _reference.ConvTranspose3d)
_STEPS = (_reference.LSTM, _reference.GRU, _reference.LSTMCell, _reference.GRUCell,
          _reference.RNNCell)
_PLAIN = (nn.BatchNorm2d, nn.BatchNorm3d, intrinsic.BNReLU2d, intrinsic.BNReLU3d, nn.ELU,
          nn.Hardswish, nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d, nn.LayerNorm,
          nn.GroupNorm, nn.LeakyReLU, nn.PReLU, nn.Softmax)


def lowered_layer(module: Any, way: str, scale: tuple[Any, Any] | None) -> Any:
    """The layer of integers; None where there is none.

    Args:
        module: A reference layer, one in a row with a ReLU, or a float layer.
        way: ``"static"`` where the input is integers, ``"dynamic"`` where it is rounded as it
            comes, ``"floats"`` where it is not rounded.
        scale: Scale and zero point of the result; None where it stays floats.
    """
    inner = module[0] if isinstance(module, intrinsic._FusedModule) else module
    marked = getattr(module, "_quantized_by", None)
    if marked == "weight":
        return _table(inner)
    if marked == "dynamic" and way != "static":
        return _dynamic(module, inner)
    if way != "static" or scale is None:
        return None
    if isinstance(inner, _reference.Linear) or isinstance(inner, _CONVOLUTIONS + _TRANSPOSED):
        return _weighted(module, inner, scale)
    if type(module) in _PLAIN:
        module.activation_post_process = FixedQParamsObserver(*_numbers(scale))
        known = {**DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, nn.Softmax: quantized.Softmax}
        return known[type(module)].from_float(module)
    return None


def _numbers(scale: tuple[Any, Any]) -> tuple[float, int]:
    return float(scale[0]), int(scale[1])


def _weighted(module: Any, inner: Any, scale: tuple[Any, Any]) -> Any:
    name = type(inner).__name__
    space = quantized if inner is module else intrinsic.quantized
    kind = getattr(space, name if inner is module else type(module).__name__, None)
    weight = inner.get_quantized_weight()
    if kind is None or not weight.is_quantized or weight.dtype is not flambeau.qint8:
        return None
    made = kind(**{**inner._arguments(inner), **({"bias_": inner.bias is not None}
                                                 if name == "Linear" else {})})
    made.set_weight_bias(weight, inner.bias)
    made.scale, made.zero_point = _numbers(scale)
    return made


def _dynamic(module: Any, inner: Any) -> Any:
    dynamic = quantized.dynamic
    if isinstance(inner, _STEPS):
        return getattr(dynamic, type(inner).__name__).from_float(inner)
    if not isinstance(inner, _reference.Linear):
        return None
    kind = dynamic.Linear if inner is module else intrinsic.quantized.dynamic.LinearReLU
    weight = inner.get_quantized_weight()
    made = kind(inner.in_features, inner.out_features, inner.bias is not None)
    made._packed_params.dtype = weight.dtype
    made.set_weight_bias(weight, inner.bias)
    return made


def _table(inner: Any) -> Any:
    kind = getattr(quantized, type(inner).__name__)
    made = kind(inner.num_embeddings, inner.embedding_dim)
    made.set_weight(inner.get_quantized_weight())
    made.padding_idx = inner.padding_idx
    if isinstance(inner, _reference.EmbeddingBag):
        made.mode, made.include_last_offset = inner.mode, inner.include_last_offset
    return made
