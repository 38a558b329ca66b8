"""Attention and rotary positions."""

from __future__ import annotations

import functools
import math
from typing import Any

import flambeau as fl
from flambeau.nn import functional as F
from flambeau.onnx.importing.reading import dtype_of
from flambeau.onnx.importing.table import Call, computes


def _heads(x: fl.Tensor, count: int) -> fl.Tensor:
    """``[batch, length, count * size]`` as ``[batch, count, length, size]``."""
    return x.reshape(x.shape[0], x.shape[1], count, -1).transpose(1, 2)


@computes("Attention")
def attention(call: Call, q: fl.Tensor, k: fl.Tensor, v: fl.Tensor,
              mask: fl.Tensor | None = None, past_k: fl.Tensor | None = None,
              past_v: fl.Tensor | None = None, lengths: fl.Tensor | None = None) -> Any:
    """``softmax(q k' scale + mask) v``, with caches of keys and values."""
    flat = q.ndim == 3
    if flat:
        q = _heads(q, call.get("q_num_heads"))
        k, v = (_heads(each, call.get("kv_num_heads")) for each in (k, v))
    if past_k is not None:
        k = fl.cat([past_k, k], 2)
    if past_v is not None:
        v = fl.cat([past_v, v], 2)
    present = k, v
    bias = _bias(call, q, k, mask, past_k, lengths)
    groups = q.shape[1] // k.shape[1]
    if groups > 1:
        k, v = (each.repeat_interleave(groups, 1) for each in (k, v))
    y, scores = _attend(call, q, k, v, bias)
    if flat:
        y = y.transpose(1, 2).flatten(2)
    return y, *present, scores


def _bias(call: Call, q: fl.Tensor, k: fl.Tensor, mask: fl.Tensor | None,
          past: fl.Tensor | None, lengths: fl.Tensor | None) -> fl.Tensor | None:
    """What is added to the scores."""
    rows, columns = q.shape[2], k.shape[2]
    bias = None
    if mask is not None:
        bias = mask
        if mask.dtype == fl.bool:
            bias = fl.zeros(mask.shape, dtype=q.dtype, device=q.device)
            bias = bias.masked_fill(~mask, -math.inf)
        if bias.shape[-1] < columns:
            bias = F.pad(bias, [0, columns - bias.shape[-1]], value=-math.inf)
    column = fl.arange(columns, device=q.device)
    row = fl.arange(rows, device=q.device).unsqueeze(1) + (0 if past is None else past.shape[2])
    if lengths is not None and past is None:
        row = row + (lengths.reshape(-1, 1, 1, 1) - rows)
    refused = [column > row] if call.get("is_causal", 0) else []
    left, right = call.get("left_window_size", -1), call.get("right_window_size", -1)
    if left >= 0:
        refused.append(column < row - left)
    if right >= 0:
        refused.append(column > row + right)
    if lengths is not None:
        refused.append(column >= lengths.reshape(-1, 1, 1, 1))
    if not refused:
        return bias
    none = functools.reduce(fl.logical_or, refused)
    hidden = fl.zeros(none.shape, dtype=q.dtype, device=q.device).masked_fill(none, -math.inf)
    return hidden if bias is None else bias + hidden


def _attend(call: Call, q: fl.Tensor, k: fl.Tensor, v: fl.Tensor, bias: fl.Tensor | None
            ) -> tuple[fl.Tensor, fl.Tensor | None]:
    scale, softcap = call.get("scale"), call.get("softcap", 0.0)
    if not (softcap or call.wants(3) or call.get("softmax_precision")):
        return F.scaled_dot_product_attention(q, k, v, bias, scale=scale), None
    part = math.sqrt(1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    raw = (q * part) @ (k * part).transpose(-1, -2)
    mode = call.get("qk_matmul_output_mode", 0)
    capped = softcap * fl.tanh(raw / softcap) if softcap else raw
    biased = capped if bias is None else capped + bias.to(capped.dtype)
    precision = call.get("softmax_precision")
    wide = biased.to(dtype_of(precision)) if precision else biased
    weights = fl.softmax(wide, -1).to(q.dtype)
    # A row that may attend to nothing has no weights.
    weights = fl.where(fl.isneginf(biased).all(-1, keepdim=True), fl.zeros_like(weights), weights)
    return weights @ v, (raw, capped, biased, weights)[mode]


@computes("RotaryEmbedding")
def rotary(call: Call, x: fl.Tensor, cos: fl.Tensor, sin: fl.Tensor,
           places: fl.Tensor | None = None) -> fl.Tensor:
    """Pairs of features turned by angles of their places."""
    shape, flat = x.shape, x.ndim == 3
    x = x.reshape(shape[0], shape[1], call.get("num_heads"), -1) if flat else x.transpose(1, 2)
    size = call.get("rotary_embedding_dim", 0) or x.shape[-1]
    turned, kept = x[..., :size], x[..., size:]
    if places is not None:
        cos, sin = cos[places], sin[places]
    cos, sin = (each[..., :size // 2].unsqueeze(2) for each in (cos, sin))
    if call.get("interleaved", 0):
        a, b = turned[..., 0::2], turned[..., 1::2]
    else:
        a, b = turned.chunk(2, -1)
    real, imaginary = cos * a - sin * b, sin * a + cos * b
    if call.get("interleaved", 0):
        turned = fl.stack([real, imaginary], -1).flatten(-2)
    else:
        turned = fl.cat([real, imaginary], -1)
    y = fl.cat([turned, kept], -1)
    return y.reshape(shape) if flat else y.transpose(1, 2)
