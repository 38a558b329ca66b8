"""Scaled dot product attention."""
from flambeau.autograd._table import rule
from flambeau.autograd.rules._compose import vjp_of
from flambeau.core import ops

rule("attention", ("query", "key", "value"),
     lambda g, query, key, value, attn_mask, is_causal, scale, result, result1:
         ops.attention_grad(g, query, key, value, attn_mask, is_causal, scale, result, result1),
     attn_mask=lambda g, query, key, value, attn_mask, is_causal, scale: vjp_of(
         lambda mask: (_attention(query, key, value, mask, is_causal, scale),),
         (attn_mask,), (g,), (True,))[0])


def _weights(query, key, attn_mask, is_causal, scale):
    """``softmax(query @ key^T * scale + mask)``, and the scale."""
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = query @ key.transpose(-2, -1) * scale
    if is_causal:
        ones = ops.full_of(scores.shape[-2:], 1, dtype=scores.dtype, device=scores.device)
        scores = ops.where(ones.tril() == 1, scores, float("-inf"))
    if attn_mask is not None and attn_mask.is_floating_point():
        scores = scores + attn_mask
    elif attn_mask is not None:
        scores = ops.where(attn_mask, scores, float("-inf"))
    return scores.softmax(-1), scale


def _attention(query, key, value, attn_mask, is_causal, scale):
    return _weights(query, key, attn_mask, is_causal, scale)[0] @ value


def _formula(is_causal, scale):
    """What attention_grad computes, as operators of its differentiable arguments."""
    def formula(grad, query, key, value, attn_mask):
        weights, factor = _weights(query, key, attn_mask, is_causal, scale)
        inner = grad @ value.transpose(-2, -1)
        scores = weights * (inner - (inner * weights).sum(-1, keepdim=True)) * factor
        return (scores @ key, scores.transpose(-2, -1) @ query,
                weights.transpose(-2, -1) @ grad)
    return formula


rule("attention_grad", ("grad", "query", "key", "value", "attn_mask"),
     lambda grads, grad, query, key, value, attn_mask, is_causal, scale, needs: vjp_of(
         _formula(is_causal, scale), (grad, query, key, value, attn_mask), grads, needs))
