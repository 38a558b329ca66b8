"""Attention made of parts that are watched and quantized each for itself."""
from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor
from flambeau import nn as layers
from flambeau.ao.nn.quantized.between import FloatFunctional
from flambeau.nn import functional as F

__all__ = ["MultiheadAttention"]


class MultiheadAttention(layers.MultiheadAttention):
    """`flambeau.nn.MultiheadAttention`, of which the projections are layers.

    Scores and weights are computed in floats, between the quantized projections.

    Args:
        embed_dim, num_heads, dropout, bias, add_bias_kv, add_zero_attn, kdim, vdim, batch_first:
            As in `flambeau.nn.MultiheadAttention`.
        device, dtype: Where parameters are made, and their dtype.
    """

    _FLOAT_MODULE = layers.MultiheadAttention

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
                 add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None,
                 vdim: int | None = None, batch_first: bool = False, device: Any = None,
                 dtype: Any = None) -> None:
        from flambeau.ao.quantization import stubs

        super().__init__(embed_dim, num_heads, dropout, bias, add_bias_kv, add_zero_attn, kdim,
                         vdim, batch_first, device, dtype)
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight",
                     "in_proj_bias"):
            delattr(self, name)
        made = {"bias": bias, "device": device, "dtype": dtype}
        self.linear_Q = layers.Linear(embed_dim, embed_dim, **made)
        self.linear_K = layers.Linear(self.kdim, embed_dim, **made)
        self.linear_V = layers.Linear(self.vdim, embed_dim, **made)
        self.out_proj: Any = layers.Linear(embed_dim, embed_dim, **made)
        self.q_scaling_product = FloatFunctional()
        self.quant_attn_output, self.quant_attn_output_weights = (stubs.QuantStub()
                                                                  for _ in range(2))
        self.dequant_q, self.dequant_k, self.dequant_v = (stubs.DeQuantStub() for _ in range(3))

    def _get_name(self) -> str:
        return "QuantizableMultiheadAttention"

    def forward(self, query: Any, key: Any, value: Any,      # type: ignore[override]
                key_padding_mask: Tensor | None = None, need_weights: bool = True,
                attn_mask: Tensor | None = None, average_attn_weights: bool = True,
                is_causal: bool = False) -> tuple[Any, Any]:
        """Look up, as the float layer does."""
        if self.batch_first:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        length, batch, width = query.shape
        q = self.q_scaling_product.mul_scalar(self.linear_Q(query), self.head_dim ** -0.5)
        q, k, v = self.dequant_q(q), self.dequant_k(self.linear_K(key)), \
            self.dequant_v(self.linear_V(value))
        k, v, added = self._longer(k, v)
        q, k, v = (x.reshape(x.shape[0], batch * self.num_heads, self.head_dim).transpose(0, 1)
                   for x in (q, k, v))
        scores = q @ k.transpose(1, 2)
        scores = self._masked(scores, attn_mask, key_padding_mask, added, is_causal)
        weights = F.dropout(scores.softmax(-1), self.dropout, self.training)
        out = (weights @ v).transpose(0, 1).reshape(length, batch, width)
        out = self.out_proj(self.quant_attn_output(out))
        out = out.transpose(0, 1) if self.batch_first else out
        weights = self.quant_attn_output_weights(weights)
        if not need_weights:
            return out, None
        weights = weights.reshape(batch, self.num_heads, length, -1)
        return out, weights.mean(dim=1) if average_attn_weights else weights

    def _longer(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, int]:
        """Keys and values with those that were learned, and with zeros; how many were added."""
        added = 0
        batch = k.shape[1]
        if self.bias_k is not None and self.bias_v is not None:
            k = flambeau.cat([k, self.bias_k.expand(1, batch, -1)])
            v = flambeau.cat([v, self.bias_v.expand(1, batch, -1)])
            added += 1
        if self.add_zero_attn:
            k, v = (flambeau.cat([x, x.new_zeros(1, *x.shape[1:])]) for x in (k, v))
            added += 1
        return k, v, added

    def _masked(self, scores: Tensor, mask: Tensor | None, padding: Tensor | None, added: int,
                is_causal: bool) -> Tensor:
        if mask is None and is_causal:
            raise RuntimeError("MultiheadAttention: is_causal=True needs attn_mask, too")
        if mask is not None:
            scores = _with_mask(scores, F.pad(mask, (0, added)))
        if padding is not None:
            rows = F.pad(padding, (0, added))[:, None, None]
            split = scores.reshape(-1, self.num_heads, *scores.shape[1:])
            scores = _with_mask(split, rows).reshape(scores.shape)
        return scores

    @classmethod
    def from_float(cls, other: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a float one that has a ``qconfig``, watched."""
        from flambeau.ao import quantization

        made = cls(other.embed_dim, other.num_heads, other.dropout, other.in_proj_bias is not None,
                   other.bias_k is not None, other.add_zero_attn, other.kdim, other.vdim,
                   other.batch_first)
        made.bias_k, made.bias_v = other.bias_k, other.bias_v
        made.qconfig = other.qconfig
        weights = other.in_proj_weight.detach().chunk(3) if other._qkv_same_embed_dim else (
            other.q_proj_weight.detach(), other.k_proj_weight.detach(),
            other.v_proj_weight.detach())
        parts = (made.linear_Q, made.linear_K, made.linear_V)
        for part, weight in zip(parts, weights, strict=True):
            part.weight = layers.Parameter(weight.clone())
        if other.in_proj_bias is not None:
            for part, bias in zip(parts, other.in_proj_bias.detach().chunk(3), strict=True):
                part.bias = layers.Parameter(bias.clone())
        made.out_proj.weight, made.out_proj.bias = other.out_proj.weight, other.out_proj.bias
        if other.training:
            return quantization.prepare_qat(made.train(), inplace=True)
        return quantization.prepare(made.eval(), inplace=True)

    def dequantize(self) -> layers.MultiheadAttention:
        """The float layer with what the integers of the weights stand for."""
        this: Any = self                # its layers are those of integers
        bias = this.linear_Q.bias() is not None
        made = layers.MultiheadAttention(
            self.embed_dim, self.num_heads, self.dropout, bias, self.bias_k is not None,
            self.add_zero_attn, self.kdim, self.vdim, self.batch_first)
        made.bias_k, made.bias_v = self.bias_k, self.bias_v
        parts = [this.linear_Q, this.linear_K, this.linear_V]
        weights = [part.weight().dequantize() for part in parts]
        if made._qkv_same_embed_dim:
            made.in_proj_weight = layers.Parameter(flambeau.cat(weights))
        else:
            made.q_proj_weight, made.k_proj_weight, made.v_proj_weight = map(layers.Parameter,
                                                                             weights)
        if bias:
            made.in_proj_bias = layers.Parameter(flambeau.cat([part.bias() for part in parts]))
            made.out_proj.bias = layers.Parameter(this.out_proj.bias())
        made.out_proj.weight = layers.Parameter(this.out_proj.weight().dequantize())
        return made.train(self.training)

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """Refused: `flambeau.ao.nn.quantized.MultiheadAttention` is made from this class."""
        raise NotImplementedError("quantizable.MultiheadAttention.from_observed(): write flambeau."
                                  "ao.nn.quantized.MultiheadAttention.from_observed(layer)")


def _with_mask(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(mask, float("-inf")) if mask.dtype is flambeau.bool \
        else scores + mask
