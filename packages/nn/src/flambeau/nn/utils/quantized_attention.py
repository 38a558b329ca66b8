"""Attention whose projections have weights in few bits."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from flambeau import Tensor

from .._multihead import Weights
from ..modules.attention import MultiheadAttention
from ..modules.module import Module

#: Makes a layer in few bits of what has a weight and a bias.
Linear = Callable[[Any], Module]


class QuantizedMultiheadAttention(MultiheadAttention):
    """``MultiheadAttention`` whose projections are layers with weights in few bits.

    Args:
        attention: The layer whose weights it takes.
        linear: Makes a layer of what has ``weight`` and ``bias``, such as ``QuantizedLinear``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> attention = nn.MultiheadAttention(32, 4, batch_first=True)
        >>> small = nn.utils.quantize_dynamic(attention)
        >>> x = flambeau.randn(2, 5, 32)
        >>> bool((small(x, x, x)[0] - attention(x, x, x)[0]).abs().max() < 0.1)
        True
    """

    def __init__(self, attention: MultiheadAttention, linear: Linear) -> None:
        Module.__init__(self)
        for name in ("embed_dim", "kdim", "vdim", "_qkv_same_embed_dim", "num_heads", "dropout",
                     "batch_first", "head_dim", "add_zero_attn"):
            setattr(self, name, getattr(attention, name))
        bias: Any = attention.in_proj_bias
        if self._qkv_same_embed_dim:
            self.in_proj = linear(SimpleNamespace(weight=attention.in_proj_weight, bias=bias))
        else:
            biases = (None, None, None) if bias is None else bias.chunk(3)
            for letter, part in zip("qkv", biases, strict=True):
                weight = getattr(attention, f"{letter}_proj_weight")
                setattr(self, f"{letter}_proj", linear(SimpleNamespace(weight=weight, bias=part)))
        out: Any = linear(attention.out_proj)
        self.out_proj = out
        # The stack of layers asks whether there is one; the projections hold it.
        self.register_buffer("in_proj_bias", None if bias is None else bias.detach(),
                             persistent=False)
        for name in ("bias_k", "bias_v"):
            held: Tensor | None = getattr(attention, name)
            self.register_buffer(name, None if held is None else held.detach())

    def _weights(self) -> Weights:
        in_proj: tuple[Any, ...] = (self.in_proj,) if self._qkv_same_embed_dim else (
            self.q_proj, self.k_proj, self.v_proj)
        return Weights(self.embed_dim, self.num_heads, in_proj, None, self.bias_k, self.bias_v,
                       self.add_zero_attn, 0.0, self.out_proj, None, self.batch_first)


def attention_of(linear: Linear) -> Callable[[Any], Module]:
    """What makes such an attention of one in float32."""
    return lambda attention: QuantizedMultiheadAttention(attention, linear)
