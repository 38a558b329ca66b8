"""Products, activations and normalizations that onnxruntime writes as one node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau as fl
from flambeau.nn import functional as F
from flambeau.onnx.importing.operators.convolution import conv
from flambeau.onnx.importing.operators.products import gemm
from flambeau.onnx.importing.table import Call, contributed

#: Activations by name; the parameters are those of the node, in order.
_ACTIVATIONS: dict[str, Callable[..., fl.Tensor]] = {
    "Relu": lambda x: F.relu(x), "Tanh": lambda x: fl.tanh(x), "Sigmoid": lambda x: fl.sigmoid(x),
    "LeakyRelu": lambda x, slope=0.01: F.leaky_relu(x, slope),
    "Clip": lambda x, low, high: fl.clamp(x, low, high), "HardSwish": lambda x: F.hardswish(x),
    "Gelu": lambda x: F.gelu(x), "Softplus": lambda x: F.softplus(x),
    "HardSigmoid": lambda x, slope=0.2, middle=0.5: fl.clamp(slope * x + middle, 0, 1),
    "Elu": lambda x, scale=1.0: F.elu(x, scale)}


def _activated(call: Call, x: fl.Tensor, parameters: list[float]) -> fl.Tensor:
    name = call.get("activation", "")
    if name and name not in _ACTIVATIONS:
        raise call.refuse(f"there is no activation {name!r} here; there are "
                          f"{', '.join(sorted(_ACTIVATIONS))}")
    return _ACTIVATIONS[name](x, *parameters) if name else x


@contributed("FusedMatMul", "TransposeMatMul")
def fused_matmul(call: Call, a: fl.Tensor, b: fl.Tensor) -> fl.Tensor:
    """``alpha a' b'``."""
    a, b = (_turned(call, each, which) for each, which in ((a, "A"), (b, "B")))
    product = fl.matmul(a, b)
    alpha = call.get("alpha", 1.0)
    return product if alpha == 1 else product * alpha


def _turned(call: Call, x: fl.Tensor, which: str) -> fl.Tensor:
    """An operand whose first dimension may stand for rows, and then rows for columns."""
    if call.get(f"transBatch{which}") and x.ndim > 2:
        x = x.movedim(0, -2)
    return x.transpose(-1, -2) if call.get(f"trans{which}") and x.ndim > 1 else x


@contributed("FusedGemm")
def fused_gemm(call: Call, a: fl.Tensor, b: fl.Tensor, c: fl.Tensor | None = None) -> fl.Tensor:
    """``activation(alpha a' b' + beta c)``."""
    names = ("activation_alpha", "activation_beta", "activation_gamma")
    given = [call.get(name) for name in names if call.get(name) is not None]
    return _activated(call, gemm(call, a, b, c), given)


@contributed("FusedConv")
def fused_conv(call: Call, x: fl.Tensor, w: fl.Tensor, bias: fl.Tensor | None = None,
               z: fl.Tensor | None = None) -> fl.Tensor:
    """``activation(conv(x, w) + bias + z)``."""
    y = conv(call, x, w, bias)
    return _activated(call, y if z is None else y + z, call.get("activation_params") or [])


@contributed("Gelu", "BiasGelu")
def gelu(call: Call, x: fl.Tensor, bias: fl.Tensor | None = None) -> fl.Tensor:
    """``x`` times the normal distribution of ``x + bias``."""
    return F.gelu(x if bias is None else x + bias)


@contributed("FastGelu", "GemmFastGelu")
def fast_gelu(call: Call, x: fl.Tensor, *more: fl.Tensor) -> fl.Tensor:
    """The same by ``tanh``; of a product where there is a matrix."""
    if call.op.endswith("GemmFastGelu"):
        x, more = fl.matmul(x, more[0]), more[1:]
    return F.gelu(x + more[0] if more else x, approximate="tanh")


@contributed("QuickGelu")
def quick_gelu(call: Call, x: fl.Tensor) -> fl.Tensor:
    """``x sigmoid(alpha x)``."""
    return x * fl.sigmoid(call.get("alpha", 1.702) * x)


@contributed("LayerNormalization", "SimplifiedLayerNormalization")
def normalization(call: Call, x: fl.Tensor, gamma: fl.Tensor, beta: fl.Tensor | None = None
                  ) -> Any:
    """Rows less their mean over their deviation; simplified, over their root mean square."""
    simple = "Simplified" in call.op
    axes = list(range(call.get("axis", -1) % x.ndim, x.ndim))
    eps = call.get("epsilon", 1e-5)
    y, mean, inverse = _normalized(x, axes, eps, simple)
    y = y * gamma if beta is None else y * gamma + beta
    return (y, inverse) if simple else (y, mean, inverse)


def _normalized(x: fl.Tensor, axes: list[int], eps: float, simple: bool
                ) -> tuple[fl.Tensor, fl.Tensor | None, fl.Tensor]:
    wide = x.float() if x.dtype.itemsize < 4 else x
    mean = None if simple else wide.mean(axes, keepdim=True)
    centred = wide if mean is None else wide - mean
    inverse = fl.rsqrt((centred * centred).mean(axes, keepdim=True) + eps)
    return (centred * inverse).to(x.dtype), mean, inverse


@contributed("SkipLayerNormalization")
def skip_normalization(call: Call, x: fl.Tensor, skip: fl.Tensor, gamma: fl.Tensor,
                       beta: fl.Tensor | None = None, bias: fl.Tensor | None = None) -> Any:
    """The normalized sum of two branches and a bias; the sum is the last output."""
    total = x + skip if bias is None else x + skip + bias
    y = F.layer_norm(total, gamma.shape, gamma, beta, call.get("epsilon", 1e-12))
    if not (call.wants(1) or call.wants(2)):
        return y, None, None, total
    _, mean, inverse = _normalized(total, [total.ndim - 1], call.get("epsilon", 1e-12), False)
    return y, mean, inverse, total


@contributed("SkipSimplifiedLayerNormalization")
def skip_simplified(call: Call, x: fl.Tensor, skip: fl.Tensor, gamma: fl.Tensor,
                    bias: fl.Tensor | None = None) -> Any:
    """The same over the root mean square."""
    total = x + skip if bias is None else x + skip + bias
    y, _, inverse = _normalized(total, [total.ndim - 1], call.get("epsilon", 1e-12), True)
    return y * gamma, None, inverse, total


@contributed("EmbedLayerNormalization")
def embeddings(call: Call, words: fl.Tensor, kinds: fl.Tensor | None, word_table: fl.Tensor,
               place_table: fl.Tensor, kind_table: fl.Tensor | None, gamma: fl.Tensor,
               beta: fl.Tensor, mask: fl.Tensor | None = None,
               places: fl.Tensor | None = None) -> Any:
    """The normalized sum of a BERT's embeddings; then how many words of each row count."""
    if places is None:
        places = fl.arange(words.shape[1], device=words.device)
    total = word_table[words.long()] + place_table[places.long()]
    if kinds is not None and kind_table is not None:
        total = total + kind_table[kinds.long()]
    y = F.layer_norm(total, gamma.shape, gamma, beta, call.get("epsilon", 1e-12))
    count = fl.zeros(words.shape[0], dtype=fl.int32, device=words.device) if mask is None \
        else (mask == 1).sum(1).to(fl.int32)
    return y, count, total


@contributed("Inverse")
def inverse(call: Call, x: fl.Tensor) -> fl.Tensor:
    """Inverse matrices."""
    return fl.linalg.inv(x)
