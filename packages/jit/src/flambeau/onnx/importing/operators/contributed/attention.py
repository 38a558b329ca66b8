"""Attention as onnxruntime writes it: with projections, biases, padding and caches."""

from __future__ import annotations

import math
from typing import Any

import flambeau as fl
from flambeau.nn import functional as F
from flambeau.onnx.importing.table import Call, contributed


def _heads(x: fl.Tensor, count: int) -> fl.Tensor:
    """``[batch, length, count * size]`` as ``[batch, count, length, size]``."""
    return x if x.ndim == 4 else x.reshape(x.shape[0], x.shape[1], count, -1).transpose(1, 2)


def _filled(wanted: fl.Tensor, number: float, dtype: fl.dtype) -> fl.Tensor:
    """0 where something may be attended to, and a number elsewhere."""
    none = fl.zeros(wanted.shape, dtype=dtype, device=wanted.device)
    return none.masked_fill(~wanted, number)


def _padding(call: Call, mask: fl.Tensor, batch: int, columns: int) -> fl.Tensor:
    """Which keys count, from lengths, from ends and starts, or one by one."""
    column = fl.arange(columns, device=mask.device)
    if mask.ndim == 1 and mask.shape[0] == batch:
        return (column < mask.unsqueeze(1)).reshape(batch, 1, 1, columns)
    if mask.ndim == 1 and mask.shape[0] == 2 * batch:
        ends, starts = mask.reshape(2, batch, 1)
        return ((column < ends) & (column >= starts)).reshape(batch, 1, 1, columns)
    if mask.ndim == 2:
        return (mask > 0).reshape(batch, 1, 1, columns)
    if mask.ndim == 3:
        return (mask > 0).unsqueeze(1)
    raise call.refuse(f"a mask of shape {tuple(mask.shape)} is not read; lengths, ends and starts, "
                      "and one number for each key (of each query) are")


def _attend(call: Call, q: fl.Tensor, k: fl.Tensor, v: fl.Tensor, mask: fl.Tensor | None,
            bias: fl.Tensor | None) -> fl.Tensor:
    """Heads' weighted values, side by side again."""
    rows, columns = q.shape[2], k.shape[2]
    if mask is not None:
        wanted = _padding(call, mask, q.shape[0], columns)
        hidden = _filled(wanted, call.get("mask_filter_value", -10000.0), q.dtype)
        bias = hidden if bias is None else bias + hidden
    if call.get("unidirectional"):
        past = columns - rows
        row = fl.arange(rows, device=q.device).unsqueeze(1)
        causal = _filled(fl.arange(columns, device=q.device) <= row + past, -math.inf, q.dtype)
        bias = causal if bias is None else bias + causal
    scale = call.get("scale") or None
    y = F.scaled_dot_product_attention(q, k, v, bias, scale=scale)
    return y.transpose(1, 2).flatten(2)


@contributed("Attention")
def attention(call: Call, x: fl.Tensor, weights: fl.Tensor, bias: fl.Tensor | None = None,
              mask: fl.Tensor | None = None, past: fl.Tensor | None = None,
              extra: fl.Tensor | None = None, length: fl.Tensor | None = None) -> Any:
    """Attention of ``x`` to itself, with one matrix for queries, keys and values."""
    projected = fl.matmul(x, weights)
    projected = projected if bias is None else projected + bias
    return attend_projected(call, projected, mask, past, extra, length)


