"""Quantized tensors: integers that stand for real numbers, by a scale and a zero point.

Element ``q`` of a tensor stands for ``scale * (q - zero_point)``. One scale holds for a tensor or
for each index of one dimension. The integers are an ordinary tensor; a class over it answers
PyTorch's names and keeps scales beside whatever moves elements.

Example:
    >>> import flambeau
    >>> flambeau.quantize_per_tensor(flambeau.tensor([0.11, 0.5]), 0.1, 10, flambeau.quint8)
    tensor([0.1000, 0.5000], size=(2,), dtype=flambeau.quint8,
           quantization_scheme=flambeau.per_tensor_affine, scale=0.1, zero_point=10)
"""
from flambeau.core.quantized.layers import (
    quantized_batch_norm,
    quantized_max_pool1d,
    quantized_max_pool2d,
    quantized_max_pool3d,
)
from flambeau.core.quantized.making import (
    dequantize,
    int_repr,
    q_per_channel_axis,
    q_per_channel_scales,
    q_per_channel_zero_points,
    q_scale,
    q_zero_point,
    quantize_per_channel,
    quantize_per_tensor,
    quantize_per_tensor_dynamic,
)
from flambeau.core.quantized.schemes import (
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    qint8,
    qint32,
    qscheme,
    quint2x4,
    quint4x2,
    quint8,
)
from flambeau.core.quantized.tensor import QuantizedTensor

__all__ = ["QuantizedTensor", "dequantize", "int_repr", "per_channel_affine",
           "per_channel_affine_float_qparams", "per_channel_symmetric", "per_tensor_affine",
           "per_tensor_symmetric", "q_per_channel_axis", "q_per_channel_scales",
           "q_per_channel_zero_points", "q_scale", "q_zero_point", "qint32", "qint8", "qscheme",
           "quantize_per_channel", "quantize_per_tensor", "quantize_per_tensor_dynamic",
           "quantized_batch_norm", "quantized_max_pool1d", "quantized_max_pool2d",
           "quantized_max_pool3d", "quint2x4", "quint4x2", "quint8"]
