"""Attention of several heads as a function, with projections, masks and extra keys.

Inside, queries, keys and values are ``[batch, heads, length, features of a head]`` views of what
the projections give, in whichever order the inputs came, so that nothing is copied on the way to
the kernel and back. Masks are in ``_multihead_masks``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from flambeau import Tensor
from flambeau.core import _core

from ._core import ops
from ._multihead_masks import Masks, read_masks, without_later


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
        AssertionError: Shapes or arguments do not fit each other.
        RuntimeError: Masks or batches do not fit the inputs.

    Example:
        >>> import flambeau
        >>> x, w = flambeau.ones(3, 1, 4), flambeau.zeros(12, 4)
        >>> y, weights = multi_head_attention_forward(
        ...     x, x, x, 4, 2, w, None, None, None, False, 0.0, flambeau.eye(4), None)
        >>> tuple(y.shape), weights[0, 0].sum().item()
        ((3, 1, 4), 1.0)
    """
    in_proj: tuple[Tensor | None, ...] = (in_proj_weight,)
    if use_separate_proj_weight:
        in_proj = (q_proj_weight, k_proj_weight, v_proj_weight)
    weights = Weights(
        embed_dim_to_check,
        num_heads,
        in_proj,
        in_proj_bias,
        bias_k,
        bias_v,
        add_zero_attn,
        dropout_p if training else 0.0,
        out_proj_weight,
        out_proj_bias,
        False,
    )
    call = Call(
        key_padding_mask,
        need_weights,
        attn_mask,
        average_attn_weights,
        is_causal,
        static_k,
        static_v,
    )
    return attend(weights, query, key, value, call)


class Weights(NamedTuple):
    """What a layer of attention is made of."""

    width: int
    heads: int
    in_proj: tuple[Any, ...]  # one weight for all three, or three; or layers that hold them
    in_bias: Tensor | None
    bias_k: Tensor | None
    bias_v: Tensor | None
    zero_key: bool
    dropout_p: float
    out_weight: Any
    out_bias: Tensor | None
    batch_first: bool


class Call(NamedTuple):
    """What one call of it asks for."""

    padding: Tensor | None = None
    need_weights: bool = True
    mask: Tensor | None = None
    average: bool = True
    is_causal: bool = False
    static_k: Tensor | None = None
    static_v: Tensor | None = None
    cache: Any = None


def attend(
    weights: Weights, query: Tensor, key: Tensor, value: Tensor, call: Call
) -> tuple[Tensor, Tensor | None]:
    """The whole of it: project, attend, project."""
    _check(weights, query, key, value, call)
    if query.ndim == 2:
        return _attend_one(weights, query, key, value, call)
    q, k, v = _keys_and_values(weights, query, key, value, call)
    masks = read_masks(q, k.shape[2], call.mask, call.padding)
    masks, causal = _settled(weights, call, masks, q, k.shape[2])
    k, v, masks = _with_extra_keys(weights, k, v, masks)
    result, scores = _attention(weights, q, k, v, masks, causal, call.need_weights)
    scores = scores.mean(1) if scores is not None and call.average else scores
    return _joined(weights, result), scores


def _joined(weights, result):
    """The heads side by side, through the last projection.

    With PyTorch's random numbers its order in memory is PyTorch's, too, lengths before batches:
    dropout, which nearly always follows in training, draws in that order.
    """
    as_there = weights.batch_first and result.requires_grad and _core.draws_like_pytorch()
    first = weights.batch_first and not as_there
    result = (result.transpose(1, 2) if first else result.permute(2, 0, 1, 3)).flatten(2)
    result = _linear(result, weights.out_weight, weights.out_bias)
    return result.transpose(0, 1) if as_there else result


def _attend_one(weights, query, key, value, call):
    """One sequence: a batch of one."""
    dim = 0 if weights.batch_first else 1
    inputs = {id(x): x.unsqueeze(dim) for x in (query, key, value)}  # what is one stays one
    padding = None if call.padding is None else call.padding.unsqueeze(0)
    result, scores = attend(
        weights,
        inputs[id(query)],
        inputs[id(key)],
        inputs[id(value)],
        call._replace(padding=padding),
    )
    return result.squeeze(dim), None if scores is None else scores.squeeze(0)


