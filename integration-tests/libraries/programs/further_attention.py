"""Attention and what replaces it: cases are named after the libraries."""

from __future__ import annotations

from typing import Any

from worker import fill, numbers, trained

from programs.further_used import classes, used


def x_clip() -> Any:
    from x_clip import CLIP

    net = fill(CLIP(dim_text=16, dim_image=16, dim_latent=8, num_text_tokens=50, text_enc_depth=1,
                    text_seq_len=8, text_heads=2, visual_enc_depth=1, visual_image_size=32,
                    visual_patch_size=16, visual_heads=2))
    words, picture = classes(2, 8, most=50), numbers(2, 3, 32, 32)
    return trained(net, lambda net: net(words, picture, return_loss=True))


def soft_moe_pytorch() -> Any:
    from soft_moe_pytorch import SoftMoE

    return used(SoftMoE(dim=8, seq_len=6, num_experts=2), numbers(2, 6, 8))


def memory_efficient_attention_pytorch() -> Any:
    from memory_efficient_attention_pytorch import Attention

    return used(Attention(dim=16, dim_head=8, heads=2, memory_efficient=True, causal=True,
                          q_bucket_size=4, k_bucket_size=4), numbers(2, 12, 16))


def linear_attention_transformer() -> Any:
    from linear_attention_transformer import LinearAttentionTransformer

    return used(LinearAttentionTransformer(dim=16, heads=2, depth=2, max_seq_len=16, causal=True),
                numbers(1, 16, 16))


def sinkhorn_transformer() -> Any:
    from sinkhorn_transformer import SinkhornTransformer

    net = fill(SinkhornTransformer(dim=16, heads=2, depth=1, bucket_size=4)).eval()
    return net(numbers(1, 16, 16))


def g_mlp_pytorch() -> Any:
    from g_mlp_pytorch import gMLP

    return used(gMLP(num_tokens=20, dim=16, depth=2, seq_len=8, causal=True), classes(2, 8))


def lambda_networks() -> Any:
    from lambda_networks import LambdaLayer

    return used(LambdaLayer(dim=8, dim_out=8, r=5, dim_k=4, heads=2, dim_u=1),
                numbers(2, 8, 8, 8))


def axial_attention() -> Any:
    from axial_attention import AxialAttention

    return used(AxialAttention(dim=8, dim_index=1, heads=2, num_dimensions=2), numbers(1, 8, 5, 5))


CASES = {function.__name__: function for function in (
    x_clip, soft_moe_pytorch, memory_efficient_attention_pytorch, linear_attention_transformer,
    sinkhorn_transformer, g_mlp_pytorch, lambda_networks, axial_attention)}
