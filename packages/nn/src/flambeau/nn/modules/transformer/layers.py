"""Layers of the Transformer: attention and a feed forward network, each added to its input."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flambeau import Tensor

from ..._siblings import functional as F
from ..activation import GELU, ReLU
from ..attention import MultiheadAttention
from ..dropout import Dropout
from ..linear import Linear
from ..module import Module
from ..normalization import LayerNorm

if TYPE_CHECKING:
    from ...attention.cache import LayerCache

Activation = str | Callable[[Tensor], Tensor]
_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}


class _Layer(Module):
    """What encoder and decoder layers share: the parts, and the feed forward block."""

    _norms = 2
    self_attn: MultiheadAttention
    norm1: LayerNorm
    norm2: LayerNorm
    dropout1: Dropout
    dropout2: Dropout

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        placed: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        for name in ("self_attn", "multihead_attn")[: self._norms - 1]:
            attention = MultiheadAttention(
                d_model, nhead, dropout=dropout, batch_first=batch_first, **placed
            )
            self.add_module(name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, **placed)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **placed)
        self.norm_first = norm_first
        for index in range(1, self._norms + 1):
            self.add_module(f"norm{index}", LayerNorm(d_model, eps=layer_norm_eps, **placed))
        for index in range(1, self._norms + 1):
            self.add_module(f"dropout{index}", Dropout(dropout))
        self.activation = _activation(activation)

    def _block(self, x: Tensor, norm: Module, block: Callable[[Tensor], Tensor]) -> Tensor:
        """Add what ``block`` makes of ``x``; normalize before it, or afterwards."""
        if self.norm_first:
            return x + block(norm(x))
        return norm(x + block(x))

    def _sa_block(self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None,
                  is_causal: bool = False, **cached: Any) -> Tensor:
        """What is added by attention to the sequence itself; programs call it and replace it."""
        seen = self.self_attn(x, x, x, key_padding_mask, False, attn_mask, is_causal=is_causal,
                              **cached)
        return self.dropout1(seen[0])

    def _ff_block(self, x: Tensor) -> Tensor:
        """What is added by the feed forward network."""
        inner = self.linear2(self.dropout(self.activation(self.linear1(x))))
        last: Tensor = getattr(self, f"dropout{self._norms}")(inner)
        return last


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed forward network, each added to its input and normalized.

    ``x = norm1(x + attention(x))``, ``x = norm2(x + linear2(activation(linear1(x))))``; with
    ``norm_first`` ``x = x + attention(norm1(x))`` and so on (Vaswani et al., Attention Is All You
    Need, 2017; Xiong et al., On Layer Normalization in the Transformer Architecture, 2020).

    Shapes: input and output ``(S, N, d_model)``, ``(N, S, d_model)`` with ``batch_first``, or
    ``(S, d_model)``.

    Args:
        d_model: Features of the input and of the output.
        nhead: Heads of attention.
        dim_feedforward: Features between the two linear maps.
        dropout: Probability of dropping, in training.
        activation: ``"relu"``, ``"gelu"``, or a function of a tensor.
        layer_norm_eps: Keeps the division of the norms away from zero.
        batch_first: Whether the batch is the first dimension.
        norm_first: Normalize what goes into each block rather than what comes out.
        bias: Whether linear maps and norms add a bias.
        device: Where the parameters are made.
        dtype: Their dtype.

    Raises:
        RuntimeError: ``activation`` is another string.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> layer = nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16)
        >>> tuple(layer(flambeau.randn(10, 3, 8)).shape)
        (10, 3, 8)
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
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
        known = {id(F.relu): 1, id(F.gelu): 2}
        self.activation_relu_or_gelu = known.get(id(self.activation), 0)
        if isinstance(self.activation, ReLU | GELU):
            self.activation_relu_or_gelu = 1 if isinstance(self.activation, ReLU) else 2

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
        *,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """Run the two blocks.

        Args:
            src: The sequences.
            src_mask: ``(S, S)`` or ``(N * nhead, S, S)``: True for keys to leave out, or numbers
                to add to the scores.
            src_key_padding_mask: ``(N, S)``: True for padding.
            is_causal: Says that ``src_mask`` leaves out what comes later.
            cache: What earlier calls have seen, for generation.
        """
        cached = {} if cache is None else {"cache": cache}

        def attention(x: Tensor) -> Tensor:
            return self._sa_block(x, src_mask, src_key_padding_mask, is_causal=is_causal, **cached)

        x = self._block(src, self.norm1, attention)
        return self._block(x, self.norm2, self._ff_block)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's result, and a feed forward network.

    Each block is added to its input and normalized, as in ``TransformerEncoderLayer`` (Vaswani et
    al., Attention Is All You Need, 2017).

    Shapes: ``tgt`` and output ``(T, N, d_model)``, ``memory`` ``(S, N, d_model)``; with
    ``batch_first`` the first two dimensions are swapped; without a batch there is no ``N``.

    Args:
        d_model: Features of the inputs and of the output.
        nhead: Heads of attention.
        dim_feedforward: Features between the two linear maps.
        dropout: Probability of dropping, in training.
        activation: ``"relu"``, ``"gelu"``, or a function of a tensor.
        layer_norm_eps: Keeps the division of the norms away from zero.
        batch_first: Whether the batch is the first dimension.
        norm_first: Normalize what goes into each block rather than what comes out.
        bias: Whether linear maps and norms add a bias.
        device: Where the parameters are made.
        dtype: Their dtype.

    Raises:
        RuntimeError: ``activation`` is another string.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> layer = nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16)
        >>> tuple(layer(flambeau.randn(20, 3, 8), flambeau.randn(10, 3, 8)).shape)
        (20, 3, 8)
    """

    _norms = 3
    multihead_attn: MultiheadAttention
    norm3: LayerNorm
    dropout3: Dropout

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
        *,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """Run the three blocks.

        Args:
            tgt: The sequences to continue.
            memory: What the encoder made.
            tgt_mask: ``(T, T)`` or ``(N * nhead, T, T)``: True for keys to leave out, or numbers
                to add to the scores.
            memory_mask: ``(T, S)`` or ``(N * nhead, T, S)``.
            tgt_key_padding_mask: ``(N, T)``: True for padding.
            memory_key_padding_mask: ``(N, S)``: True for padding.
            tgt_is_causal: Says that ``tgt_mask`` leaves out what comes later.
            memory_is_causal: The same of ``memory_mask``.
            cache: What earlier calls have seen, for generation.
        """
        own = {} if cache is None else {"cache": cache}
        read: dict[str, Any] = {} if cache is None else {"cache": cache.memory}

        def to_itself(x: Tensor) -> Tensor:
            return self._sa_block(x, tgt_mask, tgt_key_padding_mask, is_causal=tgt_is_causal,
                                  **own)

        def to_memory(x: Tensor) -> Tensor:
            return self._mha_block(x, memory, memory_mask, memory_key_padding_mask,
                                   is_causal=memory_is_causal, **read)

        x = self._block(tgt, self.norm1, to_itself)
        x = self._block(x, self.norm2, to_memory)
        return self._block(x, self.norm3, self._ff_block)

    def _mha_block(self, x: Tensor, mem: Tensor, attn_mask: Tensor | None,
                   key_padding_mask: Tensor | None, is_causal: bool = False,
                   **cached: Any) -> Tensor:
        """What is added by attention to the memory."""
        seen = self.multihead_attn(x, mem, mem, key_padding_mask, False, attn_mask,
                                   is_causal=is_causal, **cached)
        return self.dropout2(seen[0])


def _activation(given: Activation) -> Callable[[Tensor], Tensor]:
    if not isinstance(given, str):
        return given
    if given not in _ACTIVATIONS:
        raise RuntimeError(f"activation should be relu/gelu, or a function, not {given!r}")
    return _ACTIVATIONS[given]
