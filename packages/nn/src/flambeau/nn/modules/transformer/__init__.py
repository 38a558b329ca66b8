"""``Transformer``: an encoder and a decoder. Their layers and stacks stand beside this file."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor

from ..._siblings import functional as F
from ..._siblings import init
from ..module import Module
from ..normalization import LayerNorm
from .layers import Activation, TransformerDecoderLayer, TransformerEncoderLayer
from .stacks import TransformerDecoder, TransformerEncoder, square_subsequent_mask

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


class Transformer(Module):
    """An encoder, and a decoder that looks at what the encoder made.

    Weights of more than one dimension start Xavier uniform (Vaswani et al., Attention Is All You
    Need, 2017).

    Shapes: ``src`` ``(S, N, d_model)``, ``tgt`` and output ``(T, N, d_model)``; with
    ``batch_first`` the first two dimensions are swapped; without a batch there is no ``N``.

    Args:
        d_model: Features of the inputs and of the output.
        nhead: Heads of attention.
        num_encoder_layers: Layers of the encoder.
        num_decoder_layers: Layers of the decoder.
        dim_feedforward: Features between the two linear maps of a layer.
        dropout: Probability of dropping, in training.
        activation: ``"relu"``, ``"gelu"``, or a function of a tensor.
        custom_encoder: Used in place of the encoder.
        custom_decoder: Used in place of the decoder.
        layer_norm_eps: Keeps the division of the norms away from zero.
        batch_first: Whether the batch is the first dimension.
        norm_first: Normalize what goes into each block rather than what comes out.
        bias: Whether linear maps and norms add a bias.
        device: Where the parameters are made.
        dtype: Their dtype.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> model = nn.Transformer(8, 2, 1, 1, dim_feedforward=16, batch_first=True)
        >>> mask = nn.Transformer.generate_square_subsequent_mask(6)
        >>> result = model(flambeau.randn(3, 5, 8), flambeau.randn(3, 6, 8), tgt_mask=mask)
        >>> tuple(result.shape)
        (3, 6, 8)
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        layer = (
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
            norm_first,
            bias,
            device,
            dtype,
        )

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)

        if custom_encoder is None:
            encoder_layer = TransformerEncoderLayer(*layer)
            custom_encoder = TransformerEncoder(encoder_layer, num_encoder_layers, norm())
        if custom_decoder is None:
            decoder_layer = TransformerDecoderLayer(*layer)
            custom_decoder = TransformerDecoder(decoder_layer, num_decoder_layers, norm())
        self.encoder = custom_encoder
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Encode ``src``, and decode ``tgt`` with it.

        Args:
            src: The sequences to read.
            tgt: The sequences to write.
            src_mask: ``(S, S)`` or ``(N * nhead, S, S)``: True for keys to leave out, or numbers
                to add to the scores.
            tgt_mask: ``(T, T)`` or ``(N * nhead, T, T)``.
            memory_mask: ``(T, S)`` or ``(N * nhead, T, S)``.
            src_key_padding_mask: ``(N, S)``: True for padding.
            tgt_key_padding_mask: ``(N, T)``.
            memory_key_padding_mask: ``(N, S)``.
            src_is_causal: Whether ``src_mask`` leaves out what comes later; None looks at it.
            tgt_is_causal: The same of ``tgt_mask``.
            memory_is_causal: Says the same of ``memory_mask``.

        Raises:
            RuntimeError: Batches or features do not fit.
        """
        _check_pair(src, tgt, self.d_model, self.batch_first)
        memory = self.encoder(
            src,
            mask=src_mask,
            src_key_padding_mask=src_key_padding_mask,
            is_causal=src_is_causal,
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """A mask that leaves out what comes later: minus infinity above the diagonal, else zero.

        Args:
            sz: Number of positions.
            device: Where it is made.
            dtype: Its dtype.

        Example:
            >>> from flambeau import nn
            >>> nn.Transformer.generate_square_subsequent_mask(2)
            tensor([[0., -inf],
                    [0., 0.]])
        """
        return square_subsequent_mask(sz, device, dtype)

    def _reset_parameters(self) -> None:
        for param in self.parameters():
            if param.dim() > 1:
                init.xavier_uniform_(param)


def _check_pair(src: Tensor, tgt: Tensor, d_model: int, batch_first: bool) -> None:
    batch = 0 if batch_first else 1
    if src.ndim == 3 and src.shape[batch] != tgt.shape[batch]:
        raise RuntimeError(
            "Transformer(): the batch number of src and tgt must be equal, got "
            f"{list(src.shape)} and {list(tgt.shape)}"
        )
    if src.shape[-1] != d_model or tgt.shape[-1] != d_model:
        raise RuntimeError(
            f"Transformer(): the feature number of src and tgt must be equal to d_model={d_model}, "
            f"got {list(src.shape)} and {list(tgt.shape)}"
        )
