"""Branches and loops as functions: `torch.cond`, `torch.while_loop`, which jit records, `map`."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import rooms
from flambeau.utils import _pytree


def __getattr__(name: str) -> Any:
    if name not in ("cond", "while_loop"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return getattr(rooms.import_module(f"{rooms.PREFIX}jit"), name)


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """What a function gives for each slice along the first dimension, stacked.

    Args:
        f: Takes a tree like ``xs`` and ``args``; returns a tree of tensors and None.
        xs: A tree of tensors of one size along the first dimension.
        args: Passed to each call as they are.

    Raises:
        RuntimeError: ``xs`` or a result holds something else, or there are no slices.
    """
    leaves, form = _pytree.tree_flatten(xs)
    if not leaves or not all(isinstance(leaf, flambeau.Tensor) and leaf.ndim for leaf in leaves):
        raise RuntimeError(f"map(): Mapped xs can only consist of tensors. Got xs {leaves}.")
    if 0 in (sizes := {leaf.shape[0] for leaf in leaves}):
        raise RuntimeError("map(): Leading dimensions of mapped xs cannot be 0.")
    if len(sizes) > 1:
        raise RuntimeError("map(): Leading dimensions of mapped xs must be consistent. Got shapes "
                           f"{[leaf.shape for leaf in leaves]}.")
    results = [f(_pytree.tree_unflatten(slices, form), *args)
               for slices in zip(*(leaf.unbind() for leaf in leaves), strict=True)]
    return _pytree.tree_map(_stacked, *results)


def _stacked(*slices: Any) -> Any:
    if all(each is None for each in slices):
        return None
    if not all(isinstance(each, flambeau.Tensor) for each in slices):
        raise RuntimeError("map(): Expect outputs of map only contains tensors or None. "
                           f"Got outputs {[type(each) for each in slices]}.")
    return flambeau.stack(slices)
