"""Attention whose scores a function changes, and whose mask is a function and sparse by blocks."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from flambeau import Tensor

from ._block_mask import BlockMask, _sliced, create_block_mask
from ._flex import Call, attend
from ._mods import ScoreMod, and_masks, create_mask, noop_mask, or_masks

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

for _name in (BlockMask, create_block_mask, and_masks, create_mask, noop_mask, or_masks):
    _name.__module__ = __name__


class AuxRequest(NamedTuple):
    """What ``flex_attention`` returns beside its result.

    Args:
        lse: Logarithms of the sums of exponentials of scores.
        max_scores: The greatest scores.

    Example:
        >>> AuxRequest(lse=True)
        AuxRequest(lse=True, max_scores=False)
    """

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What was asked for by an ``AuxRequest``; None for the rest.

    Args:
        lse: Logarithms of the sums of exponentials of scores, ``(B, H, L)``.
        max_scores: The greatest scores, ``(B, H, L)``.

    Example:
        >>> AuxOutput()
        AuxOutput(lse=None, max_scores=None)
    """

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: ScoreMod | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Scaled dot product attention with functions for what is special about it.

    ``softmax(where(mask, score_mod(query @ key.T * scale), -inf)) @ value``

    Blocks of scores that the mask does not need are not computed. Scores exist for one row of
    blocks at a time, and have gradients; so have tensors that ``score_mod`` uses.

    Args:
        query: Shape ``(B, H, L, E)``, a floating dtype.
        key: Shape ``(B, H, S, E)``.
        value: Shape ``(B, H, S, Ev)``.
        score_mod: A function of (score, batch, head, query, key), tensors of no dimension, that
            gives another score. It is vectorized: ``if`` cannot ask for their values.
        block_mask: What ``create_block_mask`` made.
        scale: ``1 / sqrt(E)`` for None.
        enable_gqa: Whether keys and values may have fewer heads, a divisor of the queries' number.
        return_lse: Whether to return the logarithms of sums too; ``return_aux`` says more.
        kernel_options: Accepted for compatibility.
        return_aux: What to return beside the result.

    Returns:
        Shape ``(B, H, L, Ev)``. With ``return_lse`` the logarithms of sums of exponentials,
        ``(B, H, L)``, beside it; with ``return_aux`` an ``AuxOutput``. Queries to which no key
        belongs give zeros.

    Raises:
        ValueError: Shapes, heads or lengths do not fit each other or the mask.
        RuntimeError: The mask is part of another, so that its function no longer fits.

    Example:
        >>> import flambeau
        >>> x = flambeau.ones(1, 1, 4, 2)
        >>> nearer = lambda score, b, h, q, kv: score - (q - kv).abs()
        >>> causal = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 4, 4)
        >>> flex_attention(x, x, x.cumsum(2), nearer, causal)[0, 0, :, 0]
        tensor([1.0000, 1.7311, 2.5752, 3.4927])
    """
    _check_shapes(query, key, value, enable_gqa, block_mask)
    if block_mask is not None:
        _check_mask(query, key, block_mask)
    if return_lse and return_aux is not None:
        raise ValueError("flex_attention(): return_lse=True says the same as "
                         "return_aux=AuxRequest(lse=True); give one of them")
    wanted = return_aux or AuxRequest(lse=return_lse)
    mask_mod = None
    if block_mask is not None and block_mask.mask_mod is not noop_mask:
        mask_mod = block_mask.mask_mod
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    results = attend(Call(query, key, value, score_mod, mask_mod, factor,
                          wanted.lse or wanted.max_scores), block_mask)
    if return_aux is not None:
        return results[0], AuxOutput(results[1] if wanted.lse else None,
                                     results[2] if wanted.max_scores else None)
    return (results[0], results[1]) if return_lse else results[0]


def _check_shapes(query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool,
                  block_mask: BlockMask | None) -> None:
    shapes = [tuple(x.shape) for x in (query, key, value)]
    where = f"flex_attention(): query, key and value of shapes {shapes}"
    if any(len(shape) != 4 for shape in shapes):
        raise ValueError(f"{where}; each has four dimensions, (batch, heads, length, features)")
    if not query.is_floating_point() or not query.dtype == key.dtype == value.dtype:
        raise ValueError(f"flex_attention(): query, key and value have dtypes {query.dtype}, "
                         f"{key.dtype} and {value.dtype}; they have one floating dtype")
    if shapes[0][3] != shapes[1][3] or shapes[1][:3] != shapes[2][:3]:
        raise ValueError(f"{where}; queries and keys have equally many features, keys and values "
                         "are as many")
    if not enable_gqa and shapes[0][1] != shapes[1][1]:
        raise ValueError(f"{where}; they have the same number of heads, unless enable_gqa=True")
    if shapes[1][1] == 0 or shapes[0][1] % shapes[1][1]:
        raise ValueError(f"{where}; the queries' heads are a multiple of the keys'")
    if shapes[0][0] != shapes[1][0] and (shapes[1][0] != 1 or block_mask is None):
        raise ValueError(f"{where}; they have the same batch size")


def _check_mask(query: Tensor, key: Tensor, mask: BlockMask) -> None:
    if mask.mask_mod is _sliced:
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask: its indices have moved; "
                           "set block_mask.mask_mod to a function that adds the offset")
    lengths = (query.shape[2], key.shape[2])
    if tuple(mask.shape[-2:]) != lengths:
        raise ValueError(
            f"block_mask was created for block_mask.shape={mask.shape} but got q_len={lengths[0]} "
            f"and kv_len={lengths[1]}; make one of these lengths, or cut it: "
            "block_mask._adjust(q_len, kv_len)"
        )
    batch = tuple(mask.shape[:-2])
    sizes = (1,) * (2 - len(batch)) + batch
    if any(n not in (1, m) for n, m in zip(sizes, query.shape[:2], strict=True)):
        raise ValueError(f"flex_attention(): block_mask.shape={mask.shape} is not of "
                         f"{query.shape[0]} samples and {query.shape[1]} heads")
    if query.device != mask.kv_num_blocks.device:
        raise RuntimeError(f"Expect q/k/v and block_mask to be on the same device, but got "
                           f"{query.device} and {mask.kv_num_blocks.device}; write "
                           "block_mask.to(query.device)")
