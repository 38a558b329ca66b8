"""Stacks of Transformer layers: the encoder and the decoder."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import flambeau
from flambeau import Tensor

from ..container import ModuleList
from ..module import Module
from .layers import TransformerEncoderLayer

if TYPE_CHECKING:
    from ...attention.cache import KeyValueCache


class TransformerEncoder(Module):
    """Encoder layers, one after the other.

    Args:
        encoder_layer: The layer; it is copied, so that all layers begin with its parameters.
        num_layers: How many copies.
        norm: Normalizes the result.
        enable_nested_tensor: Give zeros at padded positions, as PyTorch does where it leaves
            padding
            out: in evaluation without gradients, for layers with ``batch_first`` that normalize
            last, when ``src_key_padding_mask`` alone is given and padding comes last.
        mask_check: Whether to check for that that padding comes last.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> layer = nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16)
        >>> encoder = nn.TransformerEncoder(layer, num_layers=2)
        >>> tuple(encoder(flambeau.randn(10, 3, 8)).shape)
        (10, 3, 8)
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = enable_nested_tensor and _may_drop_padding(encoder_layer)
        self.mask_check = mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
        *,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """Run the layers.

        Args:
            src: ``(S, N, d_model)``, or the order that the layers take.
            mask: ``(S, S)`` or ``(N * nhead, S, S)``: True for keys to leave out, or numbers to
                add to the scores.
            src_key_padding_mask: ``(N, S)``: True for padding.
            is_causal: Whether ``mask`` leaves out what comes later; None looks at it.
            cache: What earlier calls have seen, for generation.
        """
        is_causal = _is_causal(mask, is_causal, _length(src, self.layers))
        options: dict[str, Any] = {"src_mask": mask, "is_causal": is_causal}
        output = src
        for layer, more in zip(self.layers, _for_layers(cache, self.layers), strict=True):
            output = layer(output, src_key_padding_mask=src_key_padding_mask, **options, **more)
        if mask is None and src_key_padding_mask is not None:
            output = self._without_padding(output, src, src_key_padding_mask != 0)
        return output if self.norm is None else self.norm(output)

    def _without_padding(self, output: Tensor, src: Tensor, padding: Tensor) -> Tensor:
        """Zeros at padded positions, where PyTorch would leave them out of its computation."""
        first = self.layers[0]
        if not self.use_nested_tensor or first.training or src.ndim != 3 or src.is_meta:
            return output
        wanted = src.requires_grad or any(param.requires_grad for param in first.parameters())
        if wanted and flambeau.is_grad_enabled():
            return output
        if self.mask_check and bool((padding[:, :-1] > padding[:, 1:]).any()):
            return output
        return output.masked_fill(padding.unsqueeze(-1), 0.0)


class TransformerDecoder(Module):
    """Decoder layers, one after the other.

    Args:
        decoder_layer: The layer; it is copied, so that all layers begin with its parameters.
        num_layers: How many copies.
        norm: Normalizes the result.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> layer = nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16)
        >>> decoder = nn.TransformerDecoder(layer, num_layers=2)
        >>> tuple(decoder(flambeau.randn(20, 3, 8), flambeau.randn(10, 3, 8)).shape)
        (20, 3, 8)
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
        *,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """Run the layers; see ``TransformerDecoderLayer``.

        Args:
            tgt: The sequences to continue.
            memory: What the encoder made.
            tgt_mask: What each position of ``tgt`` does not see of ``tgt``.
            memory_mask: What it does not see of ``memory``.
            tgt_key_padding_mask: True for padding in ``tgt``.
            memory_key_padding_mask: True for padding in ``memory``.
            tgt_is_causal: Whether ``tgt_mask`` leaves out what comes later; None looks at it.
            memory_is_causal: Says the same of ``memory_mask``.
            cache: What earlier calls have seen, for generation.
        """
        options: dict[str, Any] = {
            "tgt_mask": tgt_mask,
            "memory_mask": memory_mask,
            "tgt_key_padding_mask": tgt_key_padding_mask,
            "memory_key_padding_mask": memory_key_padding_mask,
            "tgt_is_causal": _is_causal(tgt_mask, tgt_is_causal, _length(tgt, self.layers)),
            "memory_is_causal": memory_is_causal,
        }
        output = tgt
        for layer, more in zip(self.layers, _for_layers(cache, self.layers), strict=True):
            output = layer(output, memory, **options, **more)
        return output if self.norm is None else self.norm(output)


def square_subsequent_mask(size: int, device: Any = None, dtype: Any = None) -> Tensor:
    """Minus infinity above the diagonal, else zero."""
    return flambeau.full((size, size), float("-inf"), dtype=dtype, device=device).triu(1)


def _copies(layer: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


def _length(x: Tensor, layers: ModuleList) -> int:
    """Positions of a sequence, in the order of dimensions that the layers take."""
    attention = getattr(layers[0], "self_attn", None) if len(layers) else None
    batch_first = getattr(attention, "batch_first", False)
    return x.shape[1 if batch_first and x.ndim == 3 else 0]


def _is_causal(mask: Tensor | None, said: bool | None, length: int) -> bool:
    """What is said, or whether the mask leaves out exactly what comes later."""
    if said is not None or mask is None:
        return bool(said)
    if tuple(mask.shape) != (length, length) or mask.is_meta:
        return False
    causal = square_subsequent_mask(length, device=mask.device)
    if mask.dtype.name == "bool":
        causal = causal != 0
    return bool((mask == causal).all())


def _for_layers(cache: KeyValueCache | None, layers: ModuleList) -> list[dict[str, Any]]:
    """What the layers are called with besides; layers that know no cache work without one."""
    if cache is None:
        return [{}] * len(layers)
    if len(cache) != len(layers):
        raise ValueError(
            f"the cache has {len(cache)} layers, the stack {len(layers)}: write "
            f"nn.attention.KeyValueCache(layers={len(layers)})"
        )
    return [{"cache": layer} for layer in cache]


def _may_drop_padding(layer: Module) -> bool:
    """Whether PyTorch has a way to compute this layer without padding."""
    if not isinstance(layer, TransformerEncoderLayer) or layer.norm_first:
        return False
    attention = layer.self_attn
    return bool(
        attention.batch_first
        and attention._qkv_same_embed_dim
        and attention.in_proj_bias is not None
        and layer.activation_relu_or_gelu
        and layer.norm1.eps == layer.norm2.eps
        and attention.num_heads % 2 == 0
    )
