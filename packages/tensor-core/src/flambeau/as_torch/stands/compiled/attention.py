"""What kernels of attention a device has, as libraries ask before they choose one.

The answer is no for each: `scaled_dot_product_attention` chooses by itself here.
"""
from __future__ import annotations

from typing import NamedTuple

from flambeau import Tensor


class SDPAParams(NamedTuple):
    """The arguments of an attention."""

    query: Tensor
    key: Tensor
    value: Tensor
    attn_mask: Tensor | None
    dropout: float
    is_causal: bool
    enable_gqa: bool


def can_use_flash_attention(params: SDPAParams, debug: bool = False) -> bool:
    """False, as PyTorch says without a GPU."""
    return False


can_use_efficient_attention = can_use_cudnn_attention = can_use_flash_attention


def is_flash_attention_available() -> bool:
    """False, as PyTorch says without a GPU."""
    return False