def _check(weights, query, key, value, call):
    if not (query.ndim == key.ndim == value.ndim and query.ndim in (2, 3)):
        order = "[batch, length" if weights.batch_first else "[length, batch"
        raise AssertionError(
            "multi_head_attention_forward(): query, key and value are all "
            f"{order}, features] or all [length, features], got "
            f"{list(query.shape)}, {list(key.shape)} and {list(value.shape)}"
        )
    _check_mask_dimensions(weights, query, call)
    width, heads = weights.width, weights.heads
    if query.shape[-1] != width:
        raise AssertionError(
            "multi_head_attention_forward(): was expecting embedding dimension of "
            f"{width}, but got {query.shape[-1]}"
        )
    if heads < 1 or width % heads:
        raise AssertionError(
            f"multi_head_attention_forward(): embed_dim {width} is not divisible by "
            f"num_heads {heads}"
        )
    batch = 0 if weights.batch_first else 1
    same = key.shape[:-1] == value.shape[:-1]
    if not same or query.ndim == 3 and key.shape[batch] != query.shape[batch]:
        raise (RuntimeError if same else AssertionError)(
            "multi_head_attention_forward(): key and value must have the same "
            "length, and all three the same batch, got "
            f"{list(query.shape)}, {list(key.shape)} and {list(value.shape)}"
        )
    if call.is_causal and call.mask is None and call.cache is None:
        raise RuntimeError(
            "multi_head_attention_forward(): Need attn_mask if specifying the is_causal hint; it "
            "says what the mask is, and does not make one: pass "
            "nn.Transformer.generate_square_subsequent_mask(length)"
        )
    if (weights.bias_k is None) != (weights.bias_v is None):
        raise AssertionError(
            "multi_head_attention_forward(): give both bias_k and bias_v, or none"
        )
    if weights.bias_k is not None and not (call.static_k is None and call.static_v is None):
        raise AssertionError(
            "multi_head_attention_forward(): bias cannot be added to static key or "
            "value; leave out bias_k and bias_v"
        )


def _check_mask_dimensions(weights, query, call):
    """Masks have a batch where the query has one."""
    padding, mask = call.padding, call.mask
    if padding is not None and padding.ndim != query.ndim - 1:
        raise AssertionError(
            f"multi_head_attention_forward(): key_padding_mask has {query.ndim - 1} dimension(s) "
            f"where the query has {query.ndim}, got shape {list(padding.shape)}"
        )
    if mask is not None and mask.ndim not in (2, 3):
        raise AssertionError(
            "multi_head_attention_forward(): attn_mask is [queries, keys] or [batch * heads, "
            f"queries, keys], got shape {list(mask.shape)}"
        )
    if mask is not None and query.ndim == 2 and mask.ndim == 3 and len(mask) != weights.heads:
        raise AssertionError(
            "multi_head_attention_forward(): attn_mask of one sequence is [queries, keys] or "
            f"[heads, queries, keys] with {weights.heads} heads, got {list(mask.shape)}"
        )


def _settled(weights, call, masks, q, keys):
    """The masks that are needed, and whether the kernel leaves out later positions by itself."""
    extra = weights.zero_key or weights.bias_k is not None
    square = masks.padding is None and q.shape[2] == keys and not extra and not call.need_weights
    if call.cache is None or not call.cache.causal:
        return (Masks(None, None), True) if square and call.is_causal else (masks, False)
    if square and masks.mask is None:
        return masks, True
    return without_later(masks, q, keys), False


def _keys_and_values(weights, query, key, value, call):
    """Query, keys and values by heads; those that were not given projected come from the cache."""
    if call.cache is not None and call.cache.holds(key):
        return _query(weights, query), *call.cache.held
    q, k, v = [_heads(weights, x) for x in _projected(weights, query, key, value)]
    if call.cache is not None:
        k, v = call.cache.keep(key, k, v)
    return q, _static("static_k", call.static_k, k), _static("static_v", call.static_v, v)


