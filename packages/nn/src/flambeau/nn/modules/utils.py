"""Sizes and keys: helpers that layers outside this library import under these names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping, Sequence
from itertools import repeat
from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that makes a tuple of ``n`` out of one number, and of an iterable itself."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Sequence[Any], n: int) -> tuple[Any, ...]:
    """The values from the last to the first, each ``n`` times, as ``functional.pad`` has them."""
    return tuple(x for x in reversed(t) for _ in range(n))


def consume_prefix_in_state_dict_if_present(
    state_dict: MutableMapping[str, Any], prefix: str
) -> None:
    """Take a prefix off the keys of a state dict, in place: ``"module."`` of wrapped networks.

    Args:
        state_dict: What ``Module.state_dict`` returned.
        prefix: What keys may begin with.

    Example:
        >>> state = {"module.weight": 1, "bias": 2}
        >>> consume_prefix_in_state_dict_if_present(state, "module.")
        >>> state
        {'bias': 2, 'weight': 1}
    """
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata: dict[str, Any] = getattr(state_dict, "_metadata", None) or {}
    for key in list(metadata):
        if key == prefix.rstrip(".") or key.startswith(prefix):
            metadata[key[len(prefix) :]] = metadata.pop(key)
