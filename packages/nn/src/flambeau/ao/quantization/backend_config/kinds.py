"""What is quantized, and how: the table that preparation, lowering and settings share.

``OWN`` results get an observer of their own. ``SHARED`` ones move or choose among elements, or
average them, so that their results have the scale of their input. ``TABLES`` and ``STEPS`` have
weights of integers alone.
"""
from __future__ import annotations

import operator
from typing import Any

import flambeau
from flambeau import nn
from flambeau.ao.nn import intrinsic, qat
from flambeau.ao.quantization.qconfig_mapping import fixed_ranges
from flambeau.nn import functional as F

_DIMS = (1, 2, 3)


def _all(space: Any, *names: str) -> set[Any]:
    return {getattr(space, name) for name in names if hasattr(space, name)}


#: Layers with a weight, float, fused and trained with rounding.
WEIGHTED: set[Any] = {
    nn.Linear, nn.modules.attention.NonDynamicallyQuantizableLinear, qat.Linear,
    qat.dynamic.Linear, intrinsic.LinearReLU, intrinsic.qat.LinearReLU, intrinsic.qat.LinearBn1d,
    *_all(nn, *(f"{kind}{n}d" for kind in ("Conv", "ConvTranspose") for n in _DIMS)),
    *_all(intrinsic, *(f"ConvReLU{n}d" for n in _DIMS)),
    *_all(qat, *(f"Conv{n}d" for n in _DIMS)),
    *_all(intrinsic.qat, *(f"Conv{kind}{n}d" for kind in ("ReLU", "Bn", "BnReLU") for n in _DIMS))}
#: Functions with a weight -> the positions of weight and bias.
WEIGHTED_FUNCTIONS: dict[Any, tuple[int, int]] = dict.fromkeys(
    (F.linear, *_all(F, *(f"conv{n}d" for n in _DIMS)),
     *_all(F, *(f"conv_transpose{n}d" for n in _DIMS)),
     *_all(flambeau, *(f"conv{n}d" for n in _DIMS)),
     *_all(flambeau, *(f"conv_transpose{n}d" for n in _DIMS))), (1, 2))
LINEAR: set[Any] = {
    nn.Linear, nn.modules.attention.NonDynamicallyQuantizableLinear, qat.Linear,
    qat.dynamic.Linear, intrinsic.LinearReLU, intrinsic.qat.LinearReLU, F.linear}
TABLES: set[Any] = {nn.Embedding, nn.EmbeddingBag, qat.Embedding, qat.EmbeddingBag}
STEPS: set[Any] = {nn.LSTM, nn.GRU, nn.LSTMCell, nn.GRUCell, nn.RNNCell}

SUMS: set[Any] = {flambeau.add, operator.add, operator.iadd}
PRODUCTS: set[Any] = {flambeau.mul, operator.mul, operator.imul}
MATRIX_PRODUCTS: set[Any] = {flambeau.matmul, operator.matmul}
BINARY = SUMS | PRODUCTS | MATRIX_PRODUCTS

_OWN_LAYERS: set[Any] = {
    nn.BatchNorm2d, nn.BatchNorm3d, intrinsic.BNReLU2d, intrinsic.BNReLU3d, nn.ELU, nn.Hardswish,
    nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d, nn.LayerNorm, nn.GroupNorm,
    nn.LeakyReLU, nn.PReLU}
_OWN_FUNCTIONS: set[Any] = {F.elu, F.hardswish, F.leaky_relu, F.layer_norm, F.instance_norm,
                            F.group_norm}
OWN = WEIGHTED | set(WEIGHTED_FUNCTIONS) | BINARY | _OWN_LAYERS | _OWN_FUNCTIONS
FIXED: set[Any] = set(fixed_ranges())

RELUS: set[Any] = {nn.ReLU, F.relu, flambeau.relu, "relu", "relu_"}
JOINS: set[Any] = {flambeau.cat, flambeau.stack}
SHARED: set[Any] = RELUS | JOINS | {
    nn.Identity, nn.Dropout, nn.ReLU6, nn.Hardtanh, nn.Flatten, nn.PixelShuffle, nn.PixelUnshuffle,
    *_all(nn, *(f"{kind}Pool{n}d" for kind in ("AdaptiveAvg", "Avg", "Max") for n in _DIMS)),
    *_all(F, *(f"{kind}_pool{n}d" for kind in ("adaptive_avg", "avg", "max") for n in _DIMS)),
    *_all(flambeau, "avg_pool1d", "adaptive_avg_pool1d", *(f"max_pool{n}d" for n in _DIMS)),
    *_all(F, "hardtanh", "hardtanh_", "interpolate", "relu6", "dropout", "pixel_shuffle",
          "pixel_unshuffle"),
    *_all(flambeau, "clamp", "flatten", "mean", "narrow", "repeat_interleave", "squeeze",
          "transpose", "unsqueeze", "permute", "reshape"),
    "clamp", "contiguous", "detach", "detach_", "flatten", "mean", "narrow", "permute", "repeat",
    "repeat_interleave", "reshape", "resize_", "squeeze", "squeeze_", "transpose", "unsqueeze",
    "unsqueeze_", "view", *_all(flambeau, "channel_shuffle", "native_channel_shuffle"),
    *_all(F, "channel_shuffle", "native_channel_shuffle"), *_all(nn, "ChannelShuffle")}
