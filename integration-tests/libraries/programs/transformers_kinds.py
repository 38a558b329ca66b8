"""transformers: small networks of the kinds that can be made from their configurations alone.

The kinds are listed in a file: all that PyTorch runs with these sizes and inputs.
"""

from __future__ import annotations

import inspect
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers
from worker import fill, numbers

#: Sizes by the names that configurations have for them.
SMALL = {
    "vocab_size": 99, "hidden_size": 32, "d_model": 32, "n_embd": 32, "dim": 32, "embed_dim": 32,
    "embedding_size": 32, "emb_dim": 32, "word_embed_proj_dim": 32, "encoder_hidden_size": 32,
    "num_hidden_layers": 2, "num_layers": 2, "n_layer": 2, "n_layers": 2, "encoder_layers": 2,
    "decoder_layers": 2, "num_encoder_layers": 2, "num_decoder_layers": 2, "num_blocks": 2,
    "num_attention_heads": 4, "n_head": 4, "n_heads": 4, "num_heads": 4, "attention_heads": 4,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 8, "d_kv": 8, "intermediate_size": 48, "ffn_dim": 48, "d_ff": 48, "n_inner": 48,
    "hidden_dim": 48, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "decoder_hidden_size": 32,
    "moe_intermediate_size": 16, "num_experts": 4, "num_local_experts": 4, "n_routed_experts": 4,
    "num_experts_per_tok": 2, "max_position_embeddings": 128, "n_positions": 128, "n_ctx": 128,
    "max_source_positions": 64, "max_target_positions": 64, "image_size": 32, "patch_size": 8,
    "num_mel_bins": 8, "d_embed": 32, "d_head": 8, "d_inner": 48, "state_size": 8,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1,
    "attention_window": 4, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4,
    "dropout": 0.0, "kv_lora_rank": 8, "q_lora_rank": 8, "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8, "v_head_dim": 8, "n_group": 1, "topk_group": 1,
    "attention_hidden_size": 32,
}
PARTS = ("text_config", "vision_config", "encoder", "decoder", "audio_config", "qformer_config",
         "backbone_config")


def shrink(config: Any) -> None:
    """Make a configuration small, and those that are part of it."""
    for name, value in SMALL.items():
        old = getattr(config, name, None)
        if isinstance(old, int | float) and not isinstance(old, bool) and old > value:
            try:
                setattr(config, name, value)
            except (AttributeError, NotImplementedError):
                continue
    for name in ("layer_types", "layers_block_type", "mlp_layer_types", "attention_types"):
        if isinstance(getattr(config, name, None), list):
            setattr(config, name, getattr(config, name)[:2])
    for part in PARTS:
        if isinstance(getattr(config, part, None), transformers.PreTrainedConfig):
            shrink(getattr(config, part))


def inputs(model: Any) -> dict[str, Any]:
    """What the forward of a network asks for, as far as it is known here."""
    asked = inspect.signature(model.forward).parameters
    words = (100 * numbers(2, 12, seed=3).abs()).long() % 90 + 5
    side = getattr(getattr(model.config, "vision_config", model.config), "image_size", 32)
    side = side[0] if isinstance(side, list | tuple) else side
    channels = getattr(model.config, "num_channels", 3)
    known = {"input_ids": words, "attention_mask": torch.ones_like(words),
             "decoder_input_ids": words[:, :6],
             "pixel_values": numbers(2, channels if isinstance(channels, int) else 3, side, side),
             "input_values": numbers(2, 2000),
             "input_features": numbers(2, getattr(model.config, "num_mel_bins", 8), 128)}
    chosen = {name: value for name, value in known.items() if name in asked}
    if "input_ids" not in chosen:
        chosen.pop("attention_mask", None)
    return chosen


def step(kind: str) -> Any:
    """Results and, where they can be differentiated, norms of some gradients."""
    torch.manual_seed(1)
    config = transformers.AutoConfig.for_model(kind)
    shrink(config)
    model = transformers.AutoModel.from_config(config, attn_implementation="eager")
    assert sum(each.numel() for each in model.parameters()) < 4e7, "not small"
    model = fill(model).eval()
    torch.manual_seed(2)
    found = model(**inputs(model))
    first = [each for each in found.values() if isinstance(each, torch.Tensor)]
    first = [each for each in first if each.is_floating_point()]
    if first and first[0].requires_grad:
        (first[0] * numbers(*first[0].shape, seed=4)).sum().backward()
    slopes = [each.grad.double().norm() for each in model.parameters() if each.grad is not None]
    return first[:3], slopes[::7]


KINDS = (Path(__file__).parent / "transformers_kinds.txt").read_text().split()
CASES = {kind: partial(step, kind) for kind in KINDS}