def _projected(weights, query, key, value):
    """Query, key and value through their weights; as one product where they are one tensor."""
    packed, bias = weights.in_proj[0], weights.in_bias
    if any(w is None for w in weights.in_proj):
        raise RuntimeError(
            "multi_head_attention_forward(): in_proj_weight is None; pass it, "
            "or use_separate_proj_weight=True with q_proj_weight, k_proj_weight and v_proj_weight"
        )
    if len(weights.in_proj) == 3:
        biases = (None, None, None) if bias is None else bias.chunk(3)
        pairs = zip((query, key, value), weights.in_proj, biases, strict=True)
        return [_linear(x, w, b) for x, w, b in pairs]
    if query is key and key is value:
        return _linear(query, packed, bias).chunk(3, -1)
    inputs = [query, key] if key is value else [query, key, value]
    sizes = [weights.width, 2 * weights.width] if key is value else [weights.width] * 3
    biases = [None] * len(sizes) if bias is None else bias.split(sizes)
    each = zip(inputs, _split(packed, sizes), biases, strict=True)
    parts = [_linear(x, w, b) for x, w, b in each]
    return [parts[0], *parts[1].chunk(2, -1)] if key is value else parts


def _query(weights, query):
    """The query alone, projected."""
    packed = len(weights.in_proj) == 1
    weight = _split(weights.in_proj[0], [weights.width] * 3)[0] if packed else weights.in_proj[0]
    bias = None if weights.in_bias is None else weights.in_bias.chunk(3)[0]
    return _heads(weights, _linear(query, weight, bias))


def _linear(x, weight, bias):
    """Through a matrix, or through a layer that holds one in few bits, and its bias."""
    return weight(x) if callable(weight) else ops.linear(x, weight, bias)


def _split(weight, sizes):
    """Some rows after the other, of a matrix or of such a layer."""
    if not callable(weight):
        return weight.split(sizes)
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    return [weight.rows(start, size) for start, size in zip(starts, sizes, strict=True)]


def _heads(weights, x):
    """[batch, heads, length, features of a head]"""
    first, second, width = x.shape
    x = x.reshape(first, second, weights.heads, width // weights.heads)
    return x.transpose(1, 2) if weights.batch_first else x.permute(1, 2, 0, 3)


def _static(name, given, projected):
    """The keys or values given in place of the projected ones."""
    if given is None:
        return projected
    batch, heads, _, features = projected.shape
    if given.ndim != 3 or (given.shape[0], given.shape[2]) != (batch * heads, features):
        raise AssertionError(
            f"multi_head_attention_forward(): {name} is {list(given.shape)}, but should be "
            f"[{batch * heads}, keys, {features}]"
        )
    return given.reshape(batch, heads, given.shape[1], features)


def _with_extra_keys(weights, k, v, masks):
    """The learned key and the key of zeros, which no mask leaves out."""
    if weights.bias_k is not None:
        k, v = [
            _longer(x, bias.reshape(1, x.shape[1], 1, x.shape[3]))
            for x, bias in ((k, weights.bias_k), (v, weights.bias_v))
        ]
        masks = masks.longer()
    if weights.zero_key:
        zero = ops.full_of((1, 1, 1, k.shape[3]), 0, dtype=k.dtype, device=k.device)
        k, v, masks = _longer(k, zero), _longer(v, zero), masks.longer()
    return k, v, masks


def _longer(x, row):
    batch, heads, _, features = x.shape
    return ops.cat([x, row.expand(batch, heads, 1, features)], 2)


def _attention(weights, q, k, v, masks: Masks, causal, need_weights):
    """The result by heads, and the weights that are asked for."""
    dropout_p = weights.dropout_p
    if not need_weights:
        mask = None if causal else masks.taking_part()
        return ops.scaled_dot_product_attention(q, k, v, mask, dropout_p, causal), None
    scores = ops.matmul(q * q.shape[-1] ** -0.5, k.transpose(-2, -1))
    scores = ops.softmax(masks.added_to(scores), -1)
    if dropout_p > 0.0:
        scores = ops.dropout(scores, dropout_p)
    return ops.matmul(scores, v), scores
