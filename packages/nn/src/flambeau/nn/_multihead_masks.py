"""The two masks of attention of several heads, checked and made one.

Here True leaves a key out, as in the arguments of ``multi_head_attention_forward``. Masks stay
boolean as long as both are; numbers are added to the scores.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import flambeau
from flambeau import Tensor

from ._core import ops


class Masks(NamedTuple):
    """What leaves keys out; each is None, or broadcasts to [batch, heads, queries, keys]."""

    mask: Tensor | None
    padding: Tensor | None

    def longer(self) -> Masks:
        """For one more key, which is not left out."""
        return Masks(*[None if mask is None else ops.pad(mask, (0, 1)) for mask in self])

    def taking_part(self) -> Tensor | None:
        """One mask as ``scaled_dot_product_attention`` reads it: True takes part."""
        mask = self._one()
        return ~mask if mask is not None and mask.dtype.name == "bool" else mask

    def added_to(self, scores: Tensor) -> Tensor:
        """``scores`` with what is left out at minus infinity."""
        mask = self._one()
        if mask is None:
            return scores
        if mask.dtype.name == "bool":
            return scores.masked_fill(mask, float("-inf"))
        return scores + mask

    def _one(self) -> Tensor | None:
        if self.mask is None or self.padding is None:
            return self.padding if self.mask is None else self.mask
        return both(self.mask, self.padding)


def read_masks(q: Tensor, keys: int, mask: Tensor | None, padding: Tensor | None) -> Masks:
    """Both masks in four dimensions.

    Args:
        q: ``[batch, heads, queries, features]``.
        keys: How many keys there are.
        mask: ``attn_mask``.
        padding: ``key_padding_mask``.
    """
    batch, heads, length, _ = q.shape
    if mask is not None:
        allowed = [(length, keys), (batch * heads, length, keys)]
        mask = _checked("attn_mask", mask, allowed, q)
        if mask.ndim == 3:
            mask = mask.reshape(batch, heads, length, keys)
    if padding is not None:
        padding = _checked("key_padding_mask", padding, [(batch, keys)], q)
        padding = padding.reshape(batch, 1, 1, keys)
    return Masks(mask, padding)


def without_later(masks: Masks, q: Tensor, keys: int) -> Masks:
    """Leave out also what comes after each query, the last query being the last key."""
    queries = q.shape[2]
    if queries == 1:
        return masks
    later = ~seen_keys(queries, keys, q.device)
    if masks.mask is None:
        return masks._replace(mask=later)
    return masks._replace(mask=both(masks.mask, later))


def seen_keys(queries: int, keys: int, device: Any) -> Tensor:
    """True where a query may see a key, ``[queries, keys]``, the last query being the last key."""
    ones = ops.full_of((queries, keys), True, dtype=flambeau.bool, device=device)
    return ones.tril(keys - queries)


def both(first: Tensor, second: Tensor) -> Tensor:
    """A mask that leaves out what either does."""
    kinds = [mask.dtype.name == "bool" for mask in (first, second)]
    if all(kinds):
        return first | second
    like = second if kinds[0] else first
    return _numbers(first, like) + _numbers(second, like)


def _checked(name, mask, allowed, q):
    if tuple(mask.shape) not in allowed:
        wanted = " or ".join(str(list(shape)) for shape in allowed)
        raise (RuntimeError if name == "attn_mask" else AssertionError)(
            f"multi_head_attention_forward(): the shape of {name} is "
            f"{list(mask.shape)}, but should be {wanted}"
        )
    if mask.is_floating_point():
        return mask.to(q.dtype)
    if mask.dtype.name != "bool":
        raise AssertionError(
            f"multi_head_attention_forward(): only bool and floating types of "
            f"{name} are supported, got {mask.dtype}"
        )
    return mask


def _numbers(mask, like):
    if mask.dtype.name != "bool":
        return mask
    zeros = ops.full_of(mask.shape, 0, dtype=like.dtype, device=like.device)
    return zeros.masked_fill(mask, float("-inf"))
