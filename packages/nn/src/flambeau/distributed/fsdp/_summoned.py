"""Whole parameters, in their own dtype, for a program to read and write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import flambeau
from flambeau import distributed, nn
from flambeau.distributed.tensor import DTensor, Replicate
from flambeau.distributed.tensor._redistribute import redistribute

from ._group import ParamGroup


class Summoned:
    """What a program wants of whole parameters.

    Args:
        writeback: Whether the parts take what is written to them.
        rank0_only: Whether only the first process has them.
        with_grads: Whether they have whole gradients.
    """

    depth = 0       # blocks that this process is in

    def __init__(self, writeback: bool, rank0_only: bool, with_grads: bool) -> None:
        self.writeback = writeback
        self.with_grads = with_grads
        self.shows = not rank0_only or distributed.get_rank() == 0


def part_of(whole: Any, spec: Any) -> Any:
    """This process's part of a tensor that it has all of."""
    everywhere = [Replicate()] * spec.mesh.ndim
    return redistribute(whole, spec.shape, spec.mesh, everywhere, spec.placements)


@contextmanager
def summon(groups: Sequence[ParamGroup], wanted: Summoned) -> Iterator[None]:
    """Let modules have their whole parameters in the block.

    Args:
        groups: The parameters.
        wanted: What the program wants.
    """
    wholes = []
    with flambeau.no_grad():
        for group in groups:
            group.reshard()
            for part in group.parts:
                part.adopt()
                whole = nn.Parameter(part.sharded.full_tensor().clone(),
                                     part.sharded.requires_grad)
                if wanted.with_grads and part.sharded.grad is not None:
                    whole.grad = part.sharded.grad.full_tensor().clone()
                wholes.append((part, whole))
    for part, whole in wholes if wanted.shows else ():
        part.register(whole)
    Summoned.depth += 1
    try:
        yield
    finally:
        Summoned.depth -= 1
        for part, whole in wholes if wanted.shows else ():
            part.register(part.sharded)
            if wanted.writeback:
                _write_back(part, whole, wanted.with_grads)


def _write_back(part: Any, whole: Any, with_grads: bool) -> None:
    with flambeau.no_grad():
        part.sharded._local_tensor.copy_(part_of(whole.detach(), part.spec))
        if with_grads and whole.grad is not None:
            part.sharded.grad = DTensor(part_of(whole.grad, part.spec), part.spec)