def attend_projected(call: Call, projected: fl.Tensor, mask: fl.Tensor | None,
                     past: fl.Tensor | None, extra: fl.Tensor | None = None,
                     length: fl.Tensor | None = None) -> Any:
    """Attention of queries, keys and values that lie side by side."""
    if call.get("do_rotary") or call.get("past_present_share_buffer") or length is not None:
        raise call.refuse("rotary positions and caches of a fixed size are not read here")
    sizes = call.get("qkv_hidden_sizes") or [projected.shape[-1] // 3] * 3
    q, k, v = (_heads(each, call.get("num_heads")) for each in projected.split(sizes, -1))
    if past is not None:
        k, v = fl.cat([past[0], k], 2), fl.cat([past[1], v], 2)
    present = fl.stack([k, v]) if call.wants(1) else None
    return _attend(call, q, k, v, mask, extra), present


@contributed("MultiHeadAttention")
def multi_head(call: Call, q: fl.Tensor, k: fl.Tensor | None = None, v: fl.Tensor | None = None,
               bias: fl.Tensor | None = None, mask: fl.Tensor | None = None,
               extra: fl.Tensor | None = None, past_k: fl.Tensor | None = None,
               past_v: fl.Tensor | None = None, *more: fl.Tensor) -> Any:
    """Attention of queries to keys and values that others projected."""
    if more or call.wants(3):
        raise call.refuse("caches of a fixed size and weights as an output are not read here")
    if k is None:
        if q.ndim != 5:
            raise call.refuse("keys and values are missing")
        q, k, v = (each.flatten(2) for each in q.unbind(3))
    if v is None:
        k, v = (each.flatten(2) for each in k.unbind(3))
    if bias is not None:
        q, k, v = _biased(q, k, v, bias)
    q, k, v = (_heads(each, call.get("num_heads")) for each in (q, k, v))
    if past_k is not None:
        k = fl.cat([past_k, k], 2)
    if past_v is not None:
        v = fl.cat([past_v, v], 2)
    return _attend(call, q, k, v, mask, extra), k, v


def _biased(q: fl.Tensor, k: fl.Tensor, v: fl.Tensor, bias: fl.Tensor) -> list[fl.Tensor]:
    """Queries, keys and values with their parts of a bias; those by heads have none."""
    sizes = [q.shape[-1], q.shape[-1]]
    parts = bias.split([*sizes, bias.shape[0] - sum(sizes)])
    return [each + part if each.ndim == 3 else each + part.reshape(each.shape[1], 1, -1)
            for each, part in zip((q, k, v), parts, strict=True)]


@contributed("GroupQueryAttention", host=(6,))
def grouped(call: Call, q: fl.Tensor, k: fl.Tensor | None, v: fl.Tensor | None,
            past_k: fl.Tensor | None, past_v: fl.Tensor | None, lengths: fl.Tensor,
            total: Any, cos: fl.Tensor | None = None, sin: fl.Tensor | None = None,
            places: fl.Tensor | None = None, extra: fl.Tensor | None = None,
            *more: fl.Tensor) -> Any:
    """Causal attention with fewer heads of keys than of queries, and a cache of them."""
    if more or call.get("smooth_softmax") or call.wants(3):
        raise call.refuse("sinks of attention and weights as an output are not read here")
    count, few = call.get("num_heads"), call.get("kv_num_heads")
    if k is None or v is None:
        size = q.shape[-1] // (count + 2 * few)
        q, k, v = q.split([count * size, few * size, few * size], -1)
    q, k, v = _heads(q, count), _heads(k, few), _heads(v, few)
    rows = q.shape[2]
    total = total[0] if isinstance(total, list) else total
    begin = lengths.reshape(-1).long() + 1 - rows
    begin = fl.zeros_like(begin) if rows == total else begin
    row = begin.unsqueeze(1) + fl.arange(rows, device=q.device)
    if call.get("do_rotary"):
        at = row if places is None else places.long()
        q, k = (_rotated(call, each, cos, sin, at) for each in (q, k))
    k, v = (_cached(each, past, row, total) for each, past in ((k, past_k), (v, past_v)))
    present = k, v
    column, row = fl.arange(k.shape[2], device=q.device), row.reshape(-1, 1, rows, 1)
    wanted = column <= row
    if call.get("local_window_size", -1) >= 0:
        wanted = wanted & (column > row - call.get("local_window_size"))
    bias = _filled(wanted, -math.inf, q.dtype)
    if extra is not None:
        bias = bias + F.pad(extra, [0, k.shape[2] - extra.shape[-1]])
    k, v = (each.repeat_interleave(count // few, 1) for each in present)
    scale = call.get("scale") or 1 / math.sqrt(q.shape[-1])
    cap = call.get("softcap", 0.0)
    if cap:
        scores = cap * fl.tanh((q @ k.transpose(-1, -2)) * scale / cap) + bias
        y = fl.softmax(scores, -1) @ v
    else:
        y = F.scaled_dot_product_attention(q, k, v, bias, scale=scale)
    return y.transpose(1, 2).flatten(2), *present


def _cached(new: fl.Tensor, past: fl.Tensor | None, row: fl.Tensor, total: int) -> fl.Tensor:
    """A cache with new elements at their places, as long as it was or as all of them."""
    batch, heads, rows, size = new.shape
    length = max(total, 0 if past is None else past.shape[2])
    if past is None:
        past = new.new_zeros((batch, heads, 0, size))
    whole = F.pad(past, [0, 0, 0, length - past.shape[2]])
    # What lies behind a sample's last element is padding.
    unused = fl.arange(length, device=new.device).unsqueeze(1) >= row[:, :1].reshape(-1, 1, 1, 1)
    whole = whole.masked_fill(unused, 0.0)
    at = row.reshape(batch, 1, rows, 1).expand(batch, heads, rows, size)
    return whole.scatter(2, at, new)


@contributed("RotaryEmbedding")
def rotary(call: Call, x: fl.Tensor, places: fl.Tensor, cos: fl.Tensor, sin: fl.Tensor
           ) -> fl.Tensor:
    """Pairs of features turned by angles of their places."""
    if call.get("is_packed_batching"):
        raise call.refuse("samples of several lengths in one batch are not read")
    size = call.get("rotary_embedding_dim", 0) or 2 * cos.shape[1]
    heads = x if x.ndim == 4 else _heads(x, call.get("num_heads", 0) or x.shape[-1] // size)
    at = places.long()
    if at.numel() == 1:
        at = at.reshape(1, 1) + fl.arange(heads.shape[2], device=x.device)
    y = _rotated(call, heads, cos, sin, at)
    return y if x.ndim == 4 else y.transpose(1, 2).flatten(2)


def _rotated(call: Call, x: fl.Tensor, cos: fl.Tensor | None, sin: fl.Tensor | None,
             at: fl.Tensor) -> fl.Tensor:
    if cos is None or sin is None:
        raise call.refuse("the tables of cosines and sines are missing")
    cos, sin = cos[at].unsqueeze(1), sin[at].unsqueeze(1)
    half = cos.shape[-1]
    turned, kept = x[..., :2 * half], x[..., 2 * half:]
    interleaved = call.get("interleaved") or call.get("rotary_interleaved")
    a, b = (turned[..., 0::2], turned[..., 1::2]) if interleaved else turned.chunk(2, -1)
    pair = [cos * a - sin * b, sin * a + cos * b]
    turned = fl.stack(pair, -1).flatten(-2) if interleaved else fl.cat(pair, -1)
    return fl.cat([turned, kept], -1) if kept.shape[-1] else turned
