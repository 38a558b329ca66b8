"""Attention."""
from flambeau.core.opdefs.make import composite, helper

_NN = ("nn",)

OPDEFS = (
    helper("attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None,"
           " Bool is_causal=False, Float? scale=None) -> (Tensor result, Tensor logsumexp)",
           doc="Scaled dot product attention in blocks; never stores the whole score matrix.",
           autocast="lower", batching="rule", decomposes=True),
    helper("attention_grad(Tensor grad, Tensor query, Tensor key, Tensor value, Tensor? attn_mask,"
           " Bool is_causal, Float? scale, Tensor result, Tensor logsumexp)"
           " -> (Tensor query, Tensor key, Tensor value)", doc="Gradients of attention.",
           batching="rule", decomposes=True),
    composite("scaled_dot_product_attention(Tensor query, Tensor key, Tensor value,"
              " Tensor? attn_mask=None, Float dropout_p=0.0, Bool is_causal=False, *,"
              " Float? scale=None, Bool enable_gqa=False)", forms=_NN,
              call="scaled_dot_product_attention",
              doc="``softmax(query @ key.T * scale) @ value``.", autocast="lower"),
)
