"""Which layer replaces which."""
from __future__ import annotations

import copy
from typing import Any

import flambeau.ao.quantization.stubs as stubs
from flambeau import nn as layers
from flambeau.ao.nn import intrinsic, qat, quantized
from flambeau.ao.nn.quantized import dynamic
from flambeau.nn.modules.attention import NonDynamicallyQuantizableLinear

from .qconfig import (
    default_fixed_qparams_range_0to1_fake_quant,
    default_fixed_qparams_range_0to1_observer,
    default_fixed_qparams_range_neg1to1_fake_quant,
    default_fixed_qparams_range_neg1to1_observer,
)

__all__ = ["DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS", "DEFAULT_QAT_MODULE_MAPPINGS",
           "DEFAULT_STATIC_QUANT_MODULE_MAPPINGS", "fixed_range",
           "get_default_dynamic_quant_module_mappings", "get_default_qat_module_mappings",
           "get_default_qconfig_propagation_list", "get_default_static_quant_module_mappings",
           "no_observer_set"]

_DIMS = (1, 2, 3)
_iq, _it = intrinsic.quantized, intrinsic.qat
_SAME_NAME = ("Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d",
              "ConvTranspose3d", "BatchNorm2d", "BatchNorm3d", "Dropout", "ELU", "Embedding",
              "EmbeddingBag", "GroupNorm", "Hardswish", "InstanceNorm1d", "InstanceNorm2d",
              "InstanceNorm3d", "LayerNorm", "LeakyReLU", "Linear", "PReLU", "ReLU6", "Softmax")

DEFAULT_STATIC_QUANT_MODULE_MAPPINGS: dict[Any, Any] = {
    stubs.QuantStub: quantized.Quantize, stubs.DeQuantStub: quantized.DeQuantize,
    quantized.FloatFunctional: quantized.QFunctional,
    NonDynamicallyQuantizableLinear: quantized.Linear,
    **{getattr(layers, name): getattr(quantized, name) for name in _SAME_NAME},
    intrinsic.BNReLU2d: _iq.BNReLU2d, intrinsic.BNReLU3d: _iq.BNReLU3d,
    intrinsic.LinearReLU: _iq.LinearReLU,
    **{getattr(intrinsic, f"ConvReLU{n}d"): getattr(_iq, f"ConvReLU{n}d") for n in _DIMS},
    # Layers that were trained with rounding.
    qat.Linear: quantized.Linear, qat.Embedding: quantized.Embedding,
    qat.EmbeddingBag: quantized.EmbeddingBag, _it.LinearBn1d: quantized.Linear,
    _it.LinearReLU: _iq.LinearReLU,
    **{getattr(qat, f"Conv{n}d"): getattr(quantized, f"Conv{n}d") for n in _DIMS},
    **{getattr(_it, f"ConvBn{n}d"): getattr(quantized, f"Conv{n}d") for n in _DIMS},
    **{getattr(_it, f"ConvBnReLU{n}d"): getattr(_iq, f"ConvReLU{n}d") for n in _DIMS},
    **{getattr(_it, f"ConvReLU{n}d"): getattr(_iq, f"ConvReLU{n}d") for n in _DIMS}}

DEFAULT_QAT_MODULE_MAPPINGS: dict[Any, Any] = {
    layers.Linear: qat.Linear, NonDynamicallyQuantizableLinear: qat.Linear,
    layers.Conv2d: qat.Conv2d, layers.Conv3d: qat.Conv3d,
    intrinsic.LinearBn1d: _it.LinearBn1d, intrinsic.LinearReLU: _it.LinearReLU,
    **{getattr(intrinsic, f"{kind}{n}d"): getattr(_it, f"{kind}{n}d")
       for kind in ("ConvBn", "ConvBnReLU") for n in _DIMS},
    intrinsic.ConvReLU2d: _it.ConvReLU2d, intrinsic.ConvReLU3d: _it.ConvReLU3d}

DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS: dict[Any, Any] = {
    layers.Linear: dynamic.Linear, NonDynamicallyQuantizableLinear: dynamic.Linear,
    layers.LSTM: dynamic.LSTM, layers.GRU: dynamic.GRU, layers.LSTMCell: dynamic.LSTMCell,
    layers.GRUCell: dynamic.GRUCell, layers.RNNCell: dynamic.RNNCell,
    layers.Embedding: quantized.Embedding, layers.EmbeddingBag: quantized.EmbeddingBag,
    qat.Linear: dynamic.Linear, intrinsic.LinearReLU: _iq.dynamic.LinearReLU}

#: Layers whose outputs lie in a range that is known: their observer when trained, and else.
_FIXED = {layers.Sigmoid: (default_fixed_qparams_range_0to1_fake_quant,
                           default_fixed_qparams_range_0to1_observer),
          layers.Hardsigmoid: (default_fixed_qparams_range_0to1_fake_quant,
                               default_fixed_qparams_range_0to1_observer),
          layers.Softmax: (default_fixed_qparams_range_0to1_fake_quant,
                           default_fixed_qparams_range_0to1_observer),
          layers.Tanh: (default_fixed_qparams_range_neg1to1_fake_quant,
                        default_fixed_qparams_range_neg1to1_observer)}


def fixed_range(kind: type, is_qat: bool) -> Any:
    """The observer of a layer whose outputs lie in a range that is known; None for others.

    Args:
        kind: The class of the layer.
        is_qat: Whether the network is trained with rounding.
    """
    found = _FIXED.get(kind)
    return found and found[0 if is_qat else 1]


def get_default_static_quant_module_mappings() -> dict[Any, Any]:
    """Float layer -> layer of integers."""
    return copy.copy(DEFAULT_STATIC_QUANT_MODULE_MAPPINGS)


def get_default_qat_module_mappings() -> dict[Any, Any]:
    """Float layer -> layer that is trained with rounding."""
    return copy.copy(DEFAULT_QAT_MODULE_MAPPINGS)


def get_default_dynamic_quant_module_mappings() -> dict[Any, Any]:
    """Float layer -> layer with weights of integers, for floats."""
    return copy.copy(DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS)


def get_default_qconfig_propagation_list() -> set[Any]:
    """Layers that have a use for a configuration."""
    return {*DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, *DEFAULT_QAT_MODULE_MAPPINGS,
            *DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS, *_FIXED,
            *(getattr(intrinsic, name) for name in intrinsic.__all__
              if isinstance(getattr(intrinsic, name), type))}


def no_observer_set() -> set[Any]:
    """Layers whose outputs are not watched: they have the scale of their inputs, or none."""
    return {quantized.Quantize, stubs.DeQuantStub, layers.Dropout, layers.ReLU6,
            layers.Embedding, layers.EmbeddingBag, qat.Embedding, qat.EmbeddingBag}
