"""Attention of several heads as a function, with projections, masks and extra keys."""

from __future__ import annotations

from typing import NamedTuple

from flambeau import Tensor

from ._core import ops


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """``softmax(Q K^T / sqrt(d) + mask) V`` for each head, projected before and after.

    Args:
        query: ``[length, batch, features]``, or ``[length, features]``.
        key: Like ``query``, of another length.
        value: As long as ``key``.
        embed_dim_to_check: The number of features of ``query``.
        num_heads: Heads among which the features are divided.
        in_proj_weight: Weights of query, key and value, one above the other.
        in_proj_bias: Their biases, one after the other.
        bias_k: One more key for every sequence, ``[1, 1, features]``.
        bias_v: The value of that key.
        add_zero_attn: Whether to add a key and a value of zeros.
        dropout_p: Probability of dropping a weight, when training.
        out_proj_weight: Weight of the projection of the result.
        out_proj_bias: Its bias.
        training: Whether to drop weights.
        key_padding_mask: ``[batch, keys]``: True for keys to leave out, or numbers to add.
        need_weights: Whether to return the weights; without them less memory is needed.
        attn_mask: ``[queries, keys]`` or ``[batch * heads, queries, keys]``, True for keys to
            leave out, or numbers to add.
        use_separate_proj_weight: Whether the three weights below are used.
        q_proj_weight: Weight of the query.
        k_proj_weight: Weight of the key.
        v_proj_weight: Weight of the value.
        static_k: Projected keys ``[batch * heads, keys, features of a head]``, used instead.
        static_v: Projected values, used instead.
        average_attn_weights: Whether the weights returned are the mean over the heads.
        is_causal: Says that ``attn_mask`` leaves out what comes later.

    Returns:
        The result, shaped like ``query``, and the weights, or None.

    Raises:
        RuntimeError: Shapes or masks do not fit each other.

    Example:
        >>> import flambeau
        >>> x, w = flambeau.ones(3, 1, 4), flambeau.zeros(12, 4)
        >>> y, weights = multi_head_attention_forward(
        ...     x, x, x, 4, 2, w, None, None, None, False, 0.0, flambeau.eye(4), None)
        >>> tuple(y.shape), weights[0, 0].sum().item()
        ((3, 1, 4), 1.0)
    """
    batched = query.ndim == 3
    if not batched:
        query, key, value = (t.unsqueeze(1) if t.ndim == 2 else t for t in (query, key, value))
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    _check(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    if is_causal and attn_mask is None:
        raise RuntimeError("multi_head_attention_forward(): Need attn_mask if specifying the "
                           "is_causal hint; it says what the mask is, and does not make one")
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _projected(query, key, value, in_proj_weight, weights, in_proj_bias)
    mask, padding = _read_masks(q, k, num_heads, attn_mask, key_padding_mask)
    keys = _Keys(k, v, mask, padding)
    if (bias_k is None) != (bias_v is None):
        raise RuntimeError("multi_head_attention_forward(): give both bias_k and bias_v, or none")
    if bias_k is not None:
        keys = _with_learned_key(keys, bias_k, bias_v, static_k, static_v)
    q = _heads(q, num_heads)
    keys = keys._replace(k=_heads(keys.k, num_heads) if static_k is None else static_k,
                         v=_heads(keys.v, num_heads) if static_v is None else static_v)
    if add_zero_attn:
        keys = _with_zero_key(keys)
    hint = is_causal and padding is None and not need_weights and keys.k.shape[1] == key.shape[0]
    mask = None if hint else _one_mask(keys, query.shape[1], num_heads)
    result, scores = _attend(q, keys, mask, dropout_p if training else 0.0, need_weights, hint)
    length, batch, width = query.shape
    result = result.transpose(0, 1).reshape(length, batch, width)
    result = ops.linear(result, out_proj_weight, out_proj_bias)
    if scores is not None:
        scores = scores.reshape(batch, num_heads, length, -1)
        scores = scores.mean(1) if average_attn_weights else scores
        scores = scores if batched else scores.squeeze(0)
    return result if batched else result.squeeze(1), scores


class _Keys(NamedTuple):
    """Keys and values, and what is added to their scores."""

    k: Tensor
    v: Tensor
    mask: Tensor | None         # [1 or batch * heads, queries, keys]
    padding: Tensor | None      # [batch, keys]

    def longer(self, k: Tensor, v: Tensor) -> _Keys:
        """One more key and value, which no mask leaves out."""
        mask = None if self.mask is None else ops.pad(self.mask, (0, 1))
        padding = None if self.padding is None else ops.pad(self.padding, (0, 1))
        return _Keys(k, v, mask, padding)


def _check(query, key, value, width, heads, separate):
    if not query.ndim == key.ndim == value.ndim == 3:
        raise RuntimeError("multi_head_attention_forward(): query, key and value are all [length, "
                           "batch, features] or all [length, features], got "
                           f"{list(query.shape)}, {list(key.shape)} and {list(value.shape)}")
    if query.shape[2] != width:
        raise RuntimeError("multi_head_attention_forward(): was expecting embedding dimension of "
                           f"{width}, but got {query.shape[2]}")
    if heads < 1 or width % heads:
        raise RuntimeError(f"multi_head_attention_forward(): embed_dim {width} is not divisible by "
                           f"num_heads {heads}")
    same = key.shape[:2] == value.shape[:2] if separate else key.shape == value.shape
    if not same or key.shape[1] != query.shape[1]:
        raise RuntimeError("multi_head_attention_forward(): key and value must have the same "
                           "length, and all three the same batch, got "
                           f"{list(query.shape)}, {list(key.shape)} and {list(value.shape)}")


def _projected(query, key, value, packed, weights, bias):
    """Query, key and value through their weights; as one product where they are one tensor."""
    if weights is None:
        if packed is None:
            raise RuntimeError("multi_head_attention_forward(): in_proj_weight is None; pass it, "
                               "or use_separate_proj_weight=True with three weights")
        if query is key and key is value:
            return ops.linear(query, packed, bias).chunk(3, -1)
        weights = packed.chunk(3)
    elif any(w is None for w in weights):
        raise RuntimeError("multi_head_attention_forward(): use_separate_proj_weight=True needs "
                           "q_proj_weight, k_proj_weight and v_proj_weight")
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return [ops.linear(x, w, b)
            for x, w, b in zip((query, key, value), weights, biases, strict=True)]


def _heads(x, heads):
    """[length, batch, features] as [batch * heads, length, features of a head]."""
    length, batch, width = x.shape
    return x.reshape(length, batch * heads, width // heads).transpose(0, 1)


def _read_masks(q, k, heads, mask, padding):
    """Both masks as numbers to add."""
    length, batch = q.shape[:2]
    keys = k.shape[0]
    if mask is not None:
        allowed = [(length, keys), (batch * heads, length, keys)]
        _check_shape("attn_mask", mask, allowed)
        mask = _added("attn_mask", mask, q)
        mask = mask if mask.ndim == 3 else mask.unsqueeze(0)
    if padding is not None:
        _check_shape("key_padding_mask", padding, [(batch, keys)])
        padding = _added("key_padding_mask", padding, q)
    return mask, padding


def _check_shape(name, mask, allowed):
    if tuple(mask.shape) not in allowed:
        wanted = " or ".join(str(list(shape)) for shape in allowed)
        raise RuntimeError(f"multi_head_attention_forward(): the shape of {name} is "
                           f"{list(mask.shape)}, but should be {wanted}")


def _added(name, mask, like):
    if mask.is_floating_point():
        return mask.to(like.dtype)
    if mask.dtype.name != "bool":
        raise RuntimeError(f"multi_head_attention_forward(): only bool and floating types of "
                           f"{name} are supported, got {mask.dtype}")
    zeros = ops.full_of(mask.shape, 0, dtype=like.dtype, device=like.device)
    return zeros.masked_fill(mask, float("-inf"))


def _with_learned_key(keys, bias_k, bias_v, static_k, static_v):
    if static_k is not None or static_v is not None:
        raise RuntimeError("multi_head_attention_forward(): bias cannot be added to static key or "
                           "value; leave out bias_k and bias_v")
    batch = keys.k.shape[1]
    return keys.longer(ops.cat([keys.k, bias_k.expand(1, batch, -1)]),
                       ops.cat([keys.v, bias_v.expand(1, batch, -1)]))


def _with_zero_key(keys):
    def zero(x):
        return ops.full_of((x.shape[0], 1, x.shape[2]), 0, dtype=x.dtype, device=x.device)

    return keys.longer(ops.cat([keys.k, zero(keys.k)], 1), ops.cat([keys.v, zero(keys.v)], 1))


def _one_mask(keys, batch, heads):
    """What is added to the scores [batch * heads, queries, keys]."""
    if keys.padding is None:
        return keys.mask
    rows = keys.padding.reshape(batch, 1, 1, -1).expand(-1, heads, -1, -1)
    rows = rows.reshape(batch * heads, 1, -1)
    return rows if keys.mask is None else keys.mask + rows


def _attend(q, keys, mask, dropout_p, need_weights, is_causal):
    if not need_weights:
        return ops.scaled_dot_product_attention(q, keys.k, keys.v, mask, dropout_p, is_causal), None
    scores = ops.matmul(q * q.shape[-1] ** -0.5, keys.k.transpose(-2, -1))
    weights = ops.softmax(scores if mask is None else scores + mask, -1)
    if dropout_p > 0.0:
        weights = ops.dropout(weights, dropout_p)
    return ops.matmul(weights, keys.v), weights
