"""Keys and values of what a decoder has read, so that generating a token reads one token.

Without a cache the n-th token costs attention and products over all n tokens before it; with it,
products over one token and attention of one query. Memory is taken in one piece per layer, which
doubles when it is full, so that adding a token copies only that token.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import flambeau
from flambeau import Tensor

from .._core import ops
from .._multihead_masks import seen_keys

_FIRST_ROOM = 64


class LayerCache:
    """Keys and values of one layer, along the second-last dimension.

    Layers get theirs from a ``KeyValueCache``. With attention written by hand, call ``attend``,
    or ``append`` and compute attention with what it returns.

    Args:
        max_length: How many positions there may be; unlimited when left out.
    """

    causal = True

    def __init__(self, max_length: int | None = None) -> None:
        self.max_length = max_length
        self.length = 0
        self.memory = MemoryCache()
        self._room: tuple[Tensor, Tensor] | None = None

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add positions, and return all there are.

        Args:
            key: ``[..., new positions, features]``.
            value: The same with the features of values.

        Returns:
            Keys and values ``[..., positions, features]``. They share the memory of the cache.

        Raises:
            RuntimeError: They need a gradient, or do not fit what the cache holds.
            ValueError: There are more than ``max_length`` positions.

        Example:
            >>> import flambeau
            >>> from flambeau.nn.attention import LayerCache
            >>> cache, new = LayerCache(), flambeau.ones(1, 2, 1, 4)
            >>> for _ in range(3):
            ...     keys, values = cache.append(new, new)
            >>> tuple(keys.shape)
            (1, 2, 3, 4)
        """
        self._check(key, value)
        stop = self.length + key.shape[-2]
        room = self._room_for(stop, key, value)
        for held, new in zip(room, (key, value), strict=True):
            held.narrow(-2, self.length, new.shape[-2]).copy_(new)
        self.length = stop
        return self.held

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, scale: float | None = None
    ) -> Tensor:
        """Add keys and values, and let each query see those up to its own position.

        Args:
            query: ``[batch, heads, new positions, features]``.
            key: The same for the new positions; fewer heads are shared by groups of queries'.
            value: Like ``key``.
            scale: Factor on the scores; one over the root of ``features`` when left out.

        Returns:
            The result, shaped like ``query`` with the features of values.

        Raises:
            RuntimeError: They need a gradient, or do not fit what the cache holds.
            ValueError: There are more than ``max_length`` positions.

        Example:
            >>> import flambeau
            >>> from flambeau.nn.attention import LayerCache
            >>> x = flambeau.randn(1, 2, 5, 4)
            >>> cache = LayerCache()
            >>> one_by_one = [cache.attend(t, t, t) for t in x.split(1, 2)]
            >>> at_once = LayerCache().attend(x, x, x)
            >>> flambeau.allclose(flambeau.cat(one_by_one, 2), at_once, atol=1e-6)
            True
        """
        keys, values = self.append(key, value)
        new, total = query.shape[-2], keys.shape[-2]
        mask = seen_keys(new, total, query.device) if 1 < new < total else None
        grouped = query.ndim > 2 and query.shape[-3] != keys.shape[-3]
        return ops.scaled_dot_product_attention(
            query, keys, values, mask, is_causal=1 < new == total, scale=scale, enable_gqa=grouped
        )

    @property
    def held(self) -> tuple[Tensor, Tensor]:
        """All keys and values."""
        if self._room is None:
            raise RuntimeError("the cache is empty: append() keys and values first")
        key, value = self._room
        return key.narrow(-2, 0, self.length), value.narrow(-2, 0, self.length)

    def crop(self, length: int) -> None:
        """Forget the positions from ``length`` on."""
        if not 0 <= length <= self.length:
            raise ValueError(f"crop() takes a length from 0 to {self.length}, not {length}")
        self.length = length

    def clear(self) -> None:
        """Forget everything, and give the memory back."""
        self.length = 0
        self._room = None
        self.memory = MemoryCache()

    def reorder(self, rows: Tensor) -> None:
        """Put ``rows[i]`` of the batch in place i, as a beam search does with its beams."""
        if self._room is not None:
            key, value = self._room
            self._room = key.index_select(0, rows), value.index_select(0, rows)
        self.memory.reorder(rows)

    @property
    def nbytes(self) -> int:
        """Bytes of memory taken."""
        return 0 if self._room is None else sum(t.numel() * t.element_size() for t in self._room)

    def holds(self, source: Tensor) -> bool:
        """Whether the keys of ``source`` are here already: never, what comes is new."""
        return False

    def keep(self, source: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Take the keys and values that a layer made of ``source``."""
        return self.append(key, value)

    def _check(self, key: Tensor, value: Tensor) -> None:
        if key.requires_grad or value.requires_grad:
            raise RuntimeError(
                "a key-value cache holds no derivatives: generate under flambeau.no_grad() or "
                "flambeau.inference_mode(), and train without a cache"
            )
        if key.ndim < 2 or key.shape[:-1] != value.shape[:-1]:
            raise RuntimeError(
                "a key-value cache takes keys and values [..., positions, features] that differ "
                f"at most in the features, got {list(key.shape)} and {list(value.shape)}"
            )
        if self._room is None:
            return
        for name, new, held in zip(("key", "value"), (key, value), self._room, strict=True):
            if _kind(new) != _kind(held):
                raise RuntimeError(
                    f"the cache holds a {name} {_text(held, self.length)}, which "
                    f"{_text(new, new.shape[-2])} cannot continue; clear() the cache to begin "
                    "another sequence"
                )

    def _room_for(self, stop: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Memory for ``stop`` positions, with what there is."""
        if self.max_length is not None and stop > self.max_length:
            raise ValueError(
                f"the cache has room for max_length={self.max_length} positions, and {stop} are "
                "needed; crop() it, or make it longer"
            )
        if self._room is None or stop > self._room[0].shape[-2]:
            rooms = self._wider(key, stop), self._wider(value, stop)
            if self._room is not None:
                for room, held in zip(rooms, self.held, strict=True):
                    room.narrow(-2, 0, self.length).copy_(held)
            self._room = rooms
        return self._room

    def _wider(self, like: Tensor, stop: int) -> Tensor:
        room = self.max_length or max(_FIRST_ROOM, 2 * stop)
        shape = (*like.shape[:-2], room, like.shape[-1])
        return flambeau.empty(shape, dtype=like.dtype, device=like.device)


class MemoryCache:
    """Keys and values that a decoder layer made of the encoder's result, which stays the same."""

    causal = False

    def __init__(self) -> None:
        self._source: Any = None  # a Tensor
        self._version = 0
        self.held: tuple[Tensor, Tensor] | None = None

    def holds(self, source: Tensor) -> bool:
        """Whether the keys of ``source``, unchanged, are here already."""
        return self._source is source and self._version == source._version

    def keep(self, source: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Take the keys and values that a layer made of ``source``."""
        if key.requires_grad or value.requires_grad:
            return key, value
        self._source, self._version = source, source._version
        self.held = (key, value)
        return self.held

    def reorder(self, rows: Tensor) -> None:
        """The encoder's result is reordered by its owner, and projected again."""
        self._source = None


class KeyValueCache:
    """Keys and values of all layers of a decoder, for generation token by token.

    ``nn.TransformerEncoder`` and ``nn.TransformerDecoder`` take one as ``cache=``, and
    ``nn.MultiheadAttention`` takes a layer of it. The first call reads the prompt, later calls
    read what is new; each position sees those up to itself.

    Args:
        layers: How many layers.
        max_length: How many positions there may be. Given, the memory is taken once; left out,
            it grows.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        >>> decoder = nn.TransformerEncoder(layer, 2).eval()
        >>> tokens = flambeau.randn(1, 6, 8)
        >>> cache = nn.attention.KeyValueCache(layers=2)
        >>> with flambeau.no_grad():
        ...     first = decoder(tokens[:, :5], cache=cache)
        ...     last = decoder(tokens[:, 5:], cache=cache)
        ...     mask = nn.Transformer.generate_square_subsequent_mask(6)
        ...     expected = decoder(tokens, mask, is_causal=True)
        >>> cache.length
        6
        >>> flambeau.allclose(last, expected[:, 5:], atol=1e-5)
        True
    """

    def __init__(self, layers: int, max_length: int | None = None) -> None:
        if not isinstance(layers, int) or layers < 1:
            raise ValueError(f"KeyValueCache() takes the number of layers, not {layers!r}")
        if max_length is not None and max_length < 1:
            raise ValueError(f"KeyValueCache(): max_length is positive, not {max_length}")
        self.layers = [LayerCache(max_length) for _ in range(layers)]

    def __getitem__(self, layer: int) -> LayerCache:
        return self.layers[layer]

    def __len__(self) -> int:
        return len(self.layers)

    def __iter__(self) -> Iterator[LayerCache]:
        return iter(self.layers)

    def __repr__(self) -> str:
        return f"KeyValueCache({len(self)} layers, {self.length} positions, {self.nbytes} bytes)"

    @property
    def length(self) -> int:
        """Positions that all layers have seen: the index of the next token."""
        return self.layers[-1].length

    @property
    def nbytes(self) -> int:
        """Bytes of memory taken."""
        return sum(layer.nbytes for layer in self.layers)

    def crop(self, length: int) -> None:
        """Forget the positions from ``length`` on, for instance tokens that were rejected.

        Example:
            >>> import flambeau
            >>> from flambeau.nn.attention import KeyValueCache
            >>> cache = KeyValueCache(layers=1)
            >>> _ = cache[0].append(flambeau.ones(1, 3, 2), flambeau.ones(1, 3, 2))
            >>> cache.crop(1)
            >>> cache.length
            1
        """
        for layer in self.layers:
            layer.crop(length)

    def reorder(self, rows: Tensor) -> None:
        """Put ``rows[i]`` of the batch in place i, as a beam search does with its beams.

        Args:
            rows: Indices into the batch, as many as the next batch has rows.
        """
        for layer in self.layers:
            layer.reorder(rows)

    def clear(self) -> None:
        """Forget everything, and give the memory back."""
        for layer in self.layers:
            layer.clear()


def _kind(tensor: Tensor) -> tuple[Any, ...]:
    """What does not change while a sequence grows."""
    return (*tensor.shape[:-2], tensor.shape[-1], tensor.dtype, tensor.device)


def _text(tensor: Tensor, length: int) -> str:
    shape = [*tensor.shape[:-2], length, tensor.shape[-1]]
    return f"{shape} of {tensor.dtype} on {tensor.device}"
