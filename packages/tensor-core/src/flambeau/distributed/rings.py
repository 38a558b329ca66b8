"""What a group does with flat tensors in CPU memory.

Small tensors go up and down a tree, in about two times log2(n) steps; large ones around a ring
(P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms", 2009), in which each process
sends and receives about twice the tensor, however many they are. All processes have the same bits
afterwards: each sum is made once.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau

from .links import Links

TREE_BYTES = 32768                 # up to which latency counts more than bandwidth
Combine = Callable[[Any, Any], Any]


def bytes_of(flat: Any) -> memoryview:
    """The memory of a contiguous tensor with one dimension."""
    if not flat.numel():
        return memoryview(b"")
    return memoryview(flat.view(flambeau.uint8).numpy()).cast("B")


def all_reduce(links: Links, size: int, flat: Any, combine: Combine) -> None:
    """Leave the combination of all processes' tensors in each."""
    if flat.numel() * flat.element_size() <= TREE_BYTES or flat.numel() < size:
        reduce(links, size, flat, combine, 0)
        broadcast(links, size, flat, 0)
        return
    parts = _parts(flat, size)
    _combine_parts(links, size, parts, combine, links.me)
    _pass_parts(links, size, parts, links.me + 1)


def reduce(links: Links, size: int, flat: Any, combine: Combine, root: int) -> None:
    """Leave the combination of all processes' tensors in that of the root."""
    me = (links.me - root) % size
    come = flambeau.empty_like(flat)
    step = 1
    while step < size:
        if me & step:
            links.send((me - step + root) % size, bytes_of(flat))
            return
        if me + step < size:
            links.receive((me + step + root) % size, bytes_of(come))
            combine(flat, come)
        step *= 2


def broadcast(links: Links, size: int, flat: Any, root: int) -> None:
    """Copy the tensor of the root to all others."""
    me = (links.me - root) % size
    content = bytes_of(flat)
    step = 1
    while step < size and not me & step:
        step *= 2
    if me:
        links.receive((me - step + root) % size, content)
    while step > 1:
        step //= 2
        if me + step < size:
            links.send((me + step + root) % size, content)


def reduce_scatter(links: Links, size: int, parts: Sequence[Any], combine: Combine) -> None:
    """Leave the combination of all processes' parts r in part r of process r; others change."""
    _combine_parts(links, size, parts, combine, links.me - 1)


def all_gather(links: Links, size: int, parts: Sequence[Any]) -> None:
    """Copy part r of process r to all others."""
    _pass_parts(links, size, parts, links.me)


def _parts(flat: Any, size: int) -> list[Any]:
    """The tensor in as many parts as there are processes, which differ by at most an element."""
    ends = [flat.numel() * (i + 1) // size for i in range(size)]
    return [flat[begin:end]
            for begin, end in zip([0, *ends[:-1]], ends, strict=True)]


def _combine_parts(links: Links, size: int, parts: Sequence[Any], combine: Combine,
                   first: int) -> None:
    """Once around the ring: this process sends part `first`, and has part `first` + 1 in the end,
    combined from all."""
    largest = max(parts, key=lambda part: part.numel())
    come = flambeau.empty_like(largest)
    for step in range(size - 1):
        sent, target = parts[(first - step) % size], parts[(first - step - 1) % size]
        room = come[:target.numel()]
        links.exchange((links.me + 1) % size, bytes_of(sent), (links.me - 1) % size, bytes_of(room))
        combine(target, room)


def _pass_parts(links: Links, size: int, parts: Sequence[Any], first: int) -> None:
    """Once around the ring: this process has part `first`, and all in the end."""
    for step in range(size - 1):
        sent, target = parts[(first - step) % size], parts[(first - step - 1) % size]
        links.exchange((links.me + 1) % size, bytes_of(sent), (links.me - 1) % size,
                       bytes_of(target))


def gather(links: Links, size: int, mine: Any, parts: Sequence[Any] | None, root: int) -> None:
    """Copy the tensor of each process to the root's parts."""
    if links.me != root:
        links.send(root, bytes_of(mine))
        return
    assert parts is not None
    for rank in range(size):
        if rank != root:
            links.receive(rank, bytes_of(parts[rank]))
    parts[root].copy_(mine)


def scatter(links: Links, size: int, mine: Any, parts: Sequence[Any] | None, root: int) -> None:
    """Copy the root's part r to process r."""
    if links.me != root:
        links.receive(root, bytes_of(mine))
        return
    assert parts is not None
    for rank in range(size):
        if rank != root:
            links.send(rank, bytes_of(parts[rank]))
    mine.copy_(parts[root])


def all_to_all(links: Links, size: int, sent: Sequence[Any], come: Sequence[Any]) -> None:
    """Copy part r of process s to part s of process r."""
    come[links.me].copy_(sent[links.me])
    for step in range(1, size):
        to, source = (links.me + step) % size, (links.me - step) % size
        links.exchange(to, bytes_of(sent[to]), source, bytes_of(come[source]))
