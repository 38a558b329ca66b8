"""Helpers for gradients and parameters of a network."""

from typing import TYPE_CHECKING

from . import parametrizations, parametrize, prune, rnn, stateless
from .clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from .convert_parameters import parameters_to_vector, vector_to_parameters
from .fusion import (
    fuse_conv_bn_eval,
    fuse_conv_bn_weights,
    fuse_linear_bn_eval,
    fuse_linear_bn_weights,
)
from .init import skip_init
from .memory_format import (
    convert_conv2d_weight_memory_format,
    convert_conv3d_weight_memory_format,
)
from .quantization import QuantizedEmbedding, QuantizedLinear, quantize_dynamic
from .quantized_attention import QuantizedMultiheadAttention
from .spectral_norm import remove_spectral_norm, spectral_norm
from .weight_norm import remove_weight_norm, weight_norm

if TYPE_CHECKING:   # few programs need them, and they load dataclasses and NumPy
    from .gguf import GGUF, load_gguf
    from .packed_states import load_quantized, unpack_state
    from .weight_only import (
        QuantizedWeight,
        WeightOnlyEmbedding,
        WeightOnlyLinear,
        pack_int4,
        quantize_weight,
        quantize_weights,
    )

_LATER = {
    **dict.fromkeys(("GGUF", "load_gguf"), "gguf"),
    **dict.fromkeys(("load_quantized", "unpack_state"), "packed_states"),
    **dict.fromkeys(("QuantizedWeight", "WeightOnlyEmbedding", "WeightOnlyLinear", "pack_int4",
                     "quantize_weight", "quantize_weights"), "weight_only"),
}


def __getattr__(name: str) -> object:
    """Import what is rarely asked for."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    globals()[name] = value
    return value


__all__ = [
    "GGUF",
    "QuantizedEmbedding",
    "QuantizedLinear",
    "QuantizedMultiheadAttention",
    "QuantizedWeight",
    "WeightOnlyEmbedding",
    "WeightOnlyLinear",
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "get_total_norm",
    "load_gguf",
    "load_quantized",
    "pack_int4",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "prune",
    "quantize_dynamic",
    "quantize_weight",
    "quantize_weights",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "stateless",
    "unpack_state",
    "vector_to_parameters",
    "weight_norm",
]
