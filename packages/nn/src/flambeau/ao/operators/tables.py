"""Rows of tables of integers, and their sums.

Tables are quantized tensors with a scale and a zero point for each row, or bytes in which each row
ends with its scale and its least number: as ``float32`` behind integers of 8 bits, as ``float16``
behind those of 4 and 2 bits.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.core.quantized.schemes import packed
from flambeau.nn import functional as F

__all__ = ["MODES", "bag", "bags", "embedding", "prepack", "unpack"]

MODES = ("sum", "mean", "max")


def prepack(weight: Any) -> Any:
    """A table for the other operators: the quantized tensor itself."""
    return weight


def unpack(W_prepack: Any) -> Any:
    """The quantized tensor of a table."""
    return W_prepack


def rows_of(weight: Any, index: Tensor) -> Tensor:
    """Rows of a quantized tensor, as floats.

    Args:
        weight: ``[rows, numbers]``, with a scale for each row or one for all.
        index: Which rows.
    """
    table, quantizer = weight._values, weight._quantizer
    rows = F.embedding(index, table).float()
    scale, zero = quantizer.scale, quantizer.zero_point
    if quantizer.axis is not None:
        scale, zero = (each[index].float().unsqueeze(-1) for each in (scale, zero))
    return (rows - zero) * scale


def embedding(weight: Any, indices: Tensor, pruned_weights: bool = False) -> Tensor:
    """Rows of a table, as floats."""
    return rows_of(weight, indices)


def _read(read: Callable[[Any, Tensor], Tensor], weight: Any, index: Tensor,
          places: Tensor | None) -> Tensor:
    """Rows, or zeros for the rows that a pruned table left out, whose place is below zero."""
    if places is None:
        return read(weight, index)
    index = places.long()[index]
    kept = index >= 0
    found = read(weight, index[kept])
    rows = found.new_zeros((index.numel(), found.shape[-1]))
    rows[kept] = found
    return rows


def _bag(read: Callable[[Any, Tensor], Tensor]) -> Callable[..., Tensor]:
    def sums(weight: Any, indices: Tensor, offsets: Tensor | None = None,
            scale_grad_by_freq: bool = False, mode: int = 0, pruned_weights: bool = False,
            per_sample_weights: Tensor | None = None,
            compressed_indices_mapping: Tensor | None = None,
            include_last_offset: bool = False) -> Tensor:
        places = compressed_indices_mapping if pruned_weights else None
        if places is not None and places.numel() <= 1:
            places = None       # a single zero: nothing was pruned
        rows = _read(read, weight, indices.reshape(-1).long(), places)
        each = flambeau.arange(indices.numel()).reshape(indices.shape)
        if indices.ndim == 2:
            return F.embedding_bag(each, rows, None, mode=MODES[mode],
                                   per_sample_weights=per_sample_weights)
        return F.embedding_bag(each, rows, offsets.long() if offsets is not None else None,
                               mode=MODES[mode], per_sample_weights=per_sample_weights,
                               include_last_offset=include_last_offset)

    return sums


bag = _bag(rows_of)


# ---- tables of bytes -----------------------------------------------------------------------------
def _pack_rows(bits: int) -> Callable[..., Tensor]:
    def pack(weight: Tensor, optimized_qparams: bool = False, nbins: int = 200,
             ratio: float = 0.16) -> Tensor:
        if optimized_qparams:
            raise NotImplementedError("embedding_bag_prepack(optimized_qparams=True) is not "
                                      "computed: write optimized_qparams=False")
        numbers, steps = weight.detach().float(), (1 << bits) - 1
        low, high = numbers.amin(-1, keepdim=True), numbers.amax(-1, keepdim=True)
        if bits == 8:
            scale, facts = (high - low) / steps, flambeau.float32
            inverse = steps / (high - low + 1e-8)
        else:
            facts, low = flambeau.float16, low.half().float()
            scale = ((high - low) / steps).half().float()
            scale = flambeau.where(scale == 0, flambeau.ones_like(scale), scale)
            inverse = 1 / scale
        integers = ((numbers - low) * inverse).round().clamp(0, steps).byte()
        width = -(-weight.shape[-1] * bits // 8)
        if bits < 8:
            rows = integers.reshape(-1, weight.shape[-1])
            rows = F.pad(rows, (0, width * (8 // bits) - weight.shape[-1]))
            integers = packed(rows, bits).reshape(*weight.shape[:-1], width)
        return flambeau.cat([integers, *(each.to(facts).contiguous().view(flambeau.uint8)
                                         for each in (scale, low))], -1)

    return pack


def _unpack_rows(bits: int) -> Callable[[Tensor], Tensor]:
    def unpack_rows(weight: Tensor) -> Tensor:
        facts, size = (flambeau.float32, 4) if bits == 8 else (flambeau.float16, 2)
        bytes_ = weight[..., :-2 * size]
        scale, low = (part.contiguous().view(facts).float()
                      for part in (weight[..., -2 * size:-size], weight[..., -size:]))
        if bits < 8:
            parts = [(bytes_.int() >> shift) & ((1 << bits) - 1) for shift in range(0, 8, bits)]
            bytes_ = flambeau.stack(parts, -1).flatten(-2)
        return bytes_.float() * scale + low

    return unpack_rows


def _rows_of_bytes(bits: int) -> Callable[[Tensor, Tensor], Tensor]:
    unpack_rows = _unpack_rows(bits)
    return lambda weight, index: unpack_rows(weight[index])


def bags() -> dict[str, Callable[..., Any]]:
    """The operators of tables, by name."""
    found: dict[str, Callable[..., Any]] = {
        "embedding_bag_prepack": prepack, "embedding_bag_unpack": unpack,
        "embedding_byte": embedding, "embedding_4bit": embedding}
    for name, bits in (("byte", 8), ("4bit", 4), ("2bit", 2)):
        start = f"embedding_bag_{name}"
        if bits > 2:
            found[start] = bag
        found |= {f"{start}_prepack": _pack_rows(bits), f"{start}_unpack": _unpack_rows(bits),
                  f"{start}_rowwise_offsets": _bag(_rows_of_bytes(bits))}
    return found
