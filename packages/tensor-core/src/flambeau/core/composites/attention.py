"""Attention."""
from flambeau.core import _core

_op = _core.operators()


def scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale,
                                 enable_gqa):
    if is_causal and attn_mask is not None:
        if query.ndim != 4 or attn_mask.ndim not in (2, 4) or dropout_p or attn_mask.requires_grad:
            raise RuntimeError("scaled_dot_product_attention(): Explicit attn_mask should not be "
                               "set when is_causal=True")
        attn_mask, is_causal = _both_masks(attn_mask, query, key), False
    if enable_gqa and key.shape[-3] != query.shape[-3]:
        key, value = _repeat_heads(key, query), _repeat_heads(value, query)
    query, key, value = _same_lead(query, key, value)
    if dropout_p == 0.0:
        return _op["attention"](query, key, value, attn_mask, is_causal, scale)[0]
    return _plain_attention(query, key, value, attn_mask, dropout_p, is_causal, scale)


def _both_masks(attn_mask, query, key):
    """What a mask lets through of what no element after the query's is in, as PyTorch's kernel."""
    allowed = _before((query.shape[-2], key.shape[-2]), query.device)
    if attn_mask.dtype is _core._dtype_named("bool"):
        return _op["logical_and"](attn_mask, allowed)
    return _op["where"](allowed, attn_mask, float("-inf"))


def _before(shape, device):
    """True where a key is not after the query."""
    return _op["ne"](_op["tril"](_op["fill_"](_op["empty"](shape, device=device), 1)), 0)


def _same_lead(*tensors):
    """The tensors with their leading dimensions broadcast to each other."""
    leads = [tuple(t.shape[:-2]) for t in tensors]
    if leads[0] == leads[1] == leads[2] or min([t.ndim for t in tensors]) < 2:
        return tensors
    lead = []
    for i in range(-max([len(sizes) for sizes in leads]), 0):
        sizes = {sizes[i] for sizes in leads if len(sizes) >= -i} - {1}
        if len(sizes) > 1:
            return tensors      # the kernel says what is wrong
        lead.append(sizes.pop() if sizes else 1)
    return [_op["expand"](t, (*lead, *t.shape[-2:])) for t in tensors]


def _repeat_heads(x, query):
    times = query.shape[-3] // x.shape[-3]
    shape = list(x.shape)
    x = _op["expand"](_op["unsqueeze"](x, -3), (*shape[:-2], times, *shape[-2:]))
    return _op["reshape"](x, (*shape[:-3], shape[-3] * times, *shape[-2:]))


def _plain_attention(query, key, value, attn_mask, dropout_p, is_causal, scale):
    """The textbook formula, for dropout on the weights."""
    if scale is None:
        scale = max(query.shape[-1], 1) ** -0.5
    scores = _op["mul"](_op["matmul"](query, _op["transpose"](key, -2, -1)), scale)
    if is_causal:
        attn_mask = _before(scores.shape[-2:], query.device)
    if attn_mask is not None and attn_mask.dtype is _core._dtype_named("bool"):
        scores = _op["where"](attn_mask, scores, float("-inf"))
    elif attn_mask is not None:
        scores = _op["add"](scores, attn_mask)
    weights = _op["dropout"](_op["softmax"](scores, -1), dropout_p, True, False)
    return _op["matmul"](weights, value)
