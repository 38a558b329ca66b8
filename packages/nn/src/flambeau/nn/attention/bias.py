"""Causal masks by name, for ``scaled_dot_product_attention(..., attn_mask=...)``."""

from __future__ import annotations

import enum
import warnings
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.core._core import no_override

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """Which corners of the matrix of scores the diagonal of a causal mask meets.

    Example:
        >>> from flambeau.nn.attention.bias import CausalVariant
        >>> [variant.name for variant in CausalVariant]
        ['UPPER_LEFT', 'LOWER_RIGHT']
    """

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A boolean matrix, True where a query may see a key: a triangle.

    Args:
        variant: ``UPPER_LEFT``: the first query sees the first key; ``LOWER_RIGHT``: the last
            query sees the last key, as when earlier queries were answered before.
        seq_len_q: Number of queries.
        seq_len_kv: Number of keys.
        device: Where it is made.

    Raises:
        TypeError: ``variant`` is no ``CausalVariant``.

    Example:
        >>> from flambeau.nn.attention.bias import CausalBias, CausalVariant
        >>> CausalBias(CausalVariant.LOWER_RIGHT, 2, 3).int()
        tensor([[1, 1, 0],
                [1, 1, 1]], dtype=flambeau.int32)
    """

    __torch_function__ = no_override
    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(
        cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int, device: Any = None
    ) -> CausalBias:
        """Make the matrix."""
        if not isinstance(variant, CausalVariant):
            raise TypeError(
                f"CausalBias() takes a CausalVariant first, not {type(variant).__name__}"
            )
        if variant is CausalVariant.LOWER_RIGHT and seq_len_q > seq_len_kv:
            warnings.warn(
                f"a lower right causal bias of {seq_len_q} queries and {seq_len_kv} keys leaves "
                f"the first {seq_len_q - seq_len_kv} queries without a key",
                stacklevel=2,
            )
        diagonal = seq_len_kv - seq_len_q if variant is CausalVariant.LOWER_RIGHT else 0
        ones = flambeau.ones(seq_len_q, seq_len_kv, dtype=flambeau.bool, device=device)
        made: CausalBias = Tensor._make_subclass(cls, ones.tril(diagonal), False)
        made.variant, made.seq_len_q, made.seq_len_kv = variant, seq_len_q, seq_len_kv
        return made


def causal_upper_left(*size: int) -> CausalBias:
    """A causal bias in which query i sees the keys up to i, as with ``is_causal=True``.

    Args:
        size: The numbers of queries and of keys.

    Raises:
        RuntimeError: There are not two numbers.

    Example:
        >>> from flambeau.nn.attention.bias import causal_upper_left
        >>> causal_upper_left(2, 3).int()
        tensor([[1, 0, 0],
                [1, 1, 0]], dtype=flambeau.int32)
    """
    return CausalBias(CausalVariant.UPPER_LEFT, *_two("causal_upper_left", size))


def causal_lower_right(*size: int) -> CausalBias:
    """A causal bias in which the last query sees all keys, and each before it one less.

    Args:
        size: The numbers of queries and of keys.

    Raises:
        RuntimeError: There are not two numbers.

    Example:
        >>> from flambeau.nn.attention.bias import causal_lower_right
        >>> causal_lower_right(2, 3).int()
        tensor([[1, 1, 0],
                [1, 1, 1]], dtype=flambeau.int32)
    """
    return CausalBias(CausalVariant.LOWER_RIGHT, *_two("causal_lower_right", size))


def _two(name: str, size: tuple[int, ...]) -> tuple[int, int]:
    if len(size) != 2:
        raise RuntimeError(
            f"{name}() takes the number of queries and the number of keys, got {size}"
        )
    return size[0], size[1]
