"""``MultiheadAttention``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import flambeau
from flambeau import Tensor

from .._multihead import Call, Weights, attend
from .._siblings import init
from ..parameter import Parameter
from .linear import Linear
from .module import Module

if TYPE_CHECKING:
    from ..attention.cache import LayerCache, MemoryCache


class NonDynamicallyQuantizableLinear(Linear):
    """The projection of the result; its name is part of what modules of PyTorch print."""


class MultiheadAttention(Module):
    r"""Each query looks up, in several heads, a mean of the values by how well its keys match.

    ``head_i = softmax((Q W_i^Q) (K W_i^K)^T / sqrt(d) + mask) (V W_i^V)``; the heads, side by
    side, go through one more projection (Vaswani et al., Attention Is All You Need, 2017).

    Shapes: ``query`` ``(L, N, embed_dim)``, ``key`` ``(S, N, kdim)``, ``value`` ``(S, N, vdim)``;
    with ``batch_first`` the first two dimensions are swapped; without a batch there is no
    ``N``. ``in_proj_weight`` ``(3 * embed_dim, embed_dim)``, or where ``kdim`` or ``vdim`` differ
    ``q_proj_weight``, ``k_proj_weight`` and ``v_proj_weight``, each ``(embed_dim, features)``.

    Args:
        embed_dim: Features of the query and of the result.
        num_heads: Heads among which they are divided.
        dropout: Probability of dropping a weight of attention in training.
        bias: Whether the projections add a bias.
        add_bias_kv: Learn one more key and value.
        add_zero_attn: Add a key and a value of zeros.
        kdim: Features of the key; ``embed_dim`` when left out.
        vdim: Features of the value; ``embed_dim`` when left out.
        batch_first: Whether the batch is the first dimension.
        device: Where the parameters are made.
        dtype: Their dtype.

    Raises:
        ValueError: A size is not positive.
        AssertionError: ``embed_dim`` is no multiple of ``num_heads``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> attention = nn.MultiheadAttention(8, 2, batch_first=True)
        >>> x = flambeau.randn(3, 5, 8)
        >>> result, weights = attention(x, x, x)
        >>> tuple(result.shape), tuple(weights.shape)
        ((3, 5, 8), (3, 5, 5))
    """

    in_proj_weight: Parameter | None
    q_proj_weight: Parameter | None
    k_proj_weight: Parameter | None
    v_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        _check_sizes(embed_dim, num_heads)
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        placed = {"device": device, "dtype": dtype}
        self._make_projections(placed)
        self._make("in_proj_bias", (3 * embed_dim,) if bias else None, placed)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **placed)
        for name in ("bias_k", "bias_v"):
            self._make(name, (1, 1, embed_dim) if add_bias_kv else None, placed)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
        *,
        cache: LayerCache | MemoryCache | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Look up.

        Args:
            query: ``(L, N, embed_dim)``, ``(N, L, embed_dim)`` or ``(L, embed_dim)``.
            key: What queries are compared with, in the same order of dimensions.
            value: What is looked up.
            key_padding_mask: ``(N, S)``: True for keys to leave out, or numbers to add.
            need_weights: Whether to return the weights. Without them the result is computed in
                blocks, and the matrix of weights is never stored.
            attn_mask: ``(L, S)`` or ``(N * num_heads, L, S)``: True for keys to leave out, or
                numbers to add to the scores.
            average_attn_weights: Whether the weights returned are the mean over the heads.
            is_causal: Says that ``attn_mask`` leaves out what comes later, which is then done
                without reading it.
            cache: Keys and values of earlier calls, for generation: those of this call are
                added, and each query sees the keys up to its own (``nn.attention``).

        Returns:
            The result, shaped like ``query``, and the weights ``(N, L, S)`` or
            ``(N, num_heads, L, S)``, or None.

        Raises:
            AssertionError: Shapes do not fit each other.
            RuntimeError: Masks or batches do not fit the inputs.
        """
        call = Call(
            key_padding_mask, need_weights, attn_mask, average_attn_weights, is_causal, cache=cache
        )
        return attend(self._weights(), query, key, value, call)

    def _weights(self) -> Weights:
        in_proj: tuple[Tensor | None, ...] = (self.in_proj_weight,)
        if not self._qkv_same_embed_dim:
            in_proj = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        return Weights(
            self.embed_dim,
            self.num_heads,
            in_proj,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout if self.training else 0.0,
            self.out_proj.weight,
            self.out_proj.bias,
            self.batch_first,
        )

    def _make_projections(self, placed: dict[str, Any]) -> None:
        width, together = self.embed_dim, self._qkv_same_embed_dim
        for letter, features in (("q", width), ("k", self.kdim), ("v", self.vdim)):
            self._make(f"{letter}_proj_weight", None if together else (width, features), placed)
        self._make("in_proj_weight", (3 * width, width) if together else None, placed)

    def _make(self, name: str, shape: tuple[int, ...] | None, placed: dict[str, Any]) -> None:
        made = None if shape is None else Parameter(flambeau.empty(shape, **placed))
        self.register_parameter(name, made)

    def _reset_parameters(self) -> None:
        for weight in (
            self.in_proj_weight,
            self.q_proj_weight,
            self.k_proj_weight,
            self.v_proj_weight,
        ):
            if weight is not None:
                init.xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.zeros_(bias)
        for key in (self.bias_k, self.bias_v):
            if key is not None:
                init.xavier_normal_(key)


def _check_sizes(embed_dim: int, num_heads: int) -> None:
    if embed_dim <= 0 or num_heads <= 0:
        raise ValueError(
            "MultiheadAttention(): embed_dim and num_heads must be greater than 0, got "
            f"embed_dim={embed_dim} and num_heads={num_heads}"
        )
    if embed_dim % num_heads:
        raise AssertionError(
            "MultiheadAttention(): embed_dim must be divisible by num_heads, got "
            f"embed_dim={embed_dim} and num_heads={num_heads}"
        )
