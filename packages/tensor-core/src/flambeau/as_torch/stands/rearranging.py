"""``torch.func.rearrange``: dimensions named, moved, split and joined by a pattern."""
from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import flambeau

#: The dimensions of one side, each by the names that it is made of.
Side = list[tuple[str, ...]]


def rearrange(tensor: Any, pattern: str, **axes_lengths: int) -> Any:
    """The tensor with its dimensions as the right side of a pattern has them.

    Args:
        tensor: A tensor, or several of a shape, which are stacked first.
        pattern: Such as ``"b (h k) c -> b k (h c)"``; ``...`` stands for further dimensions, 1 and
            ``()`` for one of size 1.
        axes_lengths: Sizes of names that a dimension is split into.

    Returns:
        A view where that is possible, else a copy.

    Raises:
        ValueError: A name is on one side alone, occurs twice, or sizes do not fit.
    """
    if isinstance(tensor, Sequence):
        tensor = flambeau.stack(list(tensor))
    if pattern.count("->") != 1:
        raise ValueError(f"rearrange(): {pattern!r} has no '->' between two sides, or several")
    halves = [re.findall(r"\(([^()]*)\)|(\.\.\.)|(\S+)", half) for half in pattern.split("->")]
    dots = tensor.ndim - sum(not word[1] for word in halves[0])
    left, right = (_side(words, dots) for words in halves)
    given, wanted = ([name for dim in side for name in dim] for side in (left, right))
    _check(pattern, given, wanted, axes_lengths)
    if len(left) != tensor.ndim:
        raise ValueError(f"rearrange(): the left side of {pattern!r} has {len(left)} dimensions, "
                         f"the tensor {tensor.ndim}")
    sizes = _sizes(pattern, left, tensor.shape, axes_lengths)
    split = tensor.reshape([sizes[name] for name in given])
    moved = split.permute([given.index(name) for name in wanted])
    return moved.reshape([math.prod(sizes[name] for name in dim) for dim in right])


def _side(words: list[tuple[str, str, str]], dots: int) -> Side:
    """The dimensions of a side; those that ``...`` stands for are called by their numbers."""
    rest = [f"...{i}" for i in range(dots)]
    side: Side = []
    for inside, ellipsis, name in words:
        if ellipsis:
            side += [(each,) for each in rest]
        elif name:
            side.append(() if name == "1" else (name,))
        else:
            side.append(tuple(each for word in inside.split() if word != "1"
                              for each in (rest if word == "..." else [word])))
    return side


def _check(pattern: str, given: list[str], wanted: list[str], lengths: dict[str, int]) -> None:
    for names in (given, wanted):
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"rearrange(): {sorted(twice)} are twice on a side of {pattern!r}")
    if alone := set(given) ^ set(wanted):
        raise ValueError(f"rearrange(): Identifiers only on one side of rearrange expression "
                         f"(should be on both): {alone}")
    if unknown := lengths.keys() - set(given):
        raise ValueError(f"rearrange(): Identifiers not found in rearrange expression: {unknown}")


def _sizes(pattern: str, side: Side, shape: Any, lengths: dict[str, int]) -> dict[str, int]:
    """The size of each name: of the dimension it is part of, what the others leave."""
    sizes = dict(lengths)
    for dim, size in zip(side, shape, strict=True):
        open_names = [name for name in dim if name not in sizes]
        known = math.prod(sizes[name] for name in dim if name in sizes)
        if len(open_names) > 1:
            raise ValueError(f"rearrange(): cannot infer the sizes of {open_names} in {pattern!r}; "
                             f"give all but one, as in {open_names[0]}=2")
        if size % known or (not open_names and size != known):
            raise ValueError(f"rearrange(): a dimension of size {size} is not made of {dim} in "
                             f"{pattern!r}: {sizes}")
        sizes.update((name, size // known) for name in open_names)
    return sizes
