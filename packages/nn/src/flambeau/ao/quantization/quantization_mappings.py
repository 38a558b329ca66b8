"""Which layer replaces which."""
from __future__ import annotations

import copy
from typing import Any

import flambeau.ao.quantization.stubs as stubs
from flambeau import nn as layers
from flambeau.ao.nn import intrinsic, qat, quantizable, quantized
from flambeau.ao.nn.quantized import dynamic
from flambeau.nn.modules.attention import NonDynamicallyQuantizableLinear

from .qconfig import (
    default_fixed_qparams_range_0to1_fake_quant,
    default_fixed_qparams_range_neg1to1_fake_quant,
)

__all__ = ["DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS", "DEFAULT_MODULE_TO_ACT_POST_PROCESS",
           "DEFAULT_QAT_MODULE_MAPPINGS", "DEFAULT_REFERENCE_STATIC_QUANT_MODULE_MAPPINGS",
           "DEFAULT_STATIC_QUANT_MODULE_MAPPINGS", "OBSERVED_LAYERS", "QUANTIZED_LAYERS",
           "fixed_range",
           "get_default_dynamic_quant_module_mappings", "get_default_qat_module_mappings",
           "get_default_qconfig_propagation_list", "get_default_static_quant_module_mappings",
           "get_dynamic_quant_module_class", "get_embedding_qat_module_mappings",
           "get_embedding_static_quant_module_mappings", "get_static_quant_module_class",
           "no_observer_set"]

_DIMS = (1, 2, 3)
_iq, _it = intrinsic.quantized, intrinsic.qat
_SAME_NAME = ("Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d",
              "ConvTranspose3d", "BatchNorm2d", "BatchNorm3d", "Dropout", "ELU", "Embedding",
              "EmbeddingBag", "GroupNorm", "Hardswish", "InstanceNorm1d", "InstanceNorm2d",
              "InstanceNorm3d", "LayerNorm", "LeakyReLU", "Linear", "PReLU", "ReLU6")

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

_reference = quantized.reference

#: Float layer -> layer that computes in floats what integers of its weight stand for.
DEFAULT_REFERENCE_STATIC_QUANT_MODULE_MAPPINGS: dict[Any, Any] = {
    stubs.QuantStub: quantized.Quantize, stubs.DeQuantStub: quantized.DeQuantize,
    **{getattr(layers, name): getattr(_reference, name) for name in _reference.__all__}}

#: Layer that is watched part by part -> the layer of its parts, and that -> the one of integers.
OBSERVED_LAYERS: dict[Any, Any] = {
    layers.LSTM: quantizable.LSTM, layers.MultiheadAttention: quantizable.MultiheadAttention}
QUANTIZED_LAYERS: dict[Any, Any] = {
    quantizable.LSTM: quantized.LSTM,
    quantizable.MultiheadAttention: quantized.MultiheadAttention}

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
    qat.Linear: dynamic.Linear, qat.dynamic.Linear: dynamic.Linear,
    intrinsic.LinearReLU: _iq.dynamic.LinearReLU}

#: Layers whose outputs lie in a range that is known, and how it is rounded in training.
DEFAULT_MODULE_TO_ACT_POST_PROCESS: dict[Any, Any] = {
    **dict.fromkeys((layers.Hardsigmoid, layers.Sigmoid, layers.Softmax),
                    default_fixed_qparams_range_0to1_fake_quant),
    layers.Tanh: default_fixed_qparams_range_neg1to1_fake_quant}


def fixed_range(kind: type) -> Any:
    """How outputs are rounded in training that lie in a range that is known; None for others.

    Args:
        kind: The class of the layer.
    """
    return DEFAULT_MODULE_TO_ACT_POST_PROCESS.get(kind)


def get_default_static_quant_module_mappings() -> dict[Any, Any]:
    """Float layer -> layer of integers."""
    return copy.copy(DEFAULT_STATIC_QUANT_MODULE_MAPPINGS)


def get_default_reference_static_quant_module_mappings() -> dict[Any, Any]:
    """Float layer -> layer that computes in floats what integers of its weight stand for."""
    return copy.copy(DEFAULT_REFERENCE_STATIC_QUANT_MODULE_MAPPINGS)


def get_default_qat_module_mappings() -> dict[Any, Any]:
    """Float layer -> layer that is trained with rounding."""
    return copy.copy(DEFAULT_QAT_MODULE_MAPPINGS)


def get_default_dynamic_quant_module_mappings() -> dict[Any, Any]:
    """Float layer -> layer with weights of integers, for floats."""
    return copy.copy(DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS)


def get_embedding_static_quant_module_mappings() -> dict[Any, Any]:
    """Float layer -> layer of integers, tables that were trained with rounding among them."""
    return get_default_static_quant_module_mappings()


def get_embedding_qat_module_mappings() -> dict[Any, Any]:
    """Float layer -> layer that is trained with rounding, tables among them."""
    return {**DEFAULT_QAT_MODULE_MAPPINGS, layers.Embedding: qat.Embedding,
            layers.EmbeddingBag: qat.EmbeddingBag}


def _class_in(mapping: dict[Any, Any], additional: Any, kind: Any) -> Any:
    found = {**mapping, **(additional or {})}.get(kind)
    if found is None:
        raise AssertionError(f"Floating point module class {kind} does not have a corresponding "
                             "quantized module class")
    return found


def get_static_quant_module_class(float_module_class: Any,
                                  additional_static_quant_mapping: Any = None,
                                  is_reference: bool = False) -> Any:
    """The layer of integers that replaces a float layer.

    Args:
        float_module_class: The class of the float layer.
        additional_static_quant_mapping: Further float layers -> their replacements.
        is_reference: Whether the layer computes in floats what integers stand for.

    Raises:
        AssertionError: Nothing replaces it.
    """
    mapping = DEFAULT_REFERENCE_STATIC_QUANT_MODULE_MAPPINGS if is_reference \
        else DEFAULT_STATIC_QUANT_MODULE_MAPPINGS
    return _class_in(mapping, additional_static_quant_mapping, float_module_class)


def get_dynamic_quant_module_class(float_module_class: Any,
                                   additional_dynamic_quant_mapping: Any = None) -> Any:
    """The layer with weights of integers, for floats, that replaces a float layer.

    Args:
        float_module_class: The class of the float layer.
        additional_dynamic_quant_mapping: Further float layers -> their replacements.

    Raises:
        AssertionError: Nothing replaces it.
    """
    return _class_in(DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS, additional_dynamic_quant_mapping,
                     float_module_class)


def get_default_qconfig_propagation_list() -> set[Any]:
    """Layers that are watched where they have a configuration."""
    return {*DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, *DEFAULT_QAT_MODULE_MAPPINGS,
            *DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS}


def no_observer_set() -> set[Any]:
    """Layers that cannot be watched as one."""
    return {*QUANTIZED_LAYERS}
